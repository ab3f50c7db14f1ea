"""Compare runs on the same questions, each with the first, as in the ablations of paper table 6."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mate_cli.analysis.outcomes import Outcomes
from mate_cli.config.plain import to_plain
from mate_cli.inference.stages import Stage
from mate_cli.metrics.statistics import Interval, mean_interval, paired_bootstrap
from mate_cli.runs.identity import differences, identity_of
from mate_cli.system.errors import UserError, shown


@dataclass(frozen=True)
class ComparedRun:
    """
    Attributes:
        settings: those that decide the result (``runs.identity``) and that the first run has otherwise, by their keys.
        measures: mean of each measure over the questions, between 0 and 1, with a 95% interval; questions of
            a conversation are drawn together.
        differences: the same for this run minus the first, question by question; empty for the first run.
        unread: number of questions that did not fit; they count as wrong.
    """

    name: str
    ablation: str
    settings: dict[str, Any]
    seed: int
    questions: int
    unread: int
    measures: dict[str, Interval]
    differences: dict[str, Interval]


def compare(outcomes: Sequence[Outcomes]) -> list[ComparedRun]:
    """Measure each run and its difference from the first.

    Raises:
        UserError: the runs answer different questions, or give answers of different kinds; or several questions have
            one id.
    """
    first, *others = outcomes
    for other in others:
        _check_same_questions(first, other)
    names = [example.id for example in first.examples]
    base = first.measures()  # value by value, so all have the questions in one order
    stage = first.trained
    return [_compared(first, stage, {}), *(_compared(other.in_order_of(names), stage, base) for other in others)]


def _compared(run: Outcomes, first: Stage | None, base: dict[str, NDArray[np.float64]]) -> ComparedRun:
    measures, groups, stage = run.measures(), run.groups(), run.trained
    return ComparedRun(
        name=run.path.resolve().name,
        ablation=stage.config.ablation.name if stage else "none",
        settings=_other_settings(first, stage),
        seed=stage.config.seed if stage else 0,
        questions=len(run.examples),
        unread=run.unread,
        measures={name: mean_interval(values, groups.get(name)) for name, values in measures.items()},
        differences={name: paired_bootstrap(measures[name], values, groups.get(name)) for name, values in base.items()},
    )


def _other_settings(first: Stage | None, stage: Stage | None) -> dict[str, Any]:
    if first is None or stage is None:
        return {}
    one, other = (identity_of(to_plain(run.config), None, None) for run in (first, stage))
    names = differences(one, other).keys() & {*one.settings, *other.settings}
    return {name: other.value(name) for name in sorted(names)}


def _check_same_questions(first: Outcomes, other: Outcomes) -> None:
    for outcomes in (first, other):
        name, count = Counter(example.id for example in outcomes.examples).most_common(1)[0]
        if count > 1:
            raise UserError(
                f"{outcomes.path}: {count} questions have the id {shown(name)}, so runs cannot be compared question by "
                "question; give each an id of its own in the data, and answer them again"
            )
    ids, other_ids = ({example.id for example in outcomes.examples} for outcomes in (first, other))
    if ids != other_ids:
        raise UserError(
            f"{first.path} and {other.path} answer different questions: {len(ids - other_ids)} of {len(ids)} and "
            f"{len(other_ids - ids)} of {len(other_ids)} are in one alone; compare runs on one data set and split"
        )
    if first.compared_by != other.compared_by:
        raise UserError(
            f"{first.path} has {first.compared_by} and {other.path} has {other.compared_by}; compare runs of one kind"
        )
