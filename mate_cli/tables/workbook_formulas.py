"""Count the formulas of a sheet that were saved without a value, as openpyxl and pandas write them.

The library that reads workbooks gives the same for these as for an empty cell, so the sheet's XML is read for them.
"""

from __future__ import annotations

import posixpath
import re
import zipfile
import zlib
from pathlib import Path
from xml.etree.ElementTree import Element, ParseError, fromstring, iterparse

ENDINGS = (".xlsx", ".xlsm")
"""What the names of workbooks end in whose sheets are XML of this kind."""

_BOOK, _PARTS_OF_BOOK = "xl/workbook.xml", "xl/_rels/workbook.xml.rels"
_FORMULA = re.compile(rb"<(\w+:)?f[\s/>]")
_CHUNK, _OVERLAP = 1 << 20, 100  # bytes
# A part is missing, damaged, encrypted or packed in an unknown way; what reads the cells says what is wrong.
_UNREADABLE = (
    *(KeyError, ValueError, StopIteration, ParseError),
    *(OSError, EOFError, RuntimeError, zlib.error, zipfile.BadZipFile),
)


def unsaved_formulas(path: Path, sheet: str) -> int:
    """Return how many formulas of a sheet have no saved value; 0 where its XML cannot be read.

    Args:
        path: a workbook that is not too large, also when it is unpacked.
        sheet: name of the sheet.
    """
    try:
        with zipfile.ZipFile(path) as book:
            part = _part(book, sheet)
            return _count(book, part) if _has_formulas(book, part) else 0
    except _UNREADABLE:
        return 0


def _part(book: zipfile.ZipFile, sheet: str) -> str:
    """Return the name of the part that holds a sheet."""
    listed = fromstring(book.read(_BOOK)).iterfind(".//{*}sheet")
    number = next(_attribute(entry, "id") for entry in listed if entry.get("name") == sheet)
    parts = {part.get("Id"): part.get("Target", "") for part in fromstring(book.read(_PARTS_OF_BOOK))}
    return posixpath.join("/xl", parts[number]).lstrip("/")


def _attribute(element: Element, name: str) -> str | None:
    """Return an attribute by its name in a namespace, of which the standard has two."""
    return next((value for key, value in element.items() if key.endswith(f"}}{name}")), None)


def _has_formulas(book: zipfile.ZipFile, part: str) -> bool:
    """Look for the tag of a formula, which takes far less time than parsing."""
    with book.open(part) as content:
        end = b""
        while chunk := content.read(_CHUNK):
            if _FORMULA.search(end + chunk):
                return True
            end = chunk[-_OVERLAP:]
    return False


def _count(book: zipfile.ZipFile, part: str) -> int:
    count = 0
    with book.open(part) as content:
        for _, element in iterparse(content):
            kind = element.tag.rpartition("}")[2]
            if kind == "c":
                count += _is_unsaved(element)
            if kind in ("c", "row"):
                element.clear()  # else the whole sheet stays in memory
    return count


def _is_unsaved(cell: Element) -> bool:
    """Return whether a cell is a formula without a value; an empty text, of the type str, is a value."""
    value = cell.find("{*}v")
    saved = value is not None and (bool(value.text) or cell.get("t") == "str")
    return cell.find("{*}f") is not None and not saved
