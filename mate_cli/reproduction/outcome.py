"""Ours beside the paper's: what the runs of each row say, and whether the rows come in the paper's order."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from mate_cli.bench.findings import point_of
from mate_cli.metrics.statistics import Contrast, Spread, contrast, median_run, rank_correlation, spread
from mate_cli.reproduction.experiment import (
    Experiment,
    FlowOf,
    Measured,
    PublishedValue,
    Row,
    Source,
    Stages,
    TableColumn,
    Trainings,
)
from mate_cli.reproduction.ledger import Ledger
from mate_cli.reproduction.plan import chosen_rows, closure, steps_of
from mate_cli.reproduction.steps import Step, Training
from mate_cli.runs.records import value_at


@dataclass(frozen=True)
class Comparison:
    """A row of the paper under one column: our values beside the published one.

    Attributes:
        by_seed: our values, in the paper's unit; of a median run, its own alone.
        from_median_run: whether it is the value of one run that another column chose.
    """

    by_seed: Mapping[int, float]
    published: PublishedValue | None
    from_median_run: bool = False

    @cached_property
    def ours(self) -> Spread | None:
        return spread(list(self.by_seed.values())) if self.by_seed else None

    @property
    def difference(self) -> float | None:
        """Our median less the paper's value."""
        return None if self.ours is None or self.published is None else self.ours.median - self.published.value


@dataclass(frozen=True)
class OutcomeRow:
    """
    Attributes:
        codes: the versions of the code behind its runs; more than one make them hard to compare.
        states: of its trainings, how many are in which state.
    """

    row: Row
    cells: Mapping[str, Comparison]
    codes: tuple[str, ...]

    @property
    def is_mixed(self) -> bool:
        return len(self.codes) > 1


@dataclass(frozen=True)
class Agreement:
    """How a column's order of rows compares with the paper's.

    Attributes:
        rank_correlation: Spearman's, over the rows that both have; None where it says nothing.
        contrasts: row -> the reference row less that row.
    """

    rows: int
    rank_correlation: float | None
    contrasts: Mapping[str, Contrast]


@dataclass(frozen=True)
class Outcome:
    experiment: Experiment
    rows: tuple[OutcomeRow, ...]

    @property
    def is_trained(self) -> bool:
        """Whether its values depend on seeds."""
        sources = [source for own in self.rows for source in own.row.sources.values()]
        return any(isinstance(source, Trainings | Stages | FlowOf) for source in sources)

    @cached_property
    def agreement(self) -> dict[str, Agreement]:
        """By column, where rows are comparable: those of sizes are not."""
        if self.experiment.unit == "count":
            return {}
        return {name: self._agreement(name) for name in self.experiment.columns}

    def _agreement(self, column: str) -> Agreement:
        cells = {own.row.name: own.cells[column] for own in self.rows}
        both = [cell for cell in cells.values() if cell.ours is not None and cell.published is not None]
        ours, theirs = [c.ours.median for c in both if c.ours], [c.published.value for c in both if c.published]
        return Agreement(len(both), rank_correlation(ours, theirs), dict(self._contrasts(cells)))

    def _contrasts(self, cells: Mapping[str, Comparison]) -> Iterator[tuple[str, Contrast]]:
        reference = cells.get(str(self.experiment.reference))
        if reference is None or reference.published is None:
            return
        for name, cell in cells.items():
            if cell is not reference and cell.published is not None:
                theirs = reference.published.value - cell.published.value
                found = contrast(reference.by_seed, cell.by_seed, theirs)
                if found is not None:
                    yield name, found


def outcome(experiment: Experiment, ledger: Ledger) -> Outcome:
    """A table as far as its runs are there."""
    rows = []
    for row in chosen_rows(experiment, ledger.config.only):
        cells: dict[str, Comparison] = {}
        for column in experiment.columns.values():
            cells[column.name] = _cell(experiment, row, column, ledger)
        rows.append(OutcomeRow(row, cells, _codes(experiment, row, ledger)))
    return Outcome(experiment, tuple(rows))


def median_steps(experiments: Sequence[Experiment], ledger: Ledger) -> list[Step]:
    """The steps that only the run with the median score is taken through, of those runs that are there."""
    found: dict[Step, None] = {}
    for experiment in experiments:
        for row in chosen_rows(experiment, ledger.config.only):
            for column in experiment.columns.values():
                seed = _chosen_seed(experiment, row, column, ledger)
                if column.median_run_of is not None and seed is not None:
                    last = steps_of(row.sources[column.source], column.metric, seed, ledger.config)
                    found |= dict.fromkeys(step for own in last for step in closure(own))
    return list(found)


def _cell(experiment: Experiment, row: Row, column: TableColumn, ledger: Ledger) -> Comparison:
    published = row.paper.get(column.name)
    if column.median_run_of is None:
        return Comparison(_by_seed(experiment, row, column, ledger), published)
    seed = _chosen_seed(experiment, row, column, ledger)
    value = None if seed is None else _value(experiment, row, column, seed, ledger)
    return Comparison({} if value is None or seed is None else {seed: value}, published, from_median_run=True)


def _chosen_seed(experiment: Experiment, row: Row, column: TableColumn, ledger: Ledger) -> int | None:
    if column.median_run_of is None:
        return None
    scores = _by_seed(experiment, row, experiment.columns[column.median_run_of], ledger)
    return median_run(scores) if scores else None


def _by_seed(experiment: Experiment, row: Row, column: TableColumn, ledger: Ledger) -> dict[int, float]:
    source = row.sources.get(column.source)
    if source is None:
        return {}
    is_trained = isinstance(source, Trainings | Stages) or (isinstance(source, FlowOf) and bool(source.chain.words))
    seeds = range(ledger.config.seeds if is_trained else 1)
    values = {seed: _value(experiment, row, column, seed, ledger) for seed in seeds}
    return {seed: value for seed, value in values.items() if value is not None}


def _value(experiment: Experiment, row: Row, column: TableColumn, seed: int, ledger: Ledger) -> float | None:
    source = row.sources[column.source]
    last = steps_of(source, column.metric, seed, ledger.config)[0]
    result = last.result(ledger)
    value = None if result is None else value_at(_readable(source, result, last, ledger), row.path(column))
    return value if value is None or experiment.unit != "percent" else 100 * value


def _readable(source: Source, result: Mapping[str, Any], step: Step, ledger: Ledger) -> Mapping[str, Any]:
    """A result with its numbers under names, whatever it is of."""
    match source:
        case Measured():
            return bench_numbers(result)
        case FlowOf():
            return flow_numbers(result)
        case Stages():
            selector, reader = (need.result(ledger) or {} for need in step.needs)
            return {**result, "selector": selector, "reader": reader}
    return result


def bench_numbers(results: Mapping[str, Any]) -> dict[str, Any]:
    """Of ``mate bench``: measure -> model -> exponent, and length -> model -> other model -> times as fast."""
    exponents: dict[str, dict[str, Any]] = {}
    for found in results["findings"]:
        for measure, value in found["exponents"].items():
            exponents.setdefault(measure, {})[found["model"]] = value
    speedups: dict[str, dict[str, Any]] = {}
    for record in results["records"]:
        ratios = {other: own["median"] for other, own in record.get("speedup", {}).items()}
        speedups.setdefault(str(point_of(record).length), {})[record["model"]] = ratios
    return {"exponents": exponents, "speedups": speedups}


def flow_numbers(result: Mapping[str, Any]) -> dict[str, Any]:
    """Of ``mate analyze analysis=flow``: per cent by the number of the target, and attention over uniform."""
    uniform, attention = result["uniform"], result.get("attention")
    found = {"uniform": {str(place): 100 * share for place, share in enumerate(uniform)}}
    if attention is not None:
        found["attention"] = {str(place): 100 * share for place, share in enumerate(attention)}
        pairs = enumerate(zip(attention, uniform, strict=True))
        found["ratio"] = {str(place): own / base for place, (own, base) in pairs if base}
    return found


def _codes(experiment: Experiment, row: Row, ledger: Ledger) -> tuple[str, ...]:
    steps = {
        step
        for column in experiment.columns.values()
        if column.source in row.sources
        for seed in range(ledger.config.seeds)
        for last in steps_of(row.sources[column.source], column.metric, seed, ledger.config)
        for step in closure(last)
    }
    runs = [run for step in steps if isinstance(step, Training) and (run := ledger.done(step)) is not None]
    return tuple(sorted({code for run in runs for code in run.codes}))
