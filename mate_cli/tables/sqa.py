"""Read SQA (Iyyer et al., 2017) in its official layout: conversations about tables, answered by cells.

- random-split-1-train.tsv, random-split-1-dev.tsv, test.tsv: the questions, one per record
- table_csv/<name>.csv: the tables

The data names the answer cells. A question gets the answer cells of the previous one as input, if the data has that
one: the published test set has gaps.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import Any

from mate_cli.system.errors import UserError, named, shown
from mate_cli.tables.split import ReleaseLayout, Split, table_files
from mate_cli.tables.table import Coordinate, Example, Table
from mate_cli.tables.text_files import has_lone_surrogate, read_records, read_table

_COLUMNS = ("id", "annotator", "position", "question", "table_file", "answer_coordinates", "answer_text")
_TABS = {"delimiter": "\t"}
_COORDINATE = re.compile(r"\(([0-9]{1,9}), ?([0-9]{1,9})\)")
_MAX_QUESTIONS = 100  # of a conversation; each example has all earlier ones

LAYOUT = ReleaseLayout(
    content="the *.tsv files and table_csv/ of the SQA release (Microsoft Research Sequential Question Answering)",
    folders=(Path("table_csv"),),
    questions={
        "train": (Path("random-split-1-train.tsv"),),
        "dev": (Path("random-split-1-dev.tsv"),),
        "test": (Path("test.tsv"),),
    },
)


def split_files(data_dir: Path, split: str) -> list[Path]:
    """Return the file of the questions, then the files of the tables that it names."""
    path = LAYOUT.question_file(data_dir, split)
    return [path, *table_files(data_dir, read_records(path, _COLUMNS, _TABS), "table_file").values()]


def read_split(data_dir: Path, split: str) -> Split:
    """Read one split; each table is read once, and a question whose table is missing is counted and left out.

    Raises:
        UserError: a file is missing or has another structure, or an answer lies outside its table.
    """
    records = list(read_records(LAYOUT.question_file(data_dir, split), _COLUMNS, _TABS))
    files = table_files(data_dir, records, "table_file")
    tables = {name: read_table(file, name, {}) for name, file in files.items() if file.is_file()}
    examples: list[Example] = []
    conversations: dict[str, list[Example]] = {}
    for where, record in records:
        if (table := tables.get(record["table_file"])) is not None:
            earlier = conversations.setdefault(f"{record['id']}-{record['annotator']}", [])
            if len(earlier) == _MAX_QUESTIONS:
                raise UserError(
                    f"{where}: a conversation of more than {_MAX_QUESTIONS} questions; split it by other ids"
                )
            examples.append(_example(record, where, table, earlier))
            earlier.append(examples[-1])
    return Split(tuple(examples), missing_tables=len(records) - len(examples), questions=len(records))


def _example(record: dict[str, str], where: str, table: Table, earlier: list[Example]) -> Example:
    if not re.fullmatch("[0-9]{1,6}", record["position"]):
        raise UserError(f"{where}, column 'position': expected a number from 0, found {shown(record['position'])}")
    conversation, position = f"{record['id']}-{record['annotator']}", int(record["position"])
    answers = {example.position: example.candidates for example in earlier}
    return Example(
        id=f"{conversation}_{position}",
        question=record["question"],
        table=table,
        answers=tuple(_texts(record, "answer_text", where)),
        candidates=_cells(record, where, table),
        conversation=conversation,
        position=position,
        previous=answers.get(position - 1, ()),
        earlier=tuple(example.question for example in earlier),
    )


def _cells(record: dict[str, str], where: str, table: Table) -> tuple[Coordinate, ...]:
    cells = set()
    for text in _texts(record, "answer_coordinates", where):
        match = _COORDINATE.fullmatch(text)
        if match is None:
            raise UserError(f"{where}, column 'answer_coordinates': expected '(row, column)', found {shown(text)}")
        row, column = map(int, match.groups())
        if row >= table.num_rows or column >= table.num_columns:
            raise UserError(
                f"{where}, column 'answer_coordinates': {text} lies outside {named(table.id)}, a table of "
                f"{table.num_rows} rows and {table.num_columns} columns"
            )
        cells.add((row, column))
    return tuple(sorted(cells))


def _texts(record: dict[str, str], column: str, where: str) -> list[str]:
    """Parse a list of texts in Python's notation."""
    try:
        value: Any = ast.literal_eval(record[column])
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        value = None
    if isinstance(value, list) and all(isinstance(text, str) and not has_lone_surrogate(text) for text in value):
        return value
    raise UserError(
        f"{where}, column {column!r}: expected a list of texts like ['a', 'b'], found {shown(record[column])}"
    )
