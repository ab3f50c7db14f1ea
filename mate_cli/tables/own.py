"""Reads questions on tables of a user's own: train.csv, dev.csv and test.csv in one folder, those that there are.

Their first line names the columns: ``question``, ``table`` (a file in the folder, in any format that ``mate predict``
reads), ``answer`` (texts of cells or a number, several joined by |), and, where one likes, ``id``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

from mate_cli.system.errors import UserError, shown
from mate_cli.tables.split import ReleaseLayout, Split, file_below
from mate_cli.tables.supervision import Supervision, SupervisionFinder
from mate_cli.tables.table import Example, Table
from mate_cli.tables.text_files import read_records
from mate_cli.tables.user_table import read_table

_COLUMNS = ("question", "table", "answer")
_DIALECT = {"strict": True}

_LAYOUT = ReleaseLayout(
    content="train.csv and dev.csv, whose columns are question, table and answer, and the tables that they name",
    folders=(),
    questions={split: (Path(f"{split}.csv"),) for split in ("train", "dev", "test")},
)


@dataclass(frozen=True)
class OwnFormat:
    """Reads the questions of a folder.

    Attributes:
        alternatives: each cell with an answer is a candidate by itself, as where one cell is chosen; else the cells
            are those of all answers together, and an answer that stands in several cells teaches nothing in ``train``.
    """

    alternatives: bool

    @property
    def LAYOUT(self) -> ReleaseLayout:
        return _LAYOUT

    def split_files(self, data_dir: Path, split: str) -> list[Path]:
        """The file of the questions, then those of the tables that it names."""
        path = _LAYOUT.question_file(data_dir, split)
        names = _names(_records(path))
        return [path, *(file_below(data_dir, name, names[name]) for name in sorted(names))]

    def read_split(self, data_dir: Path, split: str) -> Split:
        """Read one split; each table is read once, and a question whose table is missing is counted and left out.

        Raises:
            UserError: a file is broken, a table is not in the folder, or a question has no answer or another's id.
        """
        records = list(_records(_LAYOUT.question_file(data_dir, split)))
        tables = {name: _read_table(data_dir, name, where) for name, where in _names(records).items()}
        examples: dict[str, Example] = {}
        problems: dict[str, str] = {}
        for number, (where, record) in enumerate(records, start=1):
            if (table := tables[record["table"]]) is None:
                continue
            name, answers = record.get("id") or f"{split}-{number}", _answers(record["answer"], where)
            if name in examples:
                raise UserError(f"{where}, column 'id': {shown(name)} is another question's already")
            found = self._supervision(table.finder, answers, strict=split == "train")
            examples[name] = Example(
                name, record["question"], table.table, answers, candidates=found.cells, value=found.value
            )
            if found.problem:
                problems[name] = found.problem
        return Split(tuple(examples.values()), len(records) - len(examples), len(records), problems)

    def _supervision(self, finder: SupervisionFinder, answers: tuple[str, ...], strict: bool) -> Supervision:
        return Supervision(finder.every_cell(answers)) if self.alternatives else finder.find(answers, strict)


class _Read(NamedTuple):
    table: Table
    finder: SupervisionFinder


def _records(path: Path) -> Iterator[tuple[str, dict[str, str]]]:
    for where, record in read_records(path, _COLUMNS, _DIALECT):
        plain = {name: text.strip() for name, text in record.items()}
        for column in _COLUMNS:
            if not plain[column]:
                raise UserError(f"{where}: column {column!r} is empty")
        yield where, plain


def _names(records: Iterable[tuple[str, dict[str, str]]]) -> dict[str, str]:
    """The tables that are asked about, each with where it is named first."""
    names: dict[str, str] = {}
    for where, record in records:
        names.setdefault(record["table"], f"{where}, column 'table'")
    return names


def _read_table(data_dir: Path, name: str, where: str) -> _Read | None:
    """The table; None where its file is not there."""
    path = file_below(data_dir, name, where)
    if not path.is_file():
        return None
    table = replace(read_table(path), id=name)
    return _Read(table, SupervisionFinder(table))


def _answers(text: str, where: str) -> tuple[str, ...]:
    answers = tuple(answer.strip() for answer in text.split("|"))
    if not all(answers):
        raise UserError(f"{where}, column 'answer': expected answers joined by |, found {shown(text)}")
    return answers
