"""Read WikiTableQuestions (Pasupat and Liang, 2015) in its official layout; answers are known by their texts only.

- data/random-split-1-train.tsv, random-split-1-dev.tsv, pristine-unseen-tables.tsv (our test): the questions
- csv/<folder>/<name>.csv: the tables

Cells are read in their normal form (``text.wtq_normalize``), headers verbatim (docs/notes.md, note 19).
"""

from __future__ import annotations

import csv
import re
from pathlib import Path

from mate_cli.system.errors import UserError, shown
from mate_cli.tables.split import ReleaseLayout, Split, table_files
from mate_cli.tables.supervision import SupervisionFinder
from mate_cli.tables.table import Example
from mate_cli.tables.text import wtq_normalize
from mate_cli.tables.text_files import read_records, read_table

_COLUMNS = ("id", "utterance", "context", "targetValue")
_TABS = {"delimiter": "\t", "quoting": csv.QUOTE_NONE}
_TABLE = {"escapechar": "\\", "doublequote": False}
_ESCAPED = re.compile(r"\\([np\\])")
_UNESCAPED = {"n": "\n", "p": "|", "\\": "\\"}

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
    """Return the file of the questions, then the files of the tables that it names."""
    path = LAYOUT.question_file(data_dir, split)
    return [path, *table_files(data_dir, read_records(path, _COLUMNS, _TABS), "context").values()]


def read_split(data_dir: Path, split: str) -> Split:
    """Read one split; each table is read once, and a question whose table is missing is counted and left out.

    An answer in several cells gives no targets in ``train``; in other splits one of the cells is taken.

    Raises:
        UserError: a file is missing or has another structure, or a question has no answer.
    """
    records = list(read_records(LAYOUT.question_file(data_dir, split), _COLUMNS, _TABS))
    files = table_files(data_dir, records, "context")
    present = {name: file for name, file in files.items() if file.is_file()}
    tables = {name: read_table(file, name, _TABLE, clean=wtq_normalize) for name, file in present.items()}
    finders = {name: SupervisionFinder(table) for name, table in tables.items()}
    examples: list[Example] = []
    problems: dict[str, str] = {}
    for where, record in records:
        if (table := tables.get(record["context"])) is not None:
            name, answers = record["id"], _answers(record["targetValue"], where)
            target = finders[table.id].find(answers, strict=split == "train")
            examples.append(
                Example(name, record["utterance"], table, answers, candidates=target.cells, value=target.value)
            )
            if target.problem:
                problems[name] = target.problem
    return Split(tuple(examples), len(records) - len(examples), len(records), problems)


def _answers(text: str, where: str) -> tuple[str, ...]:
    answers = split_values(text)
    if not all(answers):
        raise UserError(f"{where}, column 'targetValue': expected answers joined by |, found {shown(text)}")
    return answers


def split_values(field: str) -> tuple[str, ...]:
    """Split a field at "|"; ``\\n``, ``\\p`` and ``\\\\`` in a value are a newline, a bar and a backslash."""
    return tuple(_ESCAPED.sub(lambda match: _UNESCAPED[match[1]], value) for value in field.split("|"))
