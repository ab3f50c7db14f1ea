"""Read and write the official files of predictions and gold answers.

- HybridQA: a submission ``[{"question_id": ..., "pred": ...}, ...]``; the reference
  ``{"reference": {id: answer}, "table": [id, ...], "passage": [id, ...]}``
- WikiTableQuestions: predictions, ``id<TAB>answer<TAB>answer...`` per line; tagged files with the canonical form of
  each gold answer
- SQA: predictions, a TSV file with the columns ``SQA_COLUMNS``
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import TypeVar

from mate_cli.system.errors import UserError, named, shown
from mate_cli.tables.hybridqa import Gold
from mate_cli.tables.table import Coordinate, Example
from mate_cli.tables.text_files import JsonObject, read_json, read_records, read_text
from mate_cli.tables.wtq import split_values

_T = TypeVar("_T")

TaggedAnswer = tuple[tuple[str, str], ...]
"""Each gold answer of a question with its canonical form."""

SQA_COLUMNS = ("id", "annotator", "position", "answer_coordinates")

TAGGED = Path("tagged", "data")
"""Folder of the tagged files in WikiTableQuestions' release."""

_TAGGED_COLUMNS = ("id", "targetValue", "targetCanon")
_COORDINATE = re.compile(r"""['"]\(([0-9]{1,9}), *([0-9]{1,9})\)['"]""")
_COORDINATES = re.compile(rf"\[(?:{_COORDINATE.pattern}(?:, *{_COORDINATE.pattern})*)?\]")


def submission_text(predictions: Mapping[str, str]) -> str:
    """Return the content of a HybridQA submission, one answer per line."""
    lines = (json.dumps({"question_id": name, "pred": text}, ensure_ascii=False) for name, text in predictions.items())
    return "[" + ",\n ".join(lines) + "]\n"


def read_submission(path: Path, questions: Collection[str]) -> dict[str, str]:
    """Read a HybridQA submission: question id -> answer, in the order of the file.

    Raises:
        UserError: the file cannot be read, has another structure, misses one of ``questions``, or answers an unknown
            question or one twice. The official script rejects all of these but the last.
    """
    entries = read_json(path)
    if not isinstance(entries, list):
        raise UserError(f"{path}: expected a list of answers, found {type(entries).__name__}")
    items = (JsonObject.of(entry, f"{path}: answer {number}") for number, entry in enumerate(entries, start=1))
    return _answers(path, ((item.where, item.text("question_id"), item.text("pred")) for item in items), questions)


def read_reference(path: Path) -> dict[str, Gold]:
    """Read a HybridQA reference: question id -> gold answer.

    Raises:
        UserError: the file cannot be read, has another structure, or lists questions without an answer.
    """
    content = JsonObject.of(read_json(path), str(path))
    answers = content.object("reference")
    subsets: dict[str, str] = {}
    for kind in ("table", "passage"):
        for name in content.list(kind):
            if not isinstance(name, str):
                raise UserError(f"{path}, key {kind!r}: expected question ids, found {shown(name)}")
            if name not in answers:
                raise UserError(f"{path}: question {named(name)} of key {kind!r} has no answer in key 'reference'")
            subsets[name] = kind
    if not answers.content:
        raise UserError(f"{path}: key 'reference' has no answers")
    return {name: Gold((answers.text(name),), subsets.get(name, "missing")) for name in answers}


def wtq_predictions_text(answers: Mapping[str, Iterable[str]]) -> str:
    """Return the content of a WikiTableQuestions prediction file; white space within an answer becomes one space."""
    lines = ([name, *(" ".join(text.split()) for text in texts)] for name, texts in answers.items())
    return "".join("\t".join(line) + "\n" for line in lines)


def read_wtq_predictions(path: Path, questions: Collection[str]) -> dict[str, tuple[str, ...]]:
    """Read a WikiTableQuestions prediction file: question id -> answers, in the order of the file.

    Raises:
        UserError: the file cannot be read, misses one of ``questions``, or answers an unknown question or one twice.
    """
    lines = read_text(path).removesuffix("\n").split("\n")
    fields = (line.removesuffix("\r").split("\t") for line in lines)
    entries = ((f"{path}: line {number}", name, tuple(texts)) for number, (name, *texts) in enumerate(fields, start=1))
    return _answers(path, entries, questions, "a line with its id alone")


def read_tagged(folder: Path) -> dict[str, TaggedAnswer]:
    """Read the gold answers of all ``*.tagged`` files of a folder by question id; empty without such files.

    Raises:
        UserError: a file cannot be read, lacks a column, or has another number of canonical forms than answers.
    """
    answers: dict[str, TaggedAnswer] = {}
    for path in sorted(folder.glob("*.tagged")):
        for where, row in read_records(path, _TAGGED_COLUMNS, {"delimiter": "\t", "quoting": csv.QUOTE_NONE}):
            texts, forms = (split_values(row[column]) for column in _TAGGED_COLUMNS[1:])
            if len(texts) != len(forms):
                raise UserError(f"{where}: {len(texts)} values in targetValue, {len(forms)} in targetCanon")
            answers[row["id"]] = tuple(zip(texts, forms, strict=True))
    return answers


def sqa_predictions_text(examples: Iterable[Example], cells: Mapping[str, Collection[Coordinate]]) -> str:
    """Return the content of an SQA prediction file, one line per example; one without a prediction has no cells.

    Args:
        cells: example id -> predicted cells.
    """
    file = io.StringIO()
    writer = csv.writer(file, delimiter="\t", lineterminator="\n")
    writer.writerow(SQA_COLUMNS)
    for example in examples:
        coordinates = [f"({row}, {column})" for row, column in sorted(cells.get(example.id, ()))]
        writer.writerow([*_sqa_key(example), str(coordinates)])
    return file.getvalue()


def read_sqa_predictions(path: Path, examples: Collection[Example]) -> dict[str, frozenset[Coordinate]]:
    """Read an SQA prediction file: example id -> cells; other columns are ignored.

    Raises:
        UserError: the file cannot be read, lacks a column, writes cells in another way, misses one of ``examples``, or
            answers an unknown question or one twice.
    """
    ids = {_sqa_name(*_sqa_key(example)): example.id for example in examples}
    records = read_records(path, SQA_COLUMNS, {"delimiter": "\t"})
    entries = (
        (where, _sqa_name(*(fields[column] for column in SQA_COLUMNS[:3])), _sqa_cells(fields, where))
        for where, fields in records
    )
    return {ids[name]: cells for name, cells in _answers(path, entries, ids, "[]").items()}


def _answers(
    path: Path, entries: Iterable[tuple[str, str, _T]], questions: Collection[str], empty: str = '""'
) -> dict[str, _T]:
    """Collect the answers of a file and check that it answers each of ``questions`` once, and no others.

    Args:
        entries: place, question id and answer; empty: how the file writes "no answer".
    """
    answers: dict[str, _T] = {}
    for where, name, answer in entries:
        if name in answers:
            raise UserError(f"{where}: question {named(name)} is answered twice")
        answers[name] = answer
    unanswered = [name for name in questions if name not in answers]
    if unanswered:
        raise UserError(
            f"{path}: {len(unanswered)} of {len(questions)} questions have no answer, first {named(unanswered[0])}; "
            f"answer each one, with {empty} for no answer"
        )
    known = set(questions)
    if unknown := [name for name in answers if name not in known]:
        raise UserError(
            f"{path}: {len(unknown)} answers to questions that are not in the reference, first {named(unknown[0])}; "
            "is it the file of another split?"
        )
    return answers


def _sqa_key(example: Example) -> tuple[str, str, str]:
    """Return the official key of a question: sequence id, annotator, position from 0."""
    sequence, annotator = example.conversation.rsplit("-", 1)
    return sequence, annotator, str(example.position)


def _sqa_name(sequence: str, annotator: str, position: str) -> str:
    return f"{sequence}, annotator {annotator}, position {position}"


def _sqa_cells(fields: Mapping[str, str], where: str) -> frozenset[Coordinate]:
    coordinates = fields["answer_coordinates"]
    if not _COORDINATES.fullmatch(coordinates):
        raise UserError(f"{where}: expected cells such as ['(0, 1)', '(2, 1)'], found {shown(coordinates)}")
    return frozenset((int(row), int(column)) for row, column in _COORDINATE.findall(coordinates))
