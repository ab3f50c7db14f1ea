"""The official files around the answers of WikiTableQuestions and SQA.

WikiTableQuestions: predictions, ``id<TAB>answer<TAB>answer...`` a question and line; tagged files, which name the
canonical form of each gold answer. SQA: predictions, a TSV file with the columns ``SQA_COLUMNS``.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path

from mate_cli.system.errors import UserError, named, shown
from mate_cli.tables.csv_file import read_records
from mate_cli.tables.file_text import read_text
from mate_cli.tables.submission import check_ids
from mate_cli.tables.table import Coordinate, Example

TaggedAnswer = tuple[tuple[str, str], ...]
"""Each gold answer of a question with its canonical form."""

SQA_COLUMNS = ("id", "annotator", "position", "answer_coordinates")

TAGGED = Path("tagged", "data")
"""Where WikiTableQuestions' release keeps its tagged files."""

_TAGGED_COLUMNS = ("id", "targetValue", "targetCanon")
_ESCAPED = re.compile(r"\\([np\\])")
_UNESCAPED = {"n": "\n", "p": "|", "\\": "\\"}
_PLACE = re.compile(r"""['"]\(([0-9]{1,9}), *([0-9]{1,9})\)['"]""")
_PLACES = re.compile(rf"\[(?:{_PLACE.pattern}(?:, *{_PLACE.pattern})*)?\]")


def wtq_predictions_text(answers: Mapping[str, Iterable[str]]) -> str:
    """A prediction file's content; blanks within an answer, tabs and line breaks too, become single spaces."""
    lines = ([name, *(" ".join(text.split()) for text in texts)] for name, texts in answers.items())
    return "".join("\t".join(line) + "\n" for line in lines)


def read_wtq_predictions(path: Path, questions: Collection[str]) -> dict[str, tuple[str, ...]]:
    """The answers of a prediction file by question id, in the order of the file.

    Raises:
        UserError: it cannot be read, is not UTF-8, lacks one of ``questions``, answers another one, or one twice.
    """
    answers: dict[str, tuple[str, ...]] = {}
    for number, line in enumerate(read_text(path).removesuffix("\n").split("\n"), start=1):
        name, *texts = line.removesuffix("\r").split("\t")
        if name in answers:
            raise UserError(f"{path}: line {number}: question {named(name)} is answered twice")
        answers[name] = tuple(texts)
    check_ids(path, answers, questions, "a line with its id alone")
    return answers


def read_tagged(folder: Path) -> dict[str, TaggedAnswer]:
    """The gold answers of all ``*.tagged`` files of a folder by question id; empty where there are none.

    Raises:
        UserError: a file cannot be read, lacks a column, or names fewer or more canonical forms than answers.
    """
    found: dict[str, TaggedAnswer] = {}
    for path in sorted(folder.glob("*.tagged")):
        for where, row in read_records(path, _TAGGED_COLUMNS, {"delimiter": "\t", "quoting": csv.QUOTE_NONE}):
            texts, forms = (_unescaped(row[column]) for column in _TAGGED_COLUMNS[1:])
            if len(texts) != len(forms):
                raise UserError(f"{where}: {len(texts)} values in targetValue, {len(forms)} in targetCanon")
            found[row["id"]] = tuple(zip(texts, forms, strict=True))
    return found


def sqa_predictions_text(examples: Iterable[Example], cells: Mapping[str, Collection[Coordinate]]) -> str:
    """A prediction file's content, a line for each example; one without a prediction has no cells.

    Args:
        cells: by the id of the example.
    """
    file = io.StringIO()
    writer = csv.writer(file, delimiter="\t", lineterminator="\n")
    writer.writerow(SQA_COLUMNS)
    for example in examples:
        places = [f"({row}, {column})" for row, column in sorted(cells.get(example.id, ()))]
        writer.writerow([*_key(example), str(places)])
    return file.getvalue()


def read_sqa_predictions(path: Path, examples: Collection[Example]) -> dict[str, frozenset[Coordinate]]:
    """The cells of a prediction file by the id of the example; further columns are not looked at.

    Raises:
        UserError: it cannot be read, lacks a column, says cells in another way, lacks one of ``examples``, answers a
            question that is not among them, or one twice.
    """
    ids = {_name(*_key(example)): example.id for example in examples}
    cells: dict[str, frozenset[Coordinate]] = {}
    for where, fields in read_records(path, SQA_COLUMNS, {"delimiter": "\t"}):
        name, places = _name(*(fields[column] for column in SQA_COLUMNS[:3])), fields["answer_coordinates"]
        if name in cells:
            raise UserError(f"{where}: question {named(name)} is answered twice")
        if not _PLACES.fullmatch(places):
            raise UserError(f"{where}: expected cells such as ['(0, 1)', '(2, 1)'], found {shown(places)}")
        cells[name] = frozenset((int(row), int(column)) for row, column in _PLACE.findall(places))
    check_ids(path, cells, ids, "[]")
    return {ids[name]: own for name, own in cells.items()}


def _key(example: Example) -> tuple[str, str, str]:
    """What the official files call a question: the id of its sequence, the annotator, the position from 0."""
    sequence, annotator = example.conversation.rsplit("-", 1)
    return sequence, annotator, str(example.position)


def _name(sequence: str, annotator: str, position: str) -> str:
    return f"{sequence}, annotator {annotator}, position {position}"


def _unescaped(values: str) -> list[str]:
    """The values of a field, which "|" parts."""
    return [_ESCAPED.sub(lambda match: _UNESCAPED[match[1]], value) for value in values.split("|")]
