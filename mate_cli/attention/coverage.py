"""Coverage of a bucketed setting: pairs of table tokens of one line in neighbouring buckets (paper section 3.1)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mate_cli.attention.plan import SortedTokens, run_lengths, run_starts


class Coverage(NamedTuple):
    """Numbers of ordered pairs of two different table tokens of one line: those computed and all.

    ``exact``: all pairs of the question are computed as well, so that the result equals that of the dense mask.
    """

    seen: int
    pairs: int
    exact: bool

    @property
    def share(self) -> float:
        return self.seen / self.pairs if self.pairs else 1.0


def bucket_coverage(order: SortedTokens, global_size: int, radius: int) -> Coverage:
    """Count the pairs by runs of one line and bucket, in time linear in the tokens."""
    table = ~order.is_question[order.tokens]
    line, bucket, count = _runs(order, table, global_size, radius)
    length = _sums(count, line)
    near = count + _sums(np.where(bucket < 0, count, 0), line) + _neighbours(line, bucket, count)
    seen = int((count * (np.where(bucket < 0, length, near) - 1)).sum())
    pairs = int((count * (length - 1)).sum())
    return Coverage(seen, pairs, seen == pairs and _questions_seen(order, table, global_size, radius))


def _questions_seen(order: SortedTokens, table: np.ndarray, global_size: int, radius: int) -> bool:
    """Check that each question is global, or its document so short that its first bucket reaches the end."""
    length = np.bincount(order.document)
    questions = np.bincount(order.document[~table], minlength=len(length))
    return bool(((questions <= global_size) | (length <= global_size + 2 * radius)).all())


def _sums(values: np.ndarray, line: np.ndarray) -> np.ndarray:
    """Return the sum over the line of each run, int64 ``[runs]``."""
    return np.bincount(line, values).astype(int)[line] if len(line) else values


def _runs(
    order: SortedTokens, table: np.ndarray, global_size: int, radius: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return number of the line, bucket (-1: global) and length of each run of table tokens of one line and bucket."""
    document, line = order.document[table], order.line[order.tokens[table]]
    bucket = np.maximum((order.rank[table] - global_size) // radius, -1)
    starts = run_starts(document, line, bucket)
    lines = np.cumsum(np.isin(starts, run_starts(document, line)))
    return lines, bucket[starts], run_lengths(starts, len(document))


def _neighbours(line: np.ndarray, bucket: np.ndarray, count: np.ndarray) -> np.ndarray:
    """Count the tokens of the same line in the two adjacent buckets; runs of a line are in the order of buckets."""
    joined = (np.diff(line) == 0) & (bucket[:-1] >= 0)
    before = np.r_[0, np.where(joined, count[:-1], 0)][: len(count)]
    after = np.r_[np.where(joined, count[1:], 0), 0][: len(count)]
    return before + after
