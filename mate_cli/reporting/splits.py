"""What a data set holds and what encoding made of it (paper tables 2 and 3, checklist 30, 63 to 69)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
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


def statistics_table(splits: Mapping[str, SplitStatistics]) -> RichTable:
    """What the data holds, a column for each split; what none of them has is left out."""
    table = _table("data", splits)
    own = list(splits.values())
    subsets = {title: [s.subsets.get(name, 0) for s in own] for name, title in SUBSETS.items()}
    groups = {name: [s.groups.get(name, 0) for s in own] for s in own for name in s.groups}
    _add_counts(table, {"statements" if any(s.statements for s in own) else "questions": [s.questions for s in own]})
    _add_counts(table, subsets, indent=True)
    _add_counts(table, groups, indent=True)
    _add_counts(table, {"entailed": [s.entailed for s in own], "conversations": [s.conversations for s in own]})
    table.add_row("without a table", *(f"{s.missing_tables:,}" for s in own))
    _add_counts(table, {"tables": [s.tables for s in own], "linked passages": [s.linked_passages for s in own]})
    table.add_row("cells of a table", *(f"{s.mean_cells:.1f}" for s in own))
    if any(s.linked_passages for s in own):
        table.add_row("passages of a table", *(f"{s.mean_links:.1f}" for s in own))
        table.add_row("words of a passage", *(f"{s.mean_passage_words:.1f}" for s in own))
    _add_answers(table, own)
    return table


def _add_answers(table: RichTable, own: Sequence[SplitStatistics]) -> None:
    """What is known of the answers: their cells, their values, or why neither."""
    if any(s.with_candidate for s in own):
        table.add_row("with answer cells", *(f"{s.with_candidate:,}" for s in own))
        table.add_row("in several cells", *(f"{100 * s.ambiguity:.1f}%" for s in own))
    reasons = {reason: [s.unsupervised.get(reason, 0) for s in own] for s in own for reason in s.unsupervised}
    _add_counts(table, {"with a number to answer": [s.with_value for s in own]})
    _add_counts(table, {"without supervision": [sum(s.unsupervised.values()) for s in own]})
    _add_counts(table, reasons, indent=True)


def _add_counts(table: RichTable, rows: Mapping[str, Sequence[int]], indent: bool = False) -> None:
    """A row for each count; none where they are all zero."""
    if any(any(counts) for counts in rows.values()):
        for title, counts in rows.items():
            if indent or any(counts):
                table.add_row(f"  {title}" if indent else title, *(f"{count:,}" for count in counts))


def encoding_table(facts: Sequence[SplitFacts]) -> RichTable:
    """Lengths, cuts and what was left out, a column for each split."""
    reports = [f.encoded.report for f in facts]
    limit = reports[0].max_tokens if reports else 0
    table = _table(f"encoding, at most {limit} tokens", [f.name for f in facts])
    table.add_row("encoded", *(f"{r.encoded:,}" for r in reports))
    table.add_row("left out, too large", *(f"{len(r.left_out):,}" for r in reports))
    table.add_row("fit uncut", *(f"{100 * r.share_fitting:.1f}%" for r in reports))
    table.add_row("cut", *(f"{r.cut:,}" for r in reports))
    _add_counts(table, {"lost columns": [r.pruned for r in reports]})
    _add_counts(table, {"  and their answer": [r.answer_pruned for r in reports]})
    table.add_row("tokens cut", *(f"{r.tokens_cut:,}" for r in reports))
    table.add_row("tokens, mean", *(f"{r.mean_length:.0f}" for r in reports))
    for percentile in ("50", "90", "99", "100"):
        table.add_row(f"tokens uncut, {percentile}%", *(f"{r.full_length[percentile]:,}" for r in reports))
    if any(f.statistics.linked_passages for f in facts):  # elsewhere an answer is whole cells, or is computed
        table.add_row("answer in input", *(f"{100 * r.answer_in_input_rate:.1f}%" for r in reports))
    table.add_row("time", *(_time(f) for f in facts))
    return table


def coverage_table(facts: Sequence[SplitFacts], limit: int) -> RichTable:
    """Of the answered questions, those whose answer is a span of some cell, by the longest span allowed."""
    table = _table(f"answer is a span in the first {limit} tokens of a cell", [f.name for f in facts])
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


def _table(title: str, splits: Iterable[str]) -> RichTable:
    table = RichTable(title=title)
    table.add_column("")
    for name in splits:
        table.add_column(name, justify="right")
    return table


def _time(facts: SplitFacts) -> str:
    if not facts.encoded.built:
        return "cached"
    return f"{facts.seconds:.0f} s ({facts.encoded.report.questions / max(facts.seconds, 1e-9):.0f}/s)"
