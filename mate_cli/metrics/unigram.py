"""What is to be had without reading: the frequencies of pieces, the baseline of masked language modelling."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Unigram:
    """How often each piece was to be predicted.

    Attributes:
        counts: int64 ``[vocabulary]``.
    """

    counts: np.ndarray

    @classmethod
    def of(cls, targets: Iterable[Sequence[int] | np.ndarray], vocabulary: int) -> Unigram:
        """Count the targets of examples."""
        counts = np.zeros(vocabulary, dtype=np.int64)
        for own in targets:
            np.add.at(counts, np.asarray(own, dtype=np.int64), 1)
        return cls(counts)

    @property
    def most_frequent(self) -> int:
        """The piece to guess everywhere; of equals the first."""
        return int(self.counts.argmax())

    def log_likelihood(self, targets: np.ndarray) -> np.ndarray:
        """Of pieces, float64, by their frequencies; each counts once more than it was seen, so that none is 0."""
        likelihood: np.ndarray = np.log((self.counts[targets] + 1) / (self.counts.sum() + len(self.counts)))
        return likelihood


def perplexity(log_likelihood: np.ndarray) -> float:
    """exp of the mean negative log-likelihood."""
    return float(np.exp(-np.mean(log_likelihood)))
