"""Report on encoding a split: lengths of examples, what was cut, and what was left out and why."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

import numpy as np

from mate_cli.encoding.features import Encoded, TooLarge
from mate_cli.tables.table import Example

_PERCENTILES = (50, 75, 90, 95, 99, 100)


@dataclass(frozen=True)
class ExampleReport:
    """One example before and after encoding; ``reason`` says why it was left out, "" if it was not."""

    id: str
    full_length: int
    length: int
    reason: str
    has_candidate: bool
    answer_in_input: bool
    columns_pruned: int
    answer_pruned: bool


@dataclass(frozen=True)
class EncodingReport:
    """Counts over a split.

    Attributes:
        missing_tables: questions without a table, which are left out.
        encoded: rows of the cache; left_out: id -> reason, for examples that do not fit at one word per cell.
        cut: examples that lost words or columns; tokens_cut: tokens that they lost in total.
        pruned: examples that lost columns; answer_pruned: that lost their answer with them.
        fits: examples that fit ``max_tokens`` uncut.
        with_candidate: encoded examples with a candidate cell; answer_in_input: those that keep an answer in it.
        mean_length: mean tokens of an encoded example; full_length: percentile -> tokens before the cut.
    """

    questions: int
    missing_tables: int
    encoded: int
    cut: int
    tokens_cut: int
    max_tokens: int
    fits: int
    with_candidate: int
    answer_in_input: int
    mean_length: float
    full_length: dict[str, int]
    pruned: int
    answer_pruned: int
    left_out: dict[str, str] = field(default_factory=dict)

    @property
    def share_fitting(self) -> float:
        """Share of the questions with a table that fit ``max_tokens`` uncut (paper section 4.1: 97%)."""
        return self.fits / max(self.questions - self.missing_tables, 1)

    @property
    def answer_in_input_rate(self) -> float:
        """Share of all questions with the answer in a kept candidate cell."""
        return self.answer_in_input / max(self.questions, 1)

    def save(self, path: Path) -> None:
        """Write as JSON, with the two rates."""
        rates = {"share_fitting": self.share_fitting, "answer_in_input_rate": self.answer_in_input_rate}
        content = json.dumps(asdict(self) | rates, indent=2, ensure_ascii=False)
        path.write_text(content + "\n", encoding="utf-8")

    @classmethod
    def load(cls, path: Path) -> EncodingReport:
        """Read a saved report."""
        content = json.loads(path.read_text(encoding="utf-8"))
        return cls(**{name: content[name] for name in cls.__dataclass_fields__})


def outcome_of(example: Example, encoded: Encoded) -> ExampleReport:
    """The part of an encoded example that the report needs."""
    outcome, full_length = encoded.outcome, encoded.full_length
    if isinstance(outcome, TooLarge):
        return ExampleReport(example.id, full_length, 0, outcome.reason, False, False, encoded.pruned, False)
    has_candidate = bool(outcome.labels.any())
    return ExampleReport(
        id=example.id,
        full_length=full_length,
        length=len(outcome),
        reason="",
        has_candidate=has_candidate,
        answer_in_input=encoded.answer_in_input,
        columns_pruned=encoded.pruned,
        answer_pruned=bool(example.candidates) and not has_candidate,
    )


def summarise(
    outcomes: Sequence[ExampleReport], questions: int, missing_tables: int, max_tokens: int
) -> EncodingReport:
    """The report of a split."""
    kept = [outcome for outcome in outcomes if not outcome.reason]
    cuts = [outcome.full_length - outcome.length for outcome in kept]
    full = [outcome.full_length for outcome in outcomes] or [0]
    return EncodingReport(
        questions=questions,
        missing_tables=missing_tables,
        encoded=len(kept),
        cut=sum(cut > 0 for cut in cuts),
        tokens_cut=sum(cuts),
        max_tokens=max_tokens,
        fits=sum(outcome.full_length <= max_tokens for outcome in outcomes),
        with_candidate=sum(outcome.has_candidate for outcome in kept),
        answer_in_input=sum(outcome.answer_in_input for outcome in kept),
        mean_length=float(np.mean([outcome.length for outcome in kept])) if kept else 0.0,
        pruned=sum(outcome.columns_pruned > 0 for outcome in kept),
        answer_pruned=sum(outcome.answer_pruned for outcome in kept),
        full_length={str(p): int(np.percentile(full, p, method="higher")) for p in _PERCENTILES},
        left_out={outcome.id: outcome.reason for outcome in outcomes if outcome.reason},
    )
