"""Read questions about a user's own tables: train.csv, dev.csv and test.csv in one folder, each of them optional.

The first line names the columns: ``question``, ``table`` (a file in the folder, in any format that ``mate predict``
reads), ``answer`` (texts of cells or a number, several joined by |), and optionally ``id``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

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
        path = _LAYOUT.question_file(data_dir, split)
        names = _table_names(_records(path))
        return [path, *(file_below(data_dir, name, names[name]) for name in sorted(names))]

    def read_split(self, data_dir: Path, split: str) -> Split:
        """Read one split; each table is read once, and a question whose table is missing is counted and left out.

        Raises:
            UserError: a file is broken, a table lies outside the folder, or a question has no answer or a used id.
        """
        records = list(_records(_LAYOUT.question_file(data_dir, split)))
        tables = {name: _read_table(data_dir, name, where) for name, where in _table_names(records).items()}
        examples: dict[str, Example] = {}
        problems: dict[str, str] = {}
        for number, (where, record) in enumerate(records, start=1):
            if (entry := tables[record["table"]]) is None:
                continue
            name, answers = record.get("id") or f"{split}-{number}", _answers(record["answer"], where)
            if name in examples:
                raise UserError(f"{where}, column 'id': {shown(name)} is the id of another question")
            table, finder = entry
            if self.alternatives:
                target = Supervision(finder.every_cell(answers))
            else:
                target = finder.find(answers, strict=split == "train")
            examples[name] = Example(
                name, record["question"], table, answers, candidates=target.cells, value=target.value
            )
            if target.problem:
                problems[name] = target.problem
        return Split(tuple(examples.values()), len(records) - len(examples), len(records), problems)


def _records(path: Path) -> Iterator[tuple[str, dict[str, str]]]:
    for where, record in read_records(path, _COLUMNS, _DIALECT):
        stripped = {name: text.strip() for name, text in record.items()}
        for column in _COLUMNS:
            if not stripped[column]:
                raise UserError(f"{where}: column {column!r} is empty")
        yield where, stripped


def _table_names(records: Iterable[tuple[str, dict[str, str]]]) -> dict[str, str]:
    """Return the names of the tables, each with the place that names it first."""
    names: dict[str, str] = {}
    for where, record in records:
        names.setdefault(record["table"], f"{where}, column 'table'")
    return names


def _read_table(data_dir: Path, name: str, where: str) -> tuple[Table, SupervisionFinder] | None:
    path = file_below(data_dir, name, where)
    if not path.is_file():
        return None
    table = replace(read_table(path), id=name)
    return table, SupervisionFinder(table)


def _answers(text: str, where: str) -> tuple[str, ...]:
    answers = tuple(answer.strip() for answer in text.split("|"))
    if not all(answers):
        raise UserError(f"{where}, column 'answer': expected answers joined by |, found {shown(text)}")
    return answers
