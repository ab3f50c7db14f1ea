"""Which steps the tables need, in the order to take them, what state each is in, and what it costs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from mate_cli.config.reproduce import ReproduceConfig
from mate_cli.config.rules import unknown_name
from mate_cli.reproduction.estimate import Estimate, estimate
from mate_cli.reproduction.experiment import DataOf, Experiment, FlowOf, Measured, Row, Source, Stages, Trainings
from mate_cli.reproduction.ledger import Ledger
from mate_cli.reproduction.steps import Answering, Counting, Flowing, Measuring, Scoring, Step, Training
from mate_cli.system.errors import UserError

_MLM = "task=mlm"
_ENDS_TRAINING = "dev"  # the split whose scores a training of the paper's tasks ends with


@dataclass(frozen=True)
class Planned:
    """
    Attributes:
        hindrance: why it is left out; None where it can be taken.
    """

    step: Step
    state: str
    hindrance: str | None
    estimate: Estimate


def chosen_rows(experiment: Experiment, only: str | None) -> list[Row]:
    """All rows, or the one that is asked for.

    Raises:
        UserError: there is no such row.
    """
    if only is None:
        return list(experiment.rows.values())
    if only not in experiment.rows:
        raise UserError(unknown_name(f"row of {experiment.name}", only, experiment.rows))
    return [experiment.rows[only]]


def wanted_steps(experiments: Sequence[Experiment], config: ReproduceConfig) -> list[Step]:
    """All steps but those of the median runs, each once and after what it needs; one seed after the other."""
    found = (
        step
        for seed in range(config.seeds)
        for experiment in experiments
        for row in chosen_rows(experiment, config.only)
        for column in experiment.columns.values()
        if column.median_run_of is None and column.source in row.sources
        for step in steps_of(row.sources[column.source], column.metric, seed, config)
    )
    return list(dict.fromkeys(step for last in found for step in closure(last)))


def steps_of(source: Source, metric: str, seed: int, config: ReproduceConfig) -> list[Step]:
    """The steps whose results together are a source's, for one seed.

    Args:
        metric: what is wanted of a trained source begins with its split.
    """
    split = metric.partition(".")[0] or _ENDS_TRAINING
    match source:
        case Trainings():
            run = trained(source, seed, config)
            return [run] if split == _ENDS_TRAINING else [Scoring(run, split)]
        case Stages(selector, reader):
            return [Answering(trained(selector, seed, config), trained(reader, seed, config), split)]
        case DataOf(task):
            return [Counting(task)]
        case Measured():
            return [Measuring(source.of(config.schedule))]
        case FlowOf(chain):
            return [Flowing(trained(chain, seed, config) if chain.words else None)]


def trained(chain: Trainings, seed: int, config: ReproduceConfig) -> Training:
    """The last training of a chain, with those that it starts from."""
    last = None
    for words in chain.words:
        if config.pretrain or not words.startswith(_MLM):
            last = Training(words, last, seed)
    assert last is not None
    return last


def closure(step: Step) -> Iterator[Step]:
    """A step after all that it needs."""
    for need in step.needs:
        yield from closure(need)
    yield step


def plan(steps: Iterable[Step], ledger: Ledger) -> list[Planned]:
    """What there is to do; a step that is done costs nothing."""
    return [_planned(step, ledger) for step in steps]


def _planned(step: Step, ledger: Ledger) -> Planned:
    state = step.state(ledger)
    if state == "done":
        return Planned(step, state, None, Estimate(0.0, 0.0))
    hindrance = step.hindrance(ledger)
    return Planned(step, state, hindrance, Estimate() if hindrance else estimate(step, ledger))
