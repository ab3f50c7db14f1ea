"""What a data set holds and what encoding made of it (paper tables 2 and 3, checklist 30, 63 to 69)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from rich.table import Table as RichTable

from mate_cli.metrics.cell_selection import SUBSETS
from mate_cli.tables.reading import question_id
from mate_cli.tables.split_statistics import SplitStatistics

if TYPE_CHECKING:
    from mate_cli.encoding.cache import EncodedSplit

SPAN_LENGTHS = (10, 20, 30)
_SHOWN_REASONS = 5


@dataclass(frozen=True)
class SplitFacts:
    """A prepared split; ``seconds`` is what reading and encoding took, little where the cache had it."""

    name: str
    statistics: SplitStatistics
    encoded: EncodedSplit
    seconds: float


def statistics_table(facts: Sequence[SplitFacts]) -> RichTable:
    """Questions, answer classes and table shapes, a column for each split."""
    table = _table("data", facts)
    rows = [("questions", [f"{f.statistics.questions + f.encoded.report.missing_tables:,}" for f in facts])]
    for name, title in SUBSETS.items():
        rows.append((f"  {title}", [f"{f.statistics.subsets.get(name, 0):,}" for f in facts]))
    rows += [
        ("without a table", [f"{f.encoded.report.missing_tables:,}" for f in facts]),
        ("tables", [f"{f.statistics.tables:,}" for f in facts]),
        ("linked passages", [f"{f.statistics.linked_passages:,}" for f in facts]),
        ("cells of a table", [f"{f.statistics.mean_cells:.1f}" for f in facts]),
        ("passages of a table", [f"{f.statistics.mean_links:.1f}" for f in facts]),
        ("words of a passage", [f"{f.statistics.mean_passage_words:.1f}" for f in facts]),
        ("with a candidate cell", [f"{f.statistics.with_candidate:,}" for f in facts]),
        ("with several", [f"{100 * f.statistics.ambiguity:.1f}%" for f in facts]),
    ]
    for name, values in rows:
        table.add_row(name, *values)
    return table


def encoding_table(facts: Sequence[SplitFacts]) -> RichTable:
    """Lengths, cuts and what was left out, a column for each split."""
    reports = [f.encoded.report for f in facts]
    limit = reports[0].max_tokens if reports else 0
    table = _table(f"encoding, at most {limit} tokens", facts)
    table.add_row("encoded", *(f"{r.encoded:,}" for r in reports))
    table.add_row("left out, too large", *(f"{len(r.left_out):,}" for r in reports))
    table.add_row("fit uncut", *(f"{100 * r.share_fitting:.1f}%" for r in reports))
    table.add_row("cut", *(f"{r.cut:,}" for r in reports))
    table.add_row("tokens cut", *(f"{r.tokens_cut:,}" for r in reports))
    table.add_row("tokens, mean", *(f"{r.mean_length:.0f}" for r in reports))
    for percentile in ("50", "90", "99", "100"):
        table.add_row(f"tokens uncut, {percentile}%", *(f"{r.full_length[percentile]:,}" for r in reports))
    table.add_row("answer in input", *(f"{100 * r.answer_in_input_rate:.1f}%" for r in reports))
    table.add_row("time", *(_time(f) for f in facts))
    return table


def coverage_table(facts: Sequence[SplitFacts], limit: int) -> RichTable:
    """Of the answered questions, those whose answer is a span of some cell, by the longest span allowed."""
    table = _table(f"answer is a span in the first {limit} tokens of a cell", facts)
    shares = [answer_coverage(f.encoded.dataset, f.statistics.answered) for f in facts]
    for longest in SPAN_LENGTHS:
        table.add_row(
            f"of at most {longest} pieces", *(f"{100 * own[longest]:.2f}%" if own else "blind" for own in shares)
        )
    return table


def answer_coverage(rows: Any, answered: int) -> dict[int, float]:
    """The share of ``answered`` questions with a span of the answer in one of their rows, by the longest span.

    Empty where no question is answered.
    """
    if not answered:
        return {}
    lengths = np.asarray(rows["span_last"]) - np.asarray(rows["span_first"]) + 1
    found = np.asarray(rows["span_first"]) >= 0
    questions = np.array([question_id(str(name)) for name in rows["id"]], dtype=object)
    return {n: len(set(questions[found & (lengths <= n)])) / answered for n in SPAN_LENGTHS}


def left_out_lines(facts: Sequence[SplitFacts]) -> list[str]:
    """The first reasons for leaving a question out, and how many more there are."""
    lines = []
    for f in facts:
        reasons = list(f.encoded.report.left_out.items())
        lines += [f"{f.name}: left out {question}: {reason}" for question, reason in reasons[:_SHOWN_REASONS]]
        if len(reasons) > _SHOWN_REASONS:
            lines.append(f"{f.name}: and {len(reasons) - _SHOWN_REASONS} more, in {f.encoded.folder}/report.json")
    return lines


def _table(title: str, facts: Sequence[SplitFacts]) -> RichTable:
    table = RichTable(title=title)
    table.add_column("")
    for f in facts:
        table.add_column(f.name, justify="right")
    return table


def _time(facts: SplitFacts) -> str:
    if not facts.encoded.built:
        return "cached"
    return f"{facts.seconds:.0f} s ({facts.encoded.report.questions / max(facts.seconds, 1e-9):.0f}/s)"
