"""Compare our values with the paper's: by row and column, and the order of the rows."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import isnan
from typing import Any

from mate_cli.bench.findings import curves, exponents, point_of
from mate_cli.metrics.comparisons import Contrast, contrast, holm
from mate_cli.metrics.statistics import Spread, median_run, rank_correlation, spread
from mate_cli.reproduction.experiment import (
    HELD_OUT,
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
from mate_cli.reproduction.steps import Measuring, Step, Training
from mate_cli.runs.provenance import code_version
from mate_cli.runs.records import RunRecord, value_at


@dataclass(frozen=True)
class Comparison:
    """Our values and the published one for a row and a column.

    Attributes:
        by_seed: our values in the paper's unit; of a median run that of its seed alone.
        from_median_run: the value is that of one run, chosen by another column.
    """

    by_seed: Mapping[int, float]
    published: PublishedValue | None
    from_median_run: bool = False

    @cached_property
    def ours(self) -> Spread | None:
        return spread(list(self.by_seed.values())) if self.by_seed else None

    @property
    def difference(self) -> float | None:
        """Our median minus the paper's value."""
        return None if self.ours is None or self.published is None else self.ours.median - self.published.value


@dataclass(frozen=True)
class OutcomeRow:
    """
    Attributes:
        codes: the versions of the code of its runs and benches; ``+`` is one with changes that are in no commit.
        machines: precision and processor of its runs.
    """

    row: Row
    cells: Mapping[str, Comparison]
    codes: tuple[str, ...]
    machines: tuple[str, ...] = ()

    @property
    def is_mixed(self) -> bool:
        """True if several versions, precisions or processors make its runs hard to compare."""
        return len(self.codes) > 1 or len(self.machines) > 1


@dataclass(frozen=True)
class Agreement:
    """Agreement of a column's order of rows with the paper's.

    Attributes:
        rows: number of rows that both have.
        rank_correlation: Spearman's over these rows; None if it is undefined.
        contrasts: the reference of each row minus the row, their probabilities corrected for their number; without the
            rows that have neither a published value nor, for a lack of seeds, an interval.
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
        """True if its values depend on seeds."""
        sources = [source for entry in self.rows for source in entry.row.sources.values()]
        return any(isinstance(source, Trainings | Stages | FlowOf) for source in sources)

    @cached_property
    def agreement(self) -> dict[str, Agreement]:
        """Agreement by column; none for counts, and where each row has a quantity of its own, such as figure 4."""
        if self.experiment.unit == "count":
            return {}
        return {name: self._agreement(name) for name, column in self.experiment.columns.items() if column.metric}

    def _agreement(self, column: str) -> Agreement:
        cells = {entry.row.name: entry.cells[column] for entry in self.rows}
        both = [cell for cell in cells.values() if cell.ours is not None and cell.published is not None]
        ours, theirs = [c.ours.median for c in both if c.ours], [c.published.value for c in both if c.published]
        contrasts = dict(self._contrasts(cells))
        corrected = holm({name: contrast.p for name, contrast in contrasts.items()})
        contrasts = {name: replace(contrast, p=corrected[name]) for name, contrast in contrasts.items()}
        return Agreement(len(both), rank_correlation(ours, theirs), contrasts)

    def _contrasts(self, cells: Mapping[str, Comparison]) -> Iterator[tuple[str, Contrast]]:
        for entry in self.rows:
            name, cell, reference = entry.row.name, cells[entry.row.name], cells.get(str(entry.row.reference))
            if reference is None or reference is cell:
                continue
            published, theirs = cell.published, None
            if reference.published is not None and published is not None:
                theirs = reference.published.value - published.value
            difference = contrast([*reference.by_seed.values()], [*cell.by_seed.values()], theirs)
            if difference is not None and not (theirs is None and isnan(difference.p)):
                yield name, difference


def outcome(experiment: Experiment, ledger: Ledger) -> Outcome:
    """Fill a table with the results of the existing runs."""
    rows = []
    for row in chosen_rows(experiment, ledger.config.only):
        cells = {column.name: _cell(experiment, row, column, ledger) for column in experiment.columns.values()}
        steps = _steps(experiment, row, cells, ledger)
        rows.append(OutcomeRow(row, cells, _codes(steps, ledger), _machines(steps, ledger)))
    return Outcome(experiment, tuple(rows))


def median_steps(experiments: Sequence[Experiment], ledger: Ledger) -> list[Step]:
    """List the steps of median runs alone, as far as their runs exist."""
    steps: dict[Step, None] = {}
    for experiment in experiments:
        for row in chosen_rows(experiment, ledger.config.only):
            for column in experiment.columns.values():
                seed = _chosen_seed(experiment, row, column, ledger)
                if column.median_run_of is not None and seed is not None:
                    last_steps = steps_of(row.sources[column.source], column.metric, seed, ledger.config)
                    steps |= dict.fromkeys(step for last in last_steps for step in closure(last))
    return list(steps)


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
    """Return a result in a form in which every number has a name."""
    match source:
        case Trainings() if isinstance(step, Training) and (run := ledger.done(step)) is not None:
            return {**result, HELD_OUT: run.held_out_score}
        case Measured():
            return bench_numbers(result)
        case FlowOf():
            return flow_numbers(result)
        case Stages():
            selector, reader = (need.result(ledger) or {} for need in step.needs)
            return {**result, "selector": selector, "reader": _reader_numbers(reader)}
    return result


def _reader_numbers(result: Mapping[str, Any]) -> dict[str, Any]:
    """Add to each split the exact match over the questions with a cell to read; the scores count the others too."""
    numbers = {}
    for split, scores in result.items():
        exact, share = value_at(scores, "model.all.exact"), scores.get("readable")
        numbers[split] = {**scores, "exact_of_readable": exact / share} if exact is not None and share else scores
    return numbers


def bench_numbers(results: Mapping[str, Any]) -> dict[str, Any]:
    """Return exponents by measure and model, and speed-ups by length, model and other model, of ``mate bench``.

    Models are named as in ``mate bench``, in tables of another layout than the first point's as ``MODEL, LAYOUT``.
    """
    first = next((record["layout"] for record in results["records"]), None)

    def name(record: Mapping[str, Any]) -> str:
        return str(record["model"]) if record["layout"] == first else f"{record['model']}, {record['layout']}"

    by_measure: dict[str, dict[str, Any]] = {}
    for curve in curves(results["records"]).values():
        for measure, value in exponents(curve).items() if len(curve) > 1 else ():
            by_measure.setdefault(measure, {})[name(curve[0])] = value
    speedups: dict[str, dict[str, Any]] = {}
    for record in results["records"]:
        ratios = {other: summary["median"] for other, summary in record.get("speedup", {}).items()}
        speedups.setdefault(str(point_of(record).length), {})[name(record)] = ratios
    return {"exponents": by_measure, "speedups": speedups}


def flow_numbers(result: Mapping[str, Any]) -> dict[str, Any]:
    """Return shares in per cent by number of the target, and attention over uniform, of an attention flow."""
    uniform, attention = result["uniform"], result.get("attention")
    numbers = {"uniform": {str(place): 100 * share for place, share in enumerate(uniform)}}
    if attention is not None:
        numbers["attention"] = {str(place): 100 * share for place, share in enumerate(attention)}
        pairs = enumerate(zip(attention, uniform, strict=True))
        numbers["ratio"] = {str(place): share / base for place, (share, base) in pairs if base}
    return numbers


def _steps(experiment: Experiment, row: Row, cells: Mapping[str, Comparison], ledger: Ledger) -> set[Step]:
    """The steps behind the values of a row."""
    return {
        step
        for column in experiment.columns.values()
        if column.source in row.sources
        for seed in cells[column.name].by_seed
        for last in steps_of(row.sources[column.source], column.metric, seed, ledger.config)
        for step in closure(last)
    }


def _codes(steps: Collection[Step], ledger: Ledger) -> tuple[str, ...]:
    benches = [result for step in steps if isinstance(step, Measuring) and (result := step.result(ledger)) is not None]
    codes = {code_version(bench["environment"]) for bench in benches if "environment" in bench}
    return tuple(sorted(codes | {code for run in _runs(steps, ledger) for code in run.codes}))


def _machines(steps: Collection[Step], ledger: Ledger) -> tuple[str, ...]:
    return tuple(sorted({run.machine for run in _runs(steps, ledger) if run.machine}))


def _runs(steps: Collection[Step], ledger: Ledger) -> list[RunRecord]:
    """Return the runs behind the values: those that are scored or end a chain, with those that they started from."""
    trainings = {step for step in steps if isinstance(step, Training)}
    scored = {need for step in steps if not isinstance(step, Training) for need in step.needs}
    ends = trainings - ({training.parent for training in trainings} - scored)
    return [run for end in ends for run in ledger.lineage(end)]
