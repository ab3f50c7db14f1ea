"""Read a user's own table from a sheet of a workbook: Excel or OpenDocument.

Formulas count by the values that were saved with them; a remark counts those without, and errors. Merged cells repeat
their text, as in HTML. Empty rows and columns are dropped. Rows above the header are the table's title: of one text in
the first column that is merged over columns, or stands alone in more than two columns. The header goes on below cells
that are merged over columns: its rows are joined, as in HTML.
"""

from __future__ import annotations

import zipfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from mate_cli.config.rules import unknown_name
from mate_cli.system.errors import UserError, named, shown
from mate_cli.tables.amounts import is_amount
from mate_cli.tables.float_text import float_text
from mate_cli.tables.header import header_doubt, joined, looks_like_data
from mate_cli.tables.table import Table
from mate_cli.tables.user_limits import check_bytes, check_size, file_size, table_of
from mate_cli.tables.workbook_gaps import ENDINGS, Gaps, sheet_gaps

if TYPE_CHECKING:
    from python_calamine import CalamineSheet, CalamineWorkbook

_MOST_UNPACKED = 1 << 28  # bytes of the parts of a workbook, which are texts in a ZIP file


def open_workbook(path: Path, sheet: str | None = None) -> tuple[Table, str | None]:
    """Read a sheet, and say in a line what of it was guessed or is missing.

    This is a title above the header, a header of several rows or one that looks like data, numbers merged over rows,
    errors, or formulas without a saved value.

    Args:
        sheet: its name; None for a workbook with one sheet that is not empty.

    Raises:
        UserError: it cannot be read or is no workbook; there is no such sheet, or several to choose from; the sheet has
            no row below a header, or is too large.
    """
    with _opened(path) as workbook:
        chosen = _sheet(path, workbook, sheet)
        grid = _grid(path, chosen)
    layout = _layout(grid)
    header = list(map(joined, zip(*layout.head, strict=True)))
    table = table_of(path, header, layout.body, layout.title or (chosen.name if sheet is not None else ""))
    return table, "; ".join([*_header_remarks(path, layout), *_remarks(path, chosen.name, grid)]) or None


def sheet_names(path: Path) -> list[str]:
    """Return the names of the sheets that are not empty.

    Raises:
        UserError: it cannot be read or is no workbook.
    """
    with _opened(path) as workbook:
        return [sheet.name for sheet in _filled(workbook)]


@contextmanager
def _opened(path: Path) -> Iterator[CalamineWorkbook]:
    from python_calamine import CalamineError, CalamineWorkbook

    check_bytes(path, file_size(path))
    try:
        _check_unpacked(path)
        with CalamineWorkbook.from_path(str(path)) as workbook:
            yield workbook
    except (CalamineError, zipfile.BadZipFile, OSError) as error:
        raise UserError(f"{path}: cannot be read as a workbook ({named(str(error))}); save it anew") from error


def _filled(workbook: CalamineWorkbook) -> list[CalamineSheet]:
    return [sheet for sheet in map(workbook.get_sheet_by_name, workbook.sheet_names) if sheet.height]


def _check_unpacked(path: Path) -> None:
    """Refuse a small file that unpacks to a huge one; older formats are not packed."""
    if zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as file:
            if sum(part.file_size for part in file.infolist()) > _MOST_UNPACKED:
                raise UserError(f"{path}: unpacks to more than {_MOST_UNPACKED >> 20} MiB; ask about a smaller table")


def _sheet(path: Path, workbook: CalamineWorkbook, name: str | None) -> CalamineSheet:
    names = workbook.sheet_names
    if name is not None:
        if name not in names:
            raise UserError(f"{path}: {unknown_name('sheet', name, names)}")
        return workbook.get_sheet_by_name(name)
    sheets = _filled(workbook)
    if not sheets:
        raise UserError(f"{path}: no sheet has a cell with a value")
    if len(sheets) > 1:
        listed = ", ".join(sheet.name for sheet in sheets)
        raise UserError(
            f"{path}: {len(sheets)} sheets have cells ({listed}); name one: table='{path}#{sheets[0].name}'"
        )
    return sheets[0]


@dataclass(frozen=True)
class _Grid:
    """The texts of a sheet's rows that are not empty, by the numbers of the rows, from 0.

    Attributes:
        wide: row -> the columns, from 0, of its cells that are merged over columns.
        merged_numbers: how many cells with a number are merged over rows.
    """

    rows: dict[int, list[str]]
    wide: dict[int, set[int]]
    merged_numbers: int


def _grid(path: Path, sheet: CalamineSheet) -> _Grid:
    (_, first), (last_row, last_column) = sheet.start or (0, 0), sheet.end or (0, 0)
    check_size(path, columns=last_column - first + 1)
    rows: dict[int, list[str]] = {}
    for number, row in enumerate(sheet.iter_rows()):
        if row.count("") < len(row):
            rows[number] = [_text(value) for value in row]
            check_size(path, len(rows) - 1)
    wide: dict[int, set[int]] = {}
    merged_numbers = 0
    for (top, left), (bottom, right) in sheet.merged_cell_ranges or ():
        text = rows[top][left - first] if top in rows and first <= left <= last_column else ""
        if bottom > top and is_amount(text):
            merged_numbers += 1
        for number in range(top, min(bottom, last_row) + 1) if text else ():
            texts = rows.setdefault(number, [""] * (last_column - first + 1))
            texts[left - first : right - first + 1] = [text] * (min(right, last_column) - left + 1)
            if right > left:
                wide.setdefault(number, set()).update(range(left - first, right - first + 1))
            check_size(path, len(rows) - 1)
    return _Grid(rows, wide, merged_numbers)


class _Layout(NamedTuple):
    """The rows of the header and those below it, all of one width, and the title above them."""

    title: str
    head: list[list[str]]
    body: list[list[str]]


def _layout(grid: _Grid) -> _Layout:
    numbers = sorted(number for number, row in grid.rows.items() if any(row))
    used = [at for at in range(max(map(len, grid.rows.values()), default=0)) if any(grid.rows[n][at] for n in numbers)]
    rows = [[grid.rows[number][at] for at in used] for number in numbers]
    wide = [[at in grid.wide.get(number, ()) for at in used] for number in numbers]
    top = 0
    while top < len(rows) - 1 and _is_title(rows[top], wide[top]):
        top += 1
    end = top + 1
    while end < len(rows) - 1 and _goes_on(rows[end - 1], wide[end - 1], rows[end:]):
        end += 1
    return _Layout(" ".join(dict.fromkeys(row[0] for row in rows[:top])), rows[top:end], rows[end:])


def _is_title(row: Sequence[str], wide: Sequence[bool]) -> bool:
    """Return whether a row is one text in the first column, merged over columns, or alone in more than two."""
    texts = [text for text in row if text]
    return row[0] != "" and len(set(texts)) == 1 and (wide[0] or (len(texts) == 1 and len(row) > 2))


def _goes_on(row: Sequence[str], wide: Sequence[bool], below: Sequence[Sequence[str]]) -> bool:
    """Return whether the header goes on below a row of it: under cells that are merged over columns, or empty.

    Below any other cell there is nothing then, or the same text, merged over rows.
    """
    is_below = all(
        over or not text or under in ("", text) for text, over, under in zip(row, wide, below[0], strict=True)
    )
    return any(wide) and is_below and not looks_like_data(below[0], below[1:])


def _header_remarks(path: Path, layout: _Layout) -> Iterator[str]:
    if layout.title:
        yield f"{path}: {shown(layout.title)} above the header is taken for the title of the table"
    if (count := len(layout.head)) > 1:
        yield f"{path}: {count} rows are joined to the header, as cells of it are merged; if that is wrong, split these"
    elif not layout.title and (doubt := header_doubt(path, layout.head[0], layout.body, "write one above it")):
        yield doubt


def _remarks(path: Path, sheet: str, grid: _Grid) -> Iterator[str]:
    if count := grid.merged_numbers:
        numbers = "1 number is" if count == 1 else f"{count} numbers are"
        yield f"{path}: {numbers} merged over several rows; each of the rows has it, and sums count it in each"
    if path.suffix.lower() in ENDINGS:
        yield from _gap_remarks(path, sheet_gaps(path, sheet))


def _gap_remarks(path: Path, gaps: Gaps) -> Iterator[str]:
    if count := gaps.unsaved:
        formulas = "1 formula without a saved value is" if count == 1 else f"{count} formulas without a saved value are"
        yield f"{path}: {formulas} empty here; open and save the file in a spreadsheet program"
    if count := gaps.errors.total():
        cells = "1 cell with an error is" if count == 1 else f"{count} cells with errors are"
        names = ", ".join(named(error) for error, _ in gaps.errors.most_common(3))
        yield f"{path}: {cells} empty here ({names}); mend them in a spreadsheet program"


def _text(value: Any) -> str:
    """Return a value as a person would write it; whole numbers are stored as floats."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return float_text(value)
    if isinstance(value, datetime):
        return str(value.date() if value.time() == time() else value)
    return str(value) if isinstance(value, (str, int, date, time, timedelta)) else ""
