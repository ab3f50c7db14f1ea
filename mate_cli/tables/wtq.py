"""Reads WikiTableQuestions (Pasupat and Liang, 2015) in its official layout: answers are texts alone.

- data/random-split-1-train.tsv, random-split-1-dev.tsv, pristine-unseen-tables.tsv (our test): the questions
- csv/<folder>/<name>.csv: the tables

Cells are read in their normal form (``text.wtq_normalize``), headers as they are: so the release reads them. Two marks
that its library leaves are not kept: an empty cell stays empty and "N/A" stays "n/a", neither becomes "nan"; headers
that repeat or are empty stay so (spec 3.9, 7.17).
"""

from __future__ import annotations

import csv
from pathlib import Path

from mate_cli.system.errors import UserError, shown
from mate_cli.tables.split import ReleaseLayout, Split, file_below
from mate_cli.tables.supervision import Supervision, SupervisionFinder
from mate_cli.tables.table import Example, Table
from mate_cli.tables.text import wtq_normalize
from mate_cli.tables.text_files import read_records, read_table

_COLUMNS = ("id", "utterance", "context", "targetValue")
_TABS = {"delimiter": "\t", "quoting": csv.QUOTE_NONE}
_TABLE = {"escapechar": "\\", "doublequote": False}

LAYOUT = ReleaseLayout(
    content="data/ and csv/ of WikiTableQuestions 1.0.2 (github.com/ppasupat/WikiTableQuestions)",
    folders=(Path("data"), Path("csv")),
    questions={
        "train": (Path("data", "random-split-1-train.tsv"),),
        "dev": (Path("data", "random-split-1-dev.tsv"),),
        "test": (Path("data", "pristine-unseen-tables.tsv"),),
    },
)


def split_files(data_dir: Path, split: str) -> list[Path]:
    """The file of the questions, then those of the tables that it names."""
    path = LAYOUT.question_file(data_dir, split)
    names = {record["context"]: where for where, record in read_records(path, _COLUMNS, _TABS)}
    return [path, *(file_below(data_dir, name, names[name]) for name in sorted(names))]


def read_split(data_dir: Path, split: str) -> Split:
    """Read one split; each table is read once, and a question whose table is missing is counted and left out.

    An answer that stands in several cells teaches nothing in ``train``; elsewhere one of them is taken.

    Raises:
        UserError: a file is missing or not of the expected structure, or a question has no answer.
    """
    records = list(read_records(LAYOUT.question_file(data_dir, split), _COLUMNS, _TABS))
    finders: dict[str, tuple[Table, SupervisionFinder] | None] = {}
    examples: list[Example] = []
    problems: dict[str, str] = {}
    for where, record in records:
        name = record["context"]
        if name not in finders:
            finders[name] = _read_table(file_below(data_dir, name, where), name)
        if (found := finders[name]) is not None:
            table, finder = found
            answers = _answers(record["targetValue"], where)
            supervision = finder.find(answers, strict=split == "train")
            examples.append(_example(record, table, answers, supervision))
            if supervision.problem:
                problems[record["id"]] = supervision.problem
    return Split(tuple(examples), len(records) - len(examples), len(records), problems)


def _read_table(file: Path, name: str) -> tuple[Table, SupervisionFinder] | None:
    """The table; None where its file is not there."""
    if not file.is_file():
        return None
    table = read_table(file, name, _TABLE, clean=wtq_normalize)
    return table, SupervisionFinder(table)


def _example(record: dict[str, str], table: Table, answers: tuple[str, ...], supervision: Supervision) -> Example:
    return Example(
        id=record["id"],
        question=record["utterance"],
        table=table,
        answers=answers,
        candidates=supervision.cells,
        value=supervision.value,
    )


def _answers(text: str, where: str) -> tuple[str, ...]:
    """The answers, which are joined by bars; ``\\n``, ``\\p`` and ``\\\\`` in one are a newline, a bar, a backslash."""
    answers = tuple(_unescaped(answer) for answer in text.split("|"))
    if not all(answers):
        raise UserError(f"{where}, column 'targetValue': expected answers joined by |, found {shown(text)}")
    return answers


def _unescaped(text: str) -> str:
    return "\\".join(part.replace("\\n", "\n").replace("\\p", "|") for part in text.split("\\\\"))
