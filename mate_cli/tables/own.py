"""Read questions about a user's own tables: train, dev and test, each .csv or .tsv, in one folder; each is optional.

The first line names the columns: ``question``, ``table`` (``FILE`` or ``FILE#PART`` in the folder, in any format that
``mate predict`` reads), ``answer`` (texts of cells or a number, several joined by |), and optionally ``id``.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from mate_cli.system.errors import UserError, named, shown
from mate_cli.tables.amounts import plain_digits, plain_text, read_number
from mate_cli.tables.split import ReleaseLayout, Split, file_below
from mate_cli.tables.supervision import NOT_FOUND, Supervision, SupervisionFinder
from mate_cli.tables.table import Example, Table
from mate_cli.tables.table_place import table_place
from mate_cli.tables.user_records import read_user_records
from mate_cli.tables.user_table import ENDINGS, open_part

_COLUMNS = ("question", "table", "answer")
_NAMED = 3  # of the tables that are missing

_LAYOUT = ReleaseLayout(
    content="train.csv and dev.csv, whose columns are question, table and answer, and the tables that they name",
    folders=(),
    questions={split: (Path(f"{split}.csv"), Path(f"{split}.tsv")) for split in ("train", "dev", "test")},
)


@dataclass(frozen=True)
class OwnFormat:
    """The format of such a folder.

    Attributes:
        alternatives: whether each cell with an answer is a candidate by itself, as for choosing one cell. Otherwise the
            cells of all answers together are the target, and an answer in several cells gives no target in ``train``.
    """

    alternatives: bool

    @property
    def LAYOUT(self) -> ReleaseLayout:
        return _LAYOUT

    def split_files(self, data_dir: Path, split: str) -> list[Path]:
        """Return the file of the questions, then the files of the tables that it names."""
        path = _question_file(data_dir, split)
        return [path, *sorted({table.file for table in _named_tables(data_dir, _records(path)).values()})]

    def read_split(self, data_dir: Path, split: str) -> Split:
        """Read one split; each table is read once.

        Raises:
            UserError: a file is broken or missing, a table lies outside the folder, or a question has no answer or a
                used id.
        """
        records = list(_records(_question_file(data_dir, split)))
        tables = _tables(data_dir, _named_tables(data_dir, records))
        finders = {name: SupervisionFinder(table) for name, table in tables.items()}
        examples: dict[str, Example] = {}
        problems: dict[str, str] = {}
        for number, (where, record) in enumerate(records, start=1):
            table = tables[record["table"]]
            name, answers = record.get("id") or f"{split}-{number}", _answers(record["answer"], where)
            if name in examples:
                raise UserError(f"{where}, column 'id': {shown(name)} is the id of another question")
            finder = finders[table.id]
            if self.alternatives:
                target = Supervision(finder.every_cell(answers))
            else:
                answers, target = _in_plain_digits(answers, finder.find(answers, strict=split == "train"), table)
            examples[name] = Example(
                name, record["question"], table, answers, candidates=target.cells, value=target.value
            )
            if target.problem:
                problems[name] = target.problem
        return Split(tuple(examples.values()), missing_tables=0, questions=len(records), unsupervised=problems)


@dataclass(frozen=True, slots=True)
class _Named:
    """A table as questions name it: where the first of them does, its file, which may not exist, and the part of it."""

    where: str
    file: Path
    part: str | None


def _question_file(data_dir: Path, split: str) -> Path:
    both = [file.name for file in _LAYOUT.questions[split] if (data_dir / file).is_file()]
    if len(both) > 1:
        raise UserError(f"data_dir={data_dir}: both {' and '.join(both)} are there; keep one of them")
    return _LAYOUT.question_file(data_dir, split)


def _records(path: Path) -> Iterator[tuple[str, dict[str, str]]]:
    for where, record in read_user_records(path, _COLUMNS):
        stripped = {name: text.strip() for name, text in record.items()}
        for column in _COLUMNS:
            if not stripped[column]:
                raise UserError(f"{where}: column {column!r} is empty")
        yield where, stripped


def _named_tables(data_dir: Path, records: Iterable[tuple[str, Mapping[str, str]]]) -> dict[str, _Named]:
    """Return the tables that questions are about, by name.

    Raises:
        UserError: a name leads out of the folder, or is not a valid file name.
    """
    tables: dict[str, _Named] = {}
    for line, record in records:
        if (name := record["table"]) not in tables:
            where, (file, part) = f"{line}, column 'table'", table_place(name, data_dir)
            tables[name] = _Named(where, file_below(data_dir, file, where), part)
    return tables


def _tables(data_dir: Path, places: Mapping[str, _Named]) -> dict[str, Table]:
    """Read the tables that questions are about; the id of each is its name.

    Raises:
        UserError: some are missing, or one is broken.
    """
    missing = [table for table in places.values() if not table.file.is_file()]
    if missing:
        raise UserError("\n".join(_missing(data_dir, missing)))
    tables = {}
    for name, table in places.items():
        try:
            tables[name] = replace(open_part(table.file, table.part)[0], id=name)
        except UserError as error:
            raise UserError(f"{table.where}: {str(error).removeprefix('table=')}") from error
    return tables


def _missing(data_dir: Path, missing: list[_Named]) -> Iterator[str]:
    """Yield a line for each of the first tables that are missing, with the file that may be meant, and one for more."""
    there = [str(file.relative_to(data_dir)) for file in data_dir.rglob("*") if file.name.lower().endswith(ENDINGS)]
    for table in missing[:_NAMED]:
        name = str(table.file.relative_to(data_dir))
        near = difflib.get_close_matches(name, there, n=1, cutoff=0.6)
        remedy = f"did you mean {named(near[0])}?" if near else "put the file there, or correct the name"
        yield f"{table.where}: there is no {shown(name)} in {data_dir}; {remedy}"
    if (more := len(missing) - _NAMED) > 0:
        yield f"{data_dir}: {more} more tables are missing"


def _in_plain_digits(
    answers: tuple[str, ...], target: Supervision, table: Table
) -> tuple[tuple[str, ...], Supervision]:
    """Read the numbers of answers as those of the table are read, so that scores can compare them.

    Returns:
        the answers, numbers in plain digits without their units, and the target with the number of a single one.
    """
    if target.cells:
        cells = [table.rows[row][column] for row, column in target.cells]
        known = len(cells) == 1 and cells[0].number is not None
        return tuple(map(plain_text, cells)), replace(target, value=cells[0].number) if known else target
    if len(answers) == 1 and target.problem in ("", NOT_FOUND):
        with suppress(ValueError):
            number = read_number(answers[0], (cell.text for row in table.rows for cell in row))
            return (plain_digits(number),), Supervision(value=float(number))
    return answers, target


def _answers(text: str, where: str) -> tuple[str, ...]:
    answers = tuple(answer.strip() for answer in text.split("|"))
    if not all(answers):
        raise UserError(f"{where}, column 'answer': expected answers joined by |, found {shown(text)}")
    return answers
