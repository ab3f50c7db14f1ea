"""What a bucketed setting sees: pairs of table tokens of one line whose buckets are neighbours."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mate_cli.attention.order import SortedTokens


class Coverage(NamedTuple):
    """Ordered pairs of two different table tokens of one line: how many there are, and how many are seen.

    ``exact``: the question's pairs are all seen as well, so that the result is that of the dense mask.
    """

    seen: int
    pairs: int
    exact: bool

    @property
    def share(self) -> float:
        return self.seen / self.pairs if self.pairs else 1.0


def bucket_coverage(order: SortedTokens, global_size: int, radius: int) -> Coverage:
    """Count by bucket, never by pair: linear in the tokens."""
    table = ~order.is_question[order.tokens]
    line, bucket, count = _runs(order, table, global_size, radius)
    length = _sums(count, line)
    near = count + _sums(np.where(bucket < 0, count, 0), line) + _neighbours(line, bucket, count)
    seen = int((count * (np.where(bucket < 0, length, near) - 1)).sum())
    pairs = int((count * (length - 1)).sum())
    return Coverage(seen, pairs, seen == pairs and _questions_seen(order, table, global_size, radius))


def _questions_seen(order: SortedTokens, table: np.ndarray, global_size: int, radius: int) -> bool:
    """Each question is global, or its document so short that its first bucket reaches the end."""
    length = np.bincount(order.document)
    asked = np.bincount(order.document[~table], minlength=len(length))
    return bool(((asked <= global_size) | (length <= global_size + 2 * radius)).all())


def _sums(values: np.ndarray, line: np.ndarray) -> np.ndarray:
    """The sum over the line of each run."""
    return np.bincount(line, values).astype(int)[line] if len(line) else values


def _runs(
    order: SortedTokens, table: np.ndarray, global_size: int, radius: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Table tokens in runs of one line and one bucket (-1: global): number of the line, bucket, length."""
    tokens, document = order.tokens[table], order.document[table]
    change = np.r_[len(tokens) > 0, (np.diff(document) != 0) | (np.diff(order.line[tokens]) != 0)]
    line = np.cumsum(change[: len(tokens)])
    bucket = np.maximum((order.rank[table] - global_size) // radius, -1)
    starts = np.flatnonzero(np.r_[len(tokens) > 0, (np.diff(line) != 0) | (np.diff(bucket) != 0)])
    return line[starts], bucket[starts], np.diff(np.r_[starts, len(tokens)])


def _neighbours(line: np.ndarray, bucket: np.ndarray, count: np.ndarray) -> np.ndarray:
    """Tokens of the same line in the buckets before and after; runs of a line are in the order of their buckets."""
    joined = (np.diff(line) == 0) & (bucket[:-1] >= 0)
    before = np.r_[0, np.where(joined, count[:-1], 0)][: len(count)]
    after = np.r_[np.where(joined, count[1:], 0), 0][: len(count)]
    return before + after
