"""Count the cells of a sheet that read as empty and are not: errors, and formulas saved without a value.

openpyxl and pandas write such formulas. The library that reads workbooks gives the same for these cells as for an empty
one, so the sheet's XML is read for them.
"""

from __future__ import annotations

import posixpath
import re
import zipfile
import zlib
from collections import Counter
from pathlib import Path
from typing import NamedTuple
from xml.etree.ElementTree import Element, ParseError, fromstring, iterparse

ENDINGS = (".xlsx", ".xlsm")
"""What the names of workbooks end in whose sheets are XML of this kind."""

_BOOK, _PARTS_OF_BOOK = "xl/workbook.xml", "xl/_rels/workbook.xml.rels"
_TELLING = re.compile(rb"<(\w+:)?f[\s/>]|\st=[\"']e[\"']")  # a formula, or a cell with an error
_CHUNK, _OVERLAP = 1 << 20, 100  # bytes
# A part is missing, damaged, encrypted or packed in an unknown way; what reads the cells says what is wrong.
_UNREADABLE = (
    *(KeyError, ValueError, StopIteration, ParseError),
    *(OSError, EOFError, RuntimeError, zlib.error, zipfile.BadZipFile),
)


class Gaps(NamedTuple):
    """How many formulas of a sheet have no saved value, and how many cells have which error, as ``#DIV/0!``."""

    unsaved: int
    errors: Counter[str]


def sheet_gaps(path: Path, sheet: str) -> Gaps:
    """Return the gaps of a sheet; none where its XML cannot be read.

    Args:
        path: a workbook that is not too large, also when it is unpacked.
        sheet: name of the sheet.
    """
    try:
        with zipfile.ZipFile(path) as book:
            part = _part(book, sheet)
            return _gaps(book, part) if _has_gaps(book, part) else Gaps(0, Counter())
    except _UNREADABLE:
        return Gaps(0, Counter())


def _part(book: zipfile.ZipFile, sheet: str) -> str:
    """Return the name of the part that holds a sheet."""
    listed = fromstring(book.read(_BOOK)).iterfind(".//{*}sheet")
    number = next(_attribute(entry, "id") for entry in listed if entry.get("name") == sheet)
    parts = {part.get("Id"): part.get("Target", "") for part in fromstring(book.read(_PARTS_OF_BOOK))}
    return posixpath.join("/xl", parts[number]).lstrip("/")


def _attribute(element: Element, name: str) -> str | None:
    """Return an attribute by its name in a namespace, of which the standard has two."""
    return next((value for key, value in element.items() if key.endswith(f"}}{name}")), None)


def _has_gaps(book: zipfile.ZipFile, part: str) -> bool:
    """Look for what tells of gaps, which takes far less time than parsing."""
    with book.open(part) as content:
        end = b""
        while chunk := content.read(_CHUNK):
            if _TELLING.search(end + chunk):
                return True
            end = chunk[-_OVERLAP:]
    return False


def _gaps(book: zipfile.ZipFile, part: str) -> Gaps:
    unsaved, errors = 0, Counter[str]()
    with book.open(part) as content:
        for _, element in iterparse(content):
            kind = element.tag.rpartition("}")[2]
            if kind == "c":
                unsaved += _is_unsaved(element)
                if element.get("t") == "e":
                    errors[element.findtext("{*}v", "")] += 1
            if kind in ("c", "row"):
                element.clear()  # else the whole sheet stays in memory
    return Gaps(unsaved, errors)


def _is_unsaved(cell: Element) -> bool:
    """Return whether a cell is a formula without a value; an empty text, of the type str, is a value."""
    value = cell.find("{*}v")
    saved = value is not None and (bool(value.text) or cell.get("t") == "str")
    return cell.find("{*}f") is not None and not saved
