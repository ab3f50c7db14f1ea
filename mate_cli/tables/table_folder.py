"""A folder of tables in all formats of users' tables, read once for an index of their words."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

from mate_cli.system.errors import UserError
from mate_cli.tables.table import Table
from mate_cli.tables.table_index import TableIndex
from mate_cli.tables.table_place import plain_path
from mate_cli.tables.user_csv import FOUND, CsvFormat
from mate_cli.tables.user_table import ENDINGS, ENDINGS_SHOWN, open_part, table_parts


class TableFolder:
    """All tables below a folder, in every format that ``read_table`` reads, with an index of their words.

    Files and folders whose names begin with "." or "~" are skipped, and so are links to folders. Files of questions and
    of their answers are left out: every question would be asked of the file that it stands in. The tables are read one
    after the other and not kept: the index takes eight bytes for each distinct word of a table, and its opening.

    Args:
        given: how the CSV files are written; what is None is found for each.
        skipped: files and folders that hold no tables to ask, such as those of the command itself.
        progress: called with the number of files read and that of all.

    Attributes:
        names: ``FILE`` or ``FILE#PART`` of each table, below the folder and in order; index: of their words.
        left_out: why each file or part that cannot be read is left out.
        remarks: name of a table -> how its file was read, if that is not plain.

    Raises:
        UserError: the folder has no table that can be read.
    """

    def __init__(
        self,
        folder: str | Path,
        given: CsvFormat = FOUND,
        skipped: Iterable[str | Path] = (),
        progress: Callable[[int, int], None] = lambda done, total: None,
    ) -> None:
        self.folder, self._given = Path(folder).expanduser(), given
        self._skipped = {Path(file).expanduser().resolve() for file in skipped}
        self.names: list[str] = []
        self.left_out: list[str] = []
        self.remarks: dict[str, str] = {}
        self._parts: dict[str, tuple[Path, str | None]] = {}
        self._progress = progress
        self.index = TableIndex(self._tables())
        if not self.names:
            broken = f"; left out: {self.left_out[0]}" if self.left_out else ""
            raise UserError(
                f"tables={folder}: no tables in this folder; the names of tables end in {ENDINGS_SHOWN}{broken}"
            )
        self.read = lru_cache(maxsize=8)(self._read)

    def _read(self, name: str) -> Table:
        """Read a table of ``names``; its id is that name.

        Raises:
            UserError: it can no longer be read.
        """
        return replace(open_part(*self._parts[name], self._given)[0], id=name)

    def _tables(self) -> Iterator[Table]:
        files = sorted(self._files())
        for done, file in enumerate(files):
            self._progress(done, len(files))
            try:
                parts = table_parts(file)
            except UserError as error:
                self._leave_out(error)
                continue
            for part in parts:
                yield from self._part(file, part)

    def _part(self, file: Path, part: str | None) -> Iterator[Table]:
        """Yield the table of a part with its place as the title, which may tell more than what it calls itself."""
        place = file.relative_to(self.folder).as_posix()
        name = place if part is None else f"{place}#{part}"
        try:
            table, remark = open_part(file, part, self._given)
        except UserError as error:
            self._leave_out(error)
            return
        if _holds_questions(table):
            self.left_out.append(f"{file}: it holds questions, not a table")
            return
        self.names.append(name)
        self._parts[name] = (file, part)
        if remark is not None:
            self.remarks[name] = remark
        own = "" if table.title in (plain_path(file).stem, part) else table.title
        below = plain_path(file.relative_to(self.folder)).with_suffix("").as_posix()
        yield replace(table, title=f"{below} {part or ''} {own}")

    def _files(self) -> Iterator[Path]:
        def unreadable(error: OSError) -> None:
            self.left_out.append(f"{error.filename}: cannot be read ({error.strerror})")

        for folder, inner, files in os.walk(self.folder, onerror=unreadable):
            inner[:] = [name for name in inner if self._is_shown(Path(folder, name))]
            paths = (Path(folder, name) for name in files if name.lower().endswith(ENDINGS))
            yield from (path for path in paths if self._is_shown(path) and path.is_file())

    def _is_shown(self, path: Path) -> bool:
        return not path.name.startswith((".", "~")) and path.resolve() not in self._skipped

    def _leave_out(self, error: UserError) -> None:
        self.left_out.append(str(error).removeprefix("table="))


def _holds_questions(table: Table) -> bool:
    """Return whether a file asks questions on tables, as those of users and the answers of ``mate predict`` do."""
    names = [cell.text for cell in table.header]
    return names == ["question"] or {"question", "table"} <= set(names)
