"""Answer many questions on a table or a folder of them, batch by batch, into a file that a second run goes on with."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import compress
from pathlib import Path
from typing import Any, NamedTuple

from rich.console import Console
from rich.progress import Progress

from mate_cli.config.train import TrainConfig
from mate_cli.inference.answer_file import AnswerForm, answer_form, as_text
from mate_cli.inference.answerer import Answerer
from mate_cli.inference.asked_tables import AskedTables
from mate_cli.inference.caveats import caveats, unanswered, withheld
from mate_cli.inference.reading import Advance
from mate_cli.system.errors import UserError, disk_reason
from mate_cli.system.files import append_text, content_hash
from mate_cli.tables.table import Table

_BATCH = 64
_TABLE_HASH = "table_hash"


class AnsweredFile(NamedTuple):
    """What became of a file of questions.

    Attributes:
        had: number of its records that an earlier run wrote; unanswered: why questions have no answer, a line each.
    """

    had: int
    unanswered: list[str]


@dataclass(frozen=True)
class QuestionFile:
    """Questions, what they are asked of, and what answers them.

    Attributes:
        facts: what every record has beside its answer, ``run`` or ``model``.
        top, threshold: as in ``mate predict``.
    """

    answerer: Answerer
    trained: TrainConfig
    asked: AskedTables
    facts: Mapping[str, str]
    top: int
    threshold: float | None

    @cached_property
    def settings(self) -> dict[str, Any]:
        """What decides the answers beside questions and tables; the hash is of weights and calibration."""
        folder = self.answerer.folder
        return {
            "threshold": self.threshold,
            "top": self.top,
            "max_tokens": self.answerer.options.max_tokens,
            "rows": self.answerer.rows,
            "model_hash": content_hash([folder.weights_file, folder.calibration_file])[:12],
        }

    def answer(self, questions: Sequence[str], to: Path, console: Console) -> AnsweredFile:
        """Append to ``to`` the records of the questions that it lacks.

        A question that is too long, or finds no table or one that is too large, gets a record that says so.

        Raises:
            UserError: no question fits with the table, ``to`` has other records, or cannot be written.
        """
        self.asked.search(questions)
        if isinstance(self.asked.tables, Table):
            self.answerer.check_some_fit([self.asked.example(question) for question in questions])
        form = self._form(to)
        try:
            kept = self._kept(questions, to)
            had, reasons = len(kept), _reasons(kept)
            with Progress(console=console, transient=True) as progress:
                task = progress.add_task("questions", total=len(questions), completed=had)
                parts = progress.add_task("parts of a table", visible=False)

                def advance(done: int, total: int) -> None:
                    progress.update(parts, completed=done, total=total, visible=done < total)

                for start in range(had, len(questions), _BATCH):
                    records = list(self._records(questions[start : start + _BATCH], advance))
                    is_first = not to.exists() or not to.stat().st_size
                    append_text(to, form.text(records, is_first))
                    reasons += _reasons(records)
                    progress.advance(task, len(records))
        except OSError as error:
            raise UserError(f"to={to}: cannot be written ({disk_reason(error)}); name another file") from error
        return AnsweredFile(had, reasons)

    def _records(self, questions: Sequence[str], advance: Advance) -> Iterator[dict[str, Any]]:
        found = [self.asked.table_id(question) is not None for question in questions]
        examples = [self.asked.example(question) for question in compress(questions, found)]
        answers = iter(self.answerer.records(examples, self.top, advance))
        for question, is_found in zip(questions, found, strict=True):
            record = next(answers) if is_found else unanswered(question, None, self.asked.unfound(question))
            warnings = [*self.asked.remarks(question), *self.answerer.remarks, *caveats(self.trained, record)]
            facts = {"question": question, **self.asked.facts(question), **self.facts, "warnings": warnings}
            yield withheld(record, self.threshold) | facts | self._made_with(question)

    def _made_with(self, question: str) -> dict[str, Any]:
        return {**self.settings, _TABLE_HASH: self.asked.table_hash(question)}

    def _form(self, to: Path) -> AnswerForm:
        return answer_form(to, (*self.facts, *self.settings, _TABLE_HASH))

    def _kept(self, questions: Sequence[str], to: Path) -> Sequence[Mapping[str, Any]]:
        """Return the records of an earlier run, and cut off the part of one that a kill may have left."""
        if not to.exists():
            return []
        content = to.read_bytes()
        try:
            records, size = self._form(to).records(content)
        except ValueError:
            records, size = [{}], 0
        self._check(records, questions, to)
        if size < len(content):
            with to.open("r+b") as file:
                file.truncate(size)
        return records

    def _check(self, records: Sequence[Mapping[str, Any]], questions: Sequence[str], to: Path) -> None:
        """Check that records are of these questions, and made with these settings.

        Raises:
            UserError: they are not.
        """
        asked = [{"question": question, "table": self.asked.table_id(question), **self.facts} for question in questions]
        if len(records) > len(asked) or any(map(_differing, records, asked)):
            raise UserError(f"to={to} holds something else than answers to these questions; name another file")
        other = [
            name
            for question, record in zip(questions, records, strict=False)  # an earlier run may have stopped
            for name in _differing(record, self._made_with(question))
        ]
        if other:
            raise UserError(
                f"to={to} has answers made with another {' and '.join(dict.fromkeys(other))}; name another file"
            )


def _reasons(records: Iterable[Mapping[str, Any]]) -> list[str]:
    return [record["unanswered"] for record in records if record.get("unanswered")]


def _differing(record: Mapping[str, Any], expected: Mapping[str, Any]) -> list[str]:
    return [name for name, value in expected.items() if as_text(record.get(name)) != as_text(value)]
