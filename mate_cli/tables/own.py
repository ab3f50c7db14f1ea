"""Read questions about a user's own tables: train, dev and test, each .csv or .tsv, in one folder; each is optional.

The first line names the columns: ``question``, ``table`` (a file in the folder, in any format that ``mate predict``
reads), ``answer`` (texts of cells or a number, several joined by |), and optionally ``id``.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from mate_cli.system.errors import UserError, shown
from mate_cli.tables.split import ReleaseLayout, Split, table_files
from mate_cli.tables.supervision import Supervision, SupervisionFinder
from mate_cli.tables.table import Example
from mate_cli.tables.user_records import read_user_records
from mate_cli.tables.user_table import read_table

_COLUMNS = ("question", "table", "answer")

_LAYOUT = ReleaseLayout(
    content="train.csv and dev.csv, whose columns are question, table and answer, and the tables that they name",
    folders=(),
    questions={split: (Path(f"{split}.tsv"), Path(f"{split}.csv")) for split in ("train", "dev", "test")},
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
        return [path, *table_files(data_dir, _records(path), "table").values()]

    def read_split(self, data_dir: Path, split: str) -> Split:
        """Read one split; each table is read once, and a question whose table is missing is counted and left out.

        Raises:
            UserError: a file is broken, a table lies outside the folder, or a question has no answer or a used id.
        """
        records = list(_records(_question_file(data_dir, split)))
        files = table_files(data_dir, records, "table")
        tables = {name: replace(read_table(file), id=name) for name, file in files.items() if file.is_file()}
        finders = {name: SupervisionFinder(table) for name, table in tables.items()}
        examples: dict[str, Example] = {}
        problems: dict[str, str] = {}
        for number, (where, record) in enumerate(records, start=1):
            if (table := tables.get(record["table"])) is None:
                continue
            name, answers = record.get("id") or f"{split}-{number}", _answers(record["answer"], where)
            if name in examples:
                raise UserError(f"{where}, column 'id': {shown(name)} is the id of another question")
            finder = finders[table.id]
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


def _answers(text: str, where: str) -> tuple[str, ...]:
    answers = tuple(answer.strip() for answer in text.split("|"))
    if not all(answers):
        raise UserError(f"{where}, column 'answer': expected answers joined by |, found {shown(text)}")
    return answers
