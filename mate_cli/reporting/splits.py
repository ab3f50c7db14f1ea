"""Statistics of a data set and of its encoding (paper tables 2 and 3, appendix A.2), and of a corpus."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from rich.table import Table as RichTable

from mate_cli.encoding.row_fields import row_field
from mate_cli.metrics.cell_selection import SUBSETS
from mate_cli.reporting.grid import terminal_table
from mate_cli.tables.reading import question_id
from mate_cli.tables.split import Split
from mate_cli.tables.split_statistics import SplitStatistics, statistics

if TYPE_CHECKING:
    from mate_cli.encoding.cache import EncodedSplit
    from mate_cli.encoding.shards import Manifest

SPAN_LENGTHS = (10, 20, 30)
_SHOWN_REASONS = 5

Row = list[str]


@dataclass
class SplitCounts:
    """Collects the statistics of splits and the names of their tables, one split after the other."""

    splits: dict[str, SplitStatistics] = field(default_factory=dict)
    _tables: set[str] = field(default_factory=set)

    def add(self, name: str, split: Split) -> SplitStatistics:
        self.splits[name] = statistics(split)
        self._tables |= {example.table.id for example in split.examples}
        return self.splits[name]

    def plain(self) -> dict[str, Any]:
        """Split -> its statistics, and the sums under ``total``.

        A table of several splits counts once. The total has no subsets if the answers of a split are hidden.
        """
        splits = self.splits.values()
        total: dict[str, Any] = {"questions": sum(s.questions for s in splits), "tables": len(self._tables)}
        if all(s.subsets for s in splits):
            total["subsets"] = dict(sum((Counter(s.subsets) for s in splits), Counter()))
        return {**{name: asdict(s) for name, s in self.splits.items()}, "total": total}


@dataclass(frozen=True)
class SplitFacts:
    """A prepared split; ``seconds`` is the time for reading and encoding, short if it was cached."""

    name: str
    statistics: SplitStatistics
    encoded: EncodedSplit
    seconds: float


def statistics_table(splits: Mapping[str, SplitStatistics]) -> RichTable:
    """The size of the data, one column for each split; lines without any count are left out."""
    return terminal_table(["", *splits], _statistics_rows(list(splits.values())), left=[""], title="data")


def _statistics_rows(splits: Sequence[SplitStatistics]) -> Iterator[Row]:
    subsets = {title: [s.subsets.get(name, 0) for s in splits] for name, title in SUBSETS.items()}
    groups = {name: [s.groups.get(name, 0) for s in splits] for s in splits for name in s.groups}
    yield from _counts(
        {"statements" if any(s.statements for s in splits) else "questions": [s.questions for s in splits]}
    )
    yield from _counts(subsets, indent=True)
    yield from _counts(groups, indent=True)
    yield from _counts({"entailed": [s.entailed for s in splits], "conversations": [s.conversations for s in splits]})
    yield ["without a table", *(f"{s.missing_tables:,}" for s in splits)]
    yield from _counts({"tables": [s.tables for s in splits], "linked passages": [s.linked_passages for s in splits]})
    yield ["cells of a table", *(f"{s.mean_cells:.1f}" for s in splits)]
    if any(s.linked_passages for s in splits):
        yield ["passages of a table", *(f"{s.mean_links:.1f}" for s in splits)]
        yield ["words of a passage", *(f"{s.mean_passage_words:.1f}" for s in splits)]
    if any(s.with_candidate for s in splits):
        yield ["with answer cells", *(f"{s.with_candidate:,}" for s in splits)]
        yield ["in several cells", *(f"{100 * s.ambiguity:.1f}%" for s in splits)]
    reasons = {reason: [s.unsupervised.get(reason, 0) for s in splits] for s in splits for reason in s.unsupervised}
    yield from _counts({"with a number to answer": [s.with_value for s in splits]})
    yield from _counts({"without supervision": [sum(s.unsupervised.values()) for s in splits]})
    yield from _counts(reasons, indent=True)


def _counts(rows: Mapping[str, Sequence[int]], indent: bool = False) -> Iterator[Row]:
    """A row for each title; without those that are all zero, or, if indented, without any if all are zero."""
    if any(any(counts) for counts in rows.values()):
        for title, counts in rows.items():
            if indent or any(counts):
                yield [f"  {title}" if indent else title, *(f"{count:,}" for count in counts)]


def encoding_table(facts: Sequence[SplitFacts]) -> RichTable:
    """Lengths, cuts and omissions, one column for each split."""
    limit = facts[0].encoded.report.max_tokens if facts else 0
    head = ["", *(f.name for f in facts)]
    return terminal_table(head, _encoding_rows(facts), left=[""], title=f"encoding, at most {limit} tokens")


def _encoding_rows(facts: Sequence[SplitFacts]) -> Iterator[Row]:
    reports = [f.encoded.report for f in facts]
    yield ["encoded", *(f"{r.encoded:,}" for r in reports)]
    yield ["left out, too large", *(f"{len(r.left_out):,}" for r in reports)]
    yield ["fit uncut", *(f"{100 * r.share_fitting:.1f}%" for r in reports)]
    yield ["cut", *(f"{r.cut:,}" for r in reports)]
    yield from _counts({"lost columns": [r.pruned for r in reports]})
    yield from _counts({"  and their answer": [r.answer_pruned for r in reports]})
    yield ["tokens cut", *(f"{r.tokens_cut:,}" for r in reports)]
    yield ["tokens, mean", *(f"{r.mean_length:.0f}" for r in reports)]
    for percentile in ("50", "90", "99", "100"):
        yield [f"tokens uncut, {percentile}%", *(f"{r.full_length[percentile]:,}" for r in reports)]
    if any(f.statistics.linked_passages for f in facts):  # elsewhere an answer is whole cells, or is computed
        yield ["answer in input", *(f"{100 * r.answer_in_input_rate:.1f}%" for r in reports)]
    yield ["time", *map(_time, facts)]


def coverage_table(facts: Sequence[SplitFacts], limit: int) -> RichTable:
    """The share of the answered questions whose answer is a span of a cell, by the longest span allowed."""
    shares = [answer_coverage(f.encoded.dataset, f.statistics.answered) for f in facts]
    rows = [
        [f"of at most {longest} pieces", *(f"{100 * share[longest]:.2f}%" if share else "blind" for share in shares)]
        for longest in SPAN_LENGTHS
    ]
    title = f"answer is a span in the first {limit} tokens of a cell"
    return terminal_table(["", *(f.name for f in facts)], rows, left=[""], title=title)


def answer_coverage(rows: Any, answered: int) -> dict[int, float]:
    """The share of ``answered`` questions with a span of the answer in one of their rows, by the longest span.

    Empty if no question is answered.
    """
    if not answered:
        return {}
    first, last = row_field(rows, "span_first"), row_field(rows, "span_last")
    lengths, has_span = last - first + 1, first >= 0
    questions = np.array([question_id(str(name)) for name in row_field(rows, "id")], dtype=object)
    return {n: len(set(questions[has_span & (lengths <= n)])) / answered for n in SPAN_LENGTHS}


def left_out_lines(facts: Sequence[SplitFacts]) -> Iterator[str]:
    """The first questions left out of each split, with reasons; then the number of the others."""
    for f in facts:
        reasons = list(f.encoded.report.left_out.items())
        yield from (f"{f.name}: left out {question}: {reason}" for question, reason in reasons[:_SHOWN_REASONS])
        if len(reasons) > _SHOWN_REASONS:
            yield f"{f.name}: and {len(reasons) - _SHOWN_REASONS} more, in {f.encoded.folder}/report.json"


def corpus_table(manifest: Manifest) -> RichTable:
    """Counts over the complete shards of a corpus."""
    tables, held_out = sum(manifest.tables), sum(map(len, manifest.held_out))
    rows = [
        ["tables", f"{tables:,}"],
        ["  held out", f"{held_out:,} ({100 * held_out / tables:.1f}%)"],
        ["broken, left out", f"{manifest.broken:,}"],
        ["word pieces of a table and its texts", f"{manifest.pieces / tables:,.0f}"],
        ["shards", f"{manifest.shards:,}"],
    ]
    return terminal_table(["corpus", "number"], rows, left=["corpus"])


def _time(facts: SplitFacts) -> str:
    if not facts.encoded.built:
        return "cached"
    return f"{facts.seconds:.0f} s ({facts.encoded.report.questions / max(facts.seconds, 1e-9):.0f}/s)"
