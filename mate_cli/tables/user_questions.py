"""Read a user's file of questions on one table."""

from __future__ import annotations

from pathlib import Path

from mate_cli.system.errors import UserError
from mate_cli.tables.text_files import JsonObject, parse_json, read_text
from mate_cli.tables.user_records import read_user_records

_ENDINGS = (".txt", ".csv", ".tsv", ".jsonl")


def read_questions(path: Path) -> list[str]:
    """Read questions in order: the lines of .txt, the column ``question`` of .csv and .tsv, that key in .jsonl.

    Blank lines are skipped.

    Raises:
        UserError: the file cannot be read, has no question, or one that is empty.
    """
    ending = path.suffix.lower()
    if ending not in _ENDINGS:
        raise UserError(f"questions={path}: questions are a file in {', '.join(_ENDINGS)}; save them as one of them")
    if ending in (".csv", ".tsv"):
        places = [(where, record["question"]) for where, record in read_user_records(path, ("question",))]
    else:
        lines = enumerate(read_text(path).split("\n"), start=1)
        places = [(f"{path}: line {number}", line) for number, line in lines if line.strip()]
        if ending == ".jsonl":
            places = [(where, JsonObject.of(parse_json(line, where), where).text("question")) for where, line in places]
    questions = [(where, question.strip()) for where, question in places]
    if not questions:
        raise UserError(f"questions={path}: there is no question in it")
    for where, question in questions:
        if not question:
            raise UserError(f"{where}: the question is empty")
    return [question for _, question in questions]
