"""Answer many questions on a table or a folder of them, batch by batch, into a file that a second run goes on with."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import Progress

from mate_cli.config.train import TrainConfig
from mate_cli.inference.asked_tables import AskedTables
from mate_cli.inference.caveats import caveats, withheld
from mate_cli.inference.predictor import Answerer
from mate_cli.system.errors import UserError, disk_reason

_BATCH = 64


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

    def answer(self, questions: Sequence[str], to: Path, console: Console) -> int:
        """Append to ``to`` the records of the questions that it lacks, a line each; return how many it had.

        Raises:
            UserError: a table does not fit or is not found, ``to`` has other records, or cannot be written.
        """
        self.asked.search(questions)
        try:
            had = self._kept(questions, to)
            with Progress(console=console, transient=True) as progress:
                task = progress.add_task("questions", total=len(questions), completed=had)
                for start in range(had, len(questions), _BATCH):
                    records = list(self._records(questions[start : start + _BATCH]))
                    with to.open("a", encoding="utf-8") as file:
                        file.writelines(json.dumps(record, ensure_ascii=False) + "\n" for record in records)
                    progress.advance(task, len(records))
        except OSError as error:
            raise UserError(f"to={to}: cannot be written ({disk_reason(error)}); name another file") from error
        return had

    def _records(self, questions: Sequence[str]) -> Iterator[dict[str, Any]]:
        examples = [self.asked.example(question) for question in questions]
        for question, record in zip(questions, self.answerer.records(examples, self.top), strict=True):
            warnings = [*self.asked.remarks(question), *self.answerer.remarks, *caveats(self.trained, record)]
            facts = {"question": question, **self.asked.facts(question), **self.facts, "warnings": warnings}
            yield withheld(record, self.threshold) | facts

    def _kept(self, questions: Sequence[str], to: Path) -> int:
        """Count the records of an earlier run, and cut off the half line that a kill may have left."""
        if not to.exists():
            return 0
        content = to.read_bytes()
        whole = content[: content.rfind(b"\n") + 1]
        try:
            records = [json.loads(line) for line in whole.decode().split("\n")[:-1]]
            asked = [{name: record.get(name) for name in ("question", "table", *self.facts)} for record in records]
        except (ValueError, AttributeError):
            asked = [{}]
        expected = [
            {"question": question, "table": self.asked.table_id(question), **self.facts}
            for question in questions[: len(asked)]
        ]
        if asked != expected:
            raise UserError(f"to={to} holds something else than answers to these questions; name another file")
        if len(whole) < len(content):
            with to.open("r+b") as file:
                file.truncate(len(whole))
        return len(asked)
