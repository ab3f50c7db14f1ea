"""Read a user's own table from an HTML page, for instance a saved Wikipedia page.

Of several tables the one with the most cells is read. Its header is ``<thead>``, otherwise the first rows of only
``<th>``, otherwise the first row; several header rows are joined per column. A cell that spans rows or columns is
repeated in each of them. Tags and rows without text are dropped, a line break is a blank.

Python's own parser is used because ``pandas.read_html`` over lxml reads "1,200" as 1200, misplaces cells that span
rows beside short rows, mixes texts of scripts and inner tables into cells, ignores captions and ``rowspan=0``, and
fails on a span that is not a number.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from html import unescape
from html.parser import HTMLParser
from pathlib import Path

from mate_cli.system.errors import UserError
from mate_cli.tables.header import joined
from mate_cli.tables.table import Table
from mate_cli.tables.text_files import utf8_text
from mate_cli.tables.user_content import read_content
from mate_cli.tables.user_limits import MAX_ROWS, check_size, table_of

_BREAKS = ("br", "p", "div", "li", "hr")
_SILENT = ("script", "style")


def read_html(path: Path) -> Table:
    """Read the largest table of a UTF-8 HTML page.

    Raises:
        UserError: it cannot be read, has no table with a row below its header, or one that is too large, which is found
            without parsing the rest.
    """
    parser = _Parser(path)
    try:
        parser.feed(utf8_text(read_content(path), path))
        tables = parser.finished()
    except (AssertionError, ValueError) as error:  # an SGML section, a character reference of thousands of digits
        raise UserError(f"{path}: cannot be read as HTML ({error}); save the page from a browser again") from error
    if not any(table.size for table in tables):
        raise UserError(f"{path}: no <table> with cells in this page")
    return _table(path, max(tables, key=lambda table: table.size))


@dataclass(slots=True)
class _Cell:
    is_header: bool
    columns: int
    rows: int
    parts: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        return " ".join("".join(self.parts).split())


@dataclass(slots=True)
class _Table:
    """A table while its tags are read; the next text belongs to ``text``."""

    rows: list[tuple[bool, list[_Cell]]] = field(default_factory=list)
    caption: list[str] = field(default_factory=list)
    text: list[str] | None = None
    in_head: bool = False
    in_row: bool = False
    size: int = 0  # cells

    def check(self, path: Path) -> None:
        """Refuse a table that is too large already; some of its rows may be of the header or empty."""
        check_size(path, rows=len(self.rows) // 2)
        check_size(path, columns=len(self.rows[-1][1]) if self.rows else 0, cells=self.size)

    def start(self, tag: str, attributes: dict[str, str | None]) -> None:
        if tag in ("thead", "tbody", "tfoot"):
            self.in_head, self.in_row = tag == "thead", False
        elif tag == "caption":
            self.text = self.caption
        elif tag in ("td", "th"):
            if not self.in_row:
                self.start("tr", {})
            cell = _Cell(tag == "th", _span(attributes, "colspan"), _span(attributes, "rowspan"))
            self.rows[-1][1].append(cell)
            self.size += 1
            self.text = cell.parts
        elif tag == "tr":
            self.rows.append((self.in_head, []))
            self.in_row, self.text = True, None

    def end(self, tag: str) -> None:
        if tag in ("td", "th", "tr", "caption"):
            self.text = None
        if tag in ("tr", "thead", "tbody", "tfoot"):
            self.in_row = False
        if tag == "thead":
            self.in_head = False


class _Parser(HTMLParser):
    """Collects the tables of the page of a file; a table inside another one is separate."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self._path = path
        self._open: list[_Table] = []
        self._closed: list[_Table] = []
        self._silent = False

    def finished(self) -> list[_Table]:
        # Not ``close``, which scans the rest of the page for each unclosed tag: minutes for 100 kB of "<a ". What is
        # left is an unclosed tag or comment, or a text with "&" whose end the parser waits for.
        if not self.rawdata.startswith("<"):
            self.handle_data(unescape(self.rawdata))
        return self._closed + self._open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._silent = tag in _SILENT
        if tag == "table":
            self._open.append(_Table())
        elif self._open:
            self._open[-1].start(tag, dict(attrs))
            self._open[-1].check(self._path)
        if tag in _BREAKS:
            self.handle_data(" ")

    def handle_endtag(self, tag: str) -> None:
        self._silent = False
        if self._open:
            self._open[-1].end(tag)
            if tag == "table":
                self._closed.append(self._open.pop())

    def handle_data(self, data: str) -> None:
        if self._open and self._open[-1].text is not None and not self._silent:
            self._open[-1].text.append(data)


def _table(path: Path, table: _Table) -> Table:
    heads = [in_head or all(cell.is_header for cell in cells) for in_head, cells in table.rows if cells]
    grid = list(_grid(path, table))
    width = max(map(len, grid))
    check_size(path, len(grid) // 2, width)
    grid = [row + [""] * (width - len(row)) for row in grid]
    count = heads.index(False) if False in heads else 1
    header = list(map(joined, zip(*grid[: max(count, 1)], strict=True)))
    rows = [row for row in grid[max(count, 1) :] if any(row)]
    return table_of(path, header, rows, " ".join("".join(table.caption).split()))


def _grid(path: Path, table: _Table) -> Iterator[list[str]]:
    """Yield the texts of each row that has cells, with the texts of spanning cells repeated."""
    hanging: dict[int, tuple[int, str]] = {}  # column -> in how many more rows the cell above continues, and its text
    size = 0
    for cells in filter(None, (cells for _, cells in table.rows)):
        row: list[str] = []
        below = {column: (more - 1, text) for column, (more, text) in hanging.items()}
        for cell in cells:
            while len(row) in hanging:
                row.append(hanging[len(row)][1])
            check_size(path, columns=len(row) + cell.columns)
            text = cell.text
            below.update((len(row) + place, (cell.rows - 1, text)) for place in range(cell.columns))
            row += [text] * cell.columns
        row += [hanging.get(column, (0, ""))[1] for column in range(len(row), max(hanging, default=-1) + 1)]
        hanging = {column: (more, text) for column, (more, text) in below.items() if more > 0}
        size += len(row)
        check_size(path, cells=size)
        yield row


def _span(attributes: dict[str, str | None], name: str) -> int:
    """Return the number of rows or columns that a cell spans; 0 rows mean all that follow (HTML standard)."""
    digits = (attributes.get(name) or "1").strip()
    span = int(digits) if digits.isdecimal() and len(digits) < 6 else 1
    if span == 0:
        return MAX_ROWS if name == "rowspan" else 1
    return span
