"""HybridQA's official files around answers: the submission, and the reference it is scored against.

A submission is ``[{"question_id": ..., "pred": ...}, ...]``; the reference is
``{"reference": {id: answer}, "table": [id, ...], "passage": [id, ...]}``.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from pathlib import Path

from mate_cli.system.errors import UserError, named, shown
from mate_cli.tables.hybridqa import Gold
from mate_cli.tables.json_file import JsonObject, read_json


def submission_text(predictions: Mapping[str, str]) -> str:
    """A submission file's content, an answer a line."""
    lines = (json.dumps({"question_id": name, "pred": text}, ensure_ascii=False) for name, text in predictions.items())
    return "[" + ",\n ".join(lines) + "]\n"


def read_submission(path: Path, questions: Collection[str]) -> dict[str, str]:
    """The answers of a submission by question id, in the order of the file.

    Raises:
        UserError: it cannot be read, is of another structure, lacks one of ``questions``, answers one that is
            not among them, or one twice. The official script accepts none of these but the last.
    """
    entries = read_json(path)
    if not isinstance(entries, list):
        raise UserError(f"{path}: expected a list of answers, found {type(entries).__name__}")
    answers: dict[str, str] = {}
    for number, entry in enumerate(entries, start=1):
        item = JsonObject.of(entry, f"{path}: answer {number}")
        name = item.text("question_id")
        if name in answers:
            raise UserError(f"{item.where}: question {named(name)} is answered twice")
        answers[name] = item.text("pred")
    check_ids(path, answers, questions)
    return answers


def read_reference(path: Path) -> dict[str, Gold]:
    """The gold answers of a reference file by question id.

    Raises:
        UserError: it cannot be read, is of another structure, or its lists name questions without an answer.
    """
    content = JsonObject.of(read_json(path), str(path))
    answers = content.object("reference")
    subsets = {name: kind for kind in ("table", "passage") for name in _names(content, kind)}
    if unknown := [name for name in subsets if name not in answers]:
        raise UserError(f"{path}: question {named(unknown[0])} is listed, and the key 'reference' has no answer to it")
    if not list(answers):
        raise UserError(f"{path}: the key 'reference' holds no answer")
    return {name: Gold((answers.text(name),), subsets.get(name, "missing")) for name in answers}


def _names(content: JsonObject, key: str) -> list[str]:
    names = content.list(key)
    if wrong := [name for name in names if not isinstance(name, str)]:
        raise UserError(f"{content.where}, key {key!r}: expected ids of questions, found {shown(wrong[0])}")
    return names


def check_ids(path: Path, answers: Collection[str], questions: Collection[str], empty: str = '""') -> None:
    """Check that a file answers all ``questions`` and no others; ``empty`` is how it says that there is no answer.

    Raises:
        UserError: it does not.
    """
    lacking = [name for name in questions if name not in answers]
    if lacking:
        raise UserError(
            f"{path}: {len(lacking)} of {len(questions)} questions have no answer, first {named(lacking[0])}; "
            f"give each one, {empty} where there is none"
        )
    known = set(questions)
    if unknown := [name for name in answers if name not in known]:
        raise UserError(
            f"{path}: {len(unknown)} answers are to questions that the reference does not have, first "
            f"{named(unknown[0])}; is it that of another split?"
        )
