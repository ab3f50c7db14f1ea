"""Runs side by side on the same questions, each against the first (ablations: checklist 95 to 100)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mate_cli.analysis.outcomes import Outcomes
from mate_cli.metrics.statistics import Interval, bootstrap, paired_bootstrap
from mate_cli.system.errors import UserError


@dataclass(frozen=True)
class ComparedRun:
    """
    Attributes:
        measures: name of a measure -> its mean over the questions, between 0 and 1, with a 95% bootstrap interval;
            questions of a conversation are drawn together.
        differences: the same of this run less the first one, question by question; empty of the first.
        unread: questions that did not fit; they count as misses.
    """

    name: str
    ablation: str
    seed: int
    questions: int
    unread: int
    measures: dict[str, Interval]
    differences: dict[str, Interval]


def compare(outcomes: Sequence[Outcomes]) -> list[ComparedRun]:
    """Measure each, and hold it against the first.

    Raises:
        UserError: the runs answer different questions, or questions in different ways.
    """
    first, *others = outcomes
    for other in others:
        _check_same_questions(first, other)
    base = first.measures()
    return [_compared(own, {} if own is first else base) for own in outcomes]


def _compared(own: Outcomes, base: dict[str, NDArray[np.float64]]) -> ComparedRun:
    measures, groups, stage = own.measures(), own.groups(), own.trained
    return ComparedRun(
        name=own.path.resolve().name,
        ablation=stage.config.ablation.name if stage else "none",
        seed=stage.config.seed if stage else 0,
        questions=len(own.examples),
        unread=own.unread,
        measures={name: bootstrap(values, groups.get(name)) for name, values in measures.items()},
        differences={name: paired_bootstrap(measures[name], values, groups.get(name)) for name, values in base.items()},
    )


def _check_same_questions(first: Outcomes, other: Outcomes) -> None:
    ids, own = ({example.id for example in outcomes.examples} for outcomes in (first, other))
    if ids != own:
        raise UserError(
            f"{first.path} and {other.path} answer different questions: {len(ids - own)} of {len(ids)} and "
            f"{len(own - ids)} of {len(own)} are the one's alone; compare runs on one data set and split"
        )
    if first.compared_by != other.compared_by:
        raise UserError(
            f"{first.path} gives {first.compared_by}, {other.path} gives {other.compared_by}; compare like with like"
        )
