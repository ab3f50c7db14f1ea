"""The plan: the steps that the tables need, in order, with state and cost; as a table and in a few lines."""

from __future__ import annotations

import math
import shlex
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from rich.table import Table as RichTable

from mate_cli.config.catalogue import options
from mate_cli.config.reproduce import ReproduceConfig
from mate_cli.config.rules import unknown_name
from mate_cli.reporting.grid import terminal_table
from mate_cli.reporting.runs import count, duration
from mate_cli.reproduction.estimate import Estimate, estimate
from mate_cli.reproduction.experiment import (
    HELD_OUT,
    DataOf,
    Experiment,
    FlowOf,
    Measured,
    Row,
    Source,
    Stages,
    Trainings,
)
from mate_cli.reproduction.ledger import Ledger
from mate_cli.reproduction.price import SHARE_OF_PEAK
from mate_cli.reproduction.steps import Answering, Counting, Flowing, Measuring, Scoring, Step, Training
from mate_cli.system.errors import UserError

_MLM = "task=mlm"
_ENDS_TRAINING = "dev"  # split that a training of the paper's tasks is scored on
_NOTHING = "–"


@dataclass(frozen=True)
class Planned:
    """
    Attributes:
        hindrance: reason to leave it out; None if it can be run.
    """

    step: Step
    state: str
    hindrance: str | None
    estimate: Estimate


def chosen_rows(experiment: Experiment, only: str | None) -> list[Row]:
    """Return all rows, or the row ``only``.

    Raises:
        UserError: there is no such row.
    """
    if only is None:
        return list(experiment.rows.values())
    if only not in experiment.rows:
        raise UserError(unknown_name(f"row of {experiment.name}", only, experiment.rows))
    return [experiment.rows[only]]


def wanted_steps(experiments: Sequence[Experiment], config: ReproduceConfig) -> list[Step]:
    """List the steps, without those of median runs, each once and after those that it needs, seed by seed."""
    last_steps = (
        step
        for seed in range(config.seeds)
        for experiment in experiments
        for row in chosen_rows(experiment, config.only)
        for column in experiment.columns.values()
        if column.median_run_of is None and column.source in row.sources
        for step in steps_of(row.sources[column.source], column.metric, seed, config)
    )
    return list(dict.fromkeys(step for last in last_steps for step in closure(last)))


def steps_of(source: Source, metric: str, seed: int, config: ReproduceConfig) -> list[Step]:
    """Return the steps whose results make up a source, for one seed.

    Args:
        metric: place of the value in the result; that of a trained source begins with the split, or is ``held_out``.
    """
    split = metric.partition(".")[0] or _ENDS_TRAINING
    match source:
        case Trainings():
            run = trained(source, seed, config)
            return [run] if split in (_ENDS_TRAINING, HELD_OUT) else [Scoring(run, split)]
        case Stages(selector, reader):
            return [Answering(trained(selector, seed, config), trained(reader, seed, config), split)]
        case DataOf(task):
            return [Counting(task)]
        case Measured():
            return [Measuring(source.of(config.schedule))]
        case FlowOf(chain):
            return [Flowing(trained(chain, seed, config) if chain.words else None)]


def trained(chain: Trainings, seed: int, config: ReproduceConfig) -> Training:
    """Return the last training of a chain, with those that it starts from; they run once, with seed 0."""
    *before, last = [words for words in chain.words if config.pretrain or not words.startswith(_MLM)]
    parent = None
    for words in before:
        parent = Training(words, parent, 0)
    return Training(last, parent, seed)


def closure(step: Step) -> Iterator[Step]:
    """Yield the steps that a step needs, then the step."""
    for need in step.needs:
        yield from closure(need)
    yield step


def plan(steps: Iterable[Step], ledger: Ledger) -> list[Planned]:
    """Add state and cost to each step; a step that is done costs nothing."""
    planned = []
    for step in steps:
        state = step.state(ledger)
        hindrance = None if state == "done" else step.hindrance(ledger)
        cost = Estimate() if hindrance else Estimate(0.0, 0.0) if state == "done" else estimate(step, ledger)
        planned.append(Planned(step, state, hindrance, cost))
    return planned


def plan_table(planned: Sequence[Planned]) -> RichTable:
    """Make a table with a line for each step, in their order."""
    states = (f"left out: {entry.hindrance}" if entry.hindrance else entry.state for entry in planned)
    rows = ([entry.step.title, state, *_cost(entry)] for entry, state in zip(planned, states, strict=True))
    return terminal_table(("step", "state", "time", "FLOPs"), rows, left=("step", "state"), title="plan")


def plan_summary(planned: Sequence[Planned], ledger: Ledger) -> list[str]:
    """Count the steps by state, with the reasons for those left out and the cost of the rest."""
    left_out = Counter(entry.hindrance for entry in planned if entry.hindrance)
    lines = [f"left out: {number} of {len(planned)} steps, because {reason}" for reason, number in left_out.items()]
    states = Counter(entry.state for entry in planned if not entry.hindrance)
    if states:
        lines.append(", ".join(f"{number} {state}" for state, number in states.items()))
    costs = [entry.estimate for entry in planned if entry.state != "done" and not entry.hindrance]
    known = [cost for cost in costs if cost.seconds is not None]
    if known:
        most = "at most" if any(cost.at_most for cost in known) else "about"
        time, flops = (sum(getattr(cost, name) or 0 for cost in known) for name in ("seconds", "flops"))
        others = f", and {len(costs) - len(known)} steps of unknown cost" if len(costs) > len(known) else ""
        lines.append(f"to do: {most} {duration(time)}, {count(flops)}FLOP{others}")
        lines += _device_hours(known)
    if ledger.uses_sample:
        lines.append("data: the generated sample, except for data.NAME=FOLDER")
    return lines


def commands(planned: Sequence[Planned], ledger: Ledger) -> Iterator[str]:
    """Yield the trainings to do as commands for a shell, in order, each with the folder that the next starts from.

    For machines that ``mate reproduce`` does not reach: it takes up the results.
    """
    for entry in planned:
        if isinstance(entry.step, Training) and entry.state != "done" and entry.hindrance is None:
            begun = ["resume=true"] if ledger.record(entry.step) is not None else []
            name = f"name={ledger.name(entry.step)}"
            yield shlex.join(["mate", "train", *ledger.words(entry.step), name, *begun])


def _device_hours(costs: Sequence[Estimate]) -> Iterator[str]:
    """Yield the hours of each kind of accelerator, and what they assume."""
    hours: Counter[str] = Counter()
    for cost in costs:
        hours[cost.device] += math.ceil((cost.seconds or 0) * cost.devices / 3600)
    for device, total in hours.items():
        if device:
            yield (
                f"cost: at most {total:,} hours of one {device}, with inputs of full length at {SHARE_OF_PEAK:.0%} "
                "of the peak in its data sheet; an assumption, nothing was measured on it"
            )


def circumstances(ledger: Ledger) -> str:
    """Say how our runs differ from the paper's."""
    config = ledger.config
    backbone = "the tasks' own backbones" if config.backbone is None else f"backbone={config.backbone.name}"
    parts = [f"schedule={config.schedule}", backbone]
    if not config.pretrain:
        parts.append("no pre-training on tables")
    if ledger.uses_sample:
        parts.append("the generated sample in place of data that is not set")
    if config.words:
        parts.append(config.words)
    return ", ".join(parts)


def circumstances_in_words(ledger: Ledger) -> str:
    """``circumstances`` without keys: for the caption of a printed table."""
    config = ledger.config
    lines = {option.name: option.line for option in options("backbone")}
    backbone = "the tasks' own backbones" if config.backbone is None else lines[config.backbone.name].split(":")[0]
    parts = [f"{config.schedule} schedule", backbone.rstrip(".")]
    if not config.pretrain:
        parts.append("no pre-training on tables")
    if ledger.uses_sample:
        parts.append("the generated sample in place of missing data")
    return ", ".join(parts)


def _cost(entry: Planned) -> tuple[str, str]:
    cost = entry.estimate
    if entry.state == "done" or cost.flops is None:
        return ("", "") if entry.state == "done" else (_NOTHING, _NOTHING)
    most = "≤ " if cost.at_most else "≈ "
    return _NOTHING if cost.seconds is None else most + duration(cost.seconds), most + count(cost.flops)
