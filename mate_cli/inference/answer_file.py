"""The file that answers to many questions go to: a CSV or TSV table by its ending, else a JSON record a line.

Both are appended to, batch by batch, and read again by a run that goes on with them.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from mate_cli.config.choices import one_for_each
from mate_cli.config.inference import ANSWERS

Record = Mapping[str, Any]

_ANSWERED = ("question", "answer", "answer_probability", "best_guess", "formula", "table", "warnings", "unanswered")
_SEPARATORS: dict[str, str | None] = one_for_each(ANSWERS, {".jsonl": None, ".csv": ",", ".tsv": "\t"})


class AnswerForm(Protocol):
    """How records are written into a file, and read again."""

    def text(self, records: Iterable[Record], is_first: bool) -> str:
        """Write records; ``is_first``: at the start of a file."""
        ...

    def records(self, content: bytes) -> tuple[list[Record], int]:
        """Read the whole records, and how many bytes they are: a kill may have left a part of one behind them.

        Raises:
            ValueError: the content is something else.
        """
        ...


class JsonLines:
    """One object a line."""

    def text(self, records: Iterable[Record], is_first: bool) -> str:
        return "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records)

    def records(self, content: bytes) -> tuple[list[Record], int]:
        whole = content[: content.rfind(b"\n") + 1]
        _check_start(content, whole, b'{"question": ')
        records = [json.loads(line) for line in whole.decode().split("\n")[:-1]]
        if not all(isinstance(record, dict) for record in records):
            raise ValueError("a line is no object")
        return records, len(whole)


class Columns:
    """A row for each record, below a header; texts of several cells are joined by " | ".

    Args:
        facts: names of what every record has beside its answer; they are the last columns.
    """

    def __init__(self, separator: str, facts: Sequence[str]) -> None:
        self.dialect: dict[str, Any] = {"delimiter": separator, "lineterminator": "\r\n", "strict": True}
        self.columns = (*_ANSWERED, *facts)

    def text(self, records: Iterable[Record], is_first: bool) -> str:
        text = io.StringIO(newline="")
        rows = csv.writer(text, **self.dialect)
        if is_first:
            rows.writerow(self.columns)
        rows.writerows([_field(record.get(name)) for name in self.columns] for record in records)
        return text.getvalue()

    def records(self, content: bytes) -> tuple[list[Record], int]:
        end = content.rfind(b"\n") + 1
        quotes = content.count(b'"', 0, end)
        while quotes % 2:  # a line end inside of quotes ends no row
            line = content.rfind(b"\n", 0, end - 1) + 1
            quotes -= content.count(b'"', line, end)  # not all again, line by line: a file of others may have one quote
            end = line
        _check_start(content, content[:end], self.text((), is_first=True).encode())
        try:
            rows = list(csv.reader(io.StringIO(content[:end].decode(), newline=""), **self.dialect))
        except csv.Error as error:
            raise ValueError(str(error)) from error
        if rows and tuple(rows[0]) != self.columns:
            raise ValueError("the header names other columns")
        return [dict(zip(self.columns, row, strict=True)) for row in rows[1:]], end


def answer_form(file: Path, facts: Sequence[str]) -> AnswerForm:
    """Return the form that the ending of a file's name asks for; ``facts`` as of ``Columns``."""
    separator = _SEPARATORS.get(file.suffix.lower())
    return JsonLines() if separator is None else Columns(separator, facts)


def as_text(value: Any) -> str:
    """Write a fact as both forms can be compared by it: nothing for None."""
    return "" if value is None else str(value)


def _check_start(content: bytes, whole: bytes, start: bytes) -> None:
    """Check that what has no whole record starts as the first one does, so that no other file is cut.

    Raises:
        ValueError: it does not.
    """
    if not whole and not content.startswith(start[: len(content)]):
        raise ValueError("no record starts so")


def _field(value: Any) -> str:
    return " | ".join(map(str, value)) if isinstance(value, list | tuple) else as_text(value)
