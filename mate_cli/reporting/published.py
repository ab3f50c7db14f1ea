"""Published results of the paper and of others, with their sources; all in per cent."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from mate_cli.metrics.hybridqa import GROUPS

_MATE = "Eisenschlos et al. 2021 (MATE), table 5"
_PRIMEQA = "README of primeqa/mitqa (github.com/primeqa/primeqa), in whole per cent"

Figure = tuple[float, float]
"""Exact match and F1."""


@dataclass(frozen=True, slots=True)
class Published:
    """The results of one system by split ("dev", "test") and group of ``GROUPS``, as far as published."""

    system: str
    source: str
    figures: Mapping[str, Mapping[str, Figure]] = field(default_factory=dict)


def _row(system: str, dev: tuple[float, ...], test: tuple[float, ...]) -> Published:
    """A row of table 5: exact match and F1 for answers in the table, in passages, in total."""
    return Published(system, _MATE, {"dev": _by_group(dev), "test": _by_group(test)})


def _by_group(values: tuple[float, ...]) -> dict[str, Figure]:
    return dict(zip(GROUPS, zip(values[::2], values[1::2], strict=True), strict=True))


HYBRIDQA = (
    # Copied by the paper from Chen et al. (2020), the authors of HybridQA.
    _row("Table-Only", (14.7, 19.1, 2.4, 4.5, 8.4, 12.1), (14.2, 18.8, 2.6, 4.7, 8.3, 11.7)),
    _row("Passage-Only", (9.2, 13.5, 26.1, 32.4, 19.5, 25.1), (8.9, 13.8, 25.5, 32.0, 19.1, 25.0)),
    _row("HYBRIDER (tau = 0.8)", (54.3, 61.4, 39.1, 45.7, 44.0, 50.7), (56.2, 63.3, 37.5, 44.4, 43.8, 50.6)),
    # dev: means of 5 runs; test: the run with the median exact match on dev.
    _row("PointR + SAT", (66.5, 71.8, 60.3, 69.2, 61.2, 68.7), (64.6, 70.1, 59.6, 68.5, 60.1, 67.4)),
    _row("PointR + TAPAS", (68.1, 73.9, 62.9, 72.0, 63.3, 70.8), (67.8, 73.2, 62.0, 70.9, 62.7, 70.0)),
    _row("PointR + TableETC", (36.0, 42.4, 37.8, 45.3, 36.1, 42.9), (35.8, 40.7, 38.8, 45.7, 36.6, 42.6)),
    _row("PointR + Linformer", (65.5, 71.1, 59.4, 69.0, 60.8, 68.4), (66.1, 71.7, 58.9, 67.8, 60.2, 67.6)),
    _row("PointR + MATE", (68.6, 74.2, 62.8, 71.9, 63.4, 71.0), (66.9, 72.3, 62.8, 71.9, 62.8, 70.2)),
    Published("MITQA", _PRIMEQA, {"dev": {"Total": (65.0, 72.0)}}),
    Published("Human", _MATE, {"test": {"Total": (88.2, 93.5)}}),
)

# Paper table 7, in the order of mate_cli.analysis.flow.TARGETS: the targets of table tokens on the dev split of
# WikiTableQuestions, in a dense TAPAS and in a uniform attention matrix.
FLOW_ATTENTION = (12.45, 37.08, 3.89, 1.72, 23.59, 3.51, 13.16, 4.60)
FLOW_UNIFORM = (0.28, 3.66, 2.94, 0.51, 68.18, 4.02, 18.84, 1.57)
