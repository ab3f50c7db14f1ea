"""Follow-up questions with a run's answers before them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from mate_cli.encoding.source import MadeSource
from mate_cli.system.errors import UserError
from mate_cli.system.files import content_hash, read_json_lines
from mate_cli.tables.split import Split
from mate_cli.tables.table import Coordinate


@dataclass(frozen=True)
class HistorySource(MadeSource):
    """A split whose follow-ups have the answers of a run to the questions before them, as they will when it is asked.

    Attributes:
        answers: the run's ``predictions-*.jsonl`` on the split. A question that did not fit there was answered by no
            cell.
    """

    answers: Path

    @property
    def how(self) -> str:
        return f"history {content_hash([self.answers])}"

    def read(self) -> Split:
        """Read the questions with their history.

        Raises:
            UserError: the files are missing or broken, or the answers are to other questions.
        """
        split = self.base.read()
        places = {example.id: (example.conversation, example.position) for example in split.examples}
        chosen = {places[name]: cells for name, cells in self._chosen().items() if name in places}
        if not chosen:
            raise UserError(f"{self.answers} answers no question of {self.split}; name predictions-{self.split}.jsonl")
        examples = (
            replace(e, previous=chosen.get((e.conversation, e.position - 1), ())) if e.conversation else e
            for e in split.examples
        )
        return replace(split, examples=tuple(examples))

    def _chosen(self) -> dict[str, tuple[Coordinate, ...]]:
        try:
            lines = read_json_lines(self.answers)
            return {line["id"]: tuple((int(row), int(column)) for row, column in line["cells"]) for line in lines}
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise UserError(f"{self.answers}: no file of predicted cells ({error}); mate evaluate makes one") from error
