"""One table or figure of the paper as ``reproduce/NAME.yaml`` describes it.

::

    # the first line is for people who look for it
    title: what it shows
    label: its name in the paper's source
    unit: percent (values between 0 and 1 shown as per cent) | number | count
    reference: the row that the others are held against
    note: what to know when reading it
    figure: the picture to draw
    columns:
      NAME: {of: SOURCE, metric: WHERE.IN.THE.RESULT, median_run_of: another column}
    rows:
      NAME:
        SOURCE: how its result comes about
        metric: further WHERE.IN.THE.RESULT
        paper: a value or VALUE±ERROR for each column, - where there is none
        note: ...

A source is a list of trainings, each of which starts from the one before it (``[task=mlm model=sat, task=hybridqa
model=sat]``), or one of ``{selector: TRAININGS, reader: TRAININGS}``, ``{statistics: TASK}``, ``{bench: {SCHEDULE:
WORDS}}``, ``{flow: TRAININGS}``; a table's ``sources`` are those of all its rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from mate_cli.config.catalogue import reproduce_folder, reproduction_names
from mate_cli.config.rules import unknown_name
from mate_cli.system.errors import UserError

UNITS = {"percent": 1, "number": 2, "count": 0}
"""What the values are, with the digits behind the point."""

FIGURES = ("heads", "buckets", "figure4-time", "figure5-flops", "figure6-memory")


@dataclass(frozen=True)
class Trainings:
    """Trainings, each by its words; each but the first starts from the one before it."""

    words: tuple[str, ...]


@dataclass(frozen=True)
class Stages:
    """A selector and a reader that answer together."""

    selector: Trainings
    reader: Trainings


@dataclass(frozen=True)
class DataOf:
    """The statistics of a task's data."""

    task: str


@dataclass(frozen=True)
class Measured:
    """``mate bench`` with the words of each schedule; those of ``default`` where it has none."""

    words: tuple[tuple[str, str], ...]

    def of(self, schedule: str) -> str:
        by_schedule = dict(self.words)
        return by_schedule.get(schedule, by_schedule["default"])


@dataclass(frozen=True)
class FlowOf:
    """The attention flow of the last of some trainings."""

    chain: Trainings


Source = Trainings | Stages | DataOf | Measured | FlowOf


@dataclass(frozen=True)
class PublishedValue:
    value: float
    error: float | None = None


@dataclass(frozen=True)
class TableColumn:
    """
    Attributes:
        metric: where in the source's result the value stands; of trained sources, it begins with the split.
        median_run_of: the column whose median decides which seed's value this is; None: the median of all seeds.
    """

    name: str
    source: str
    metric: str
    median_run_of: str | None = None


@dataclass(frozen=True)
class Row:
    """
    Attributes:
        paper: column -> what the paper has there.
    """

    name: str
    sources: Mapping[str, Source]
    metric: str
    paper: Mapping[str, PublishedValue]
    note: str

    def path(self, column: TableColumn) -> str:
        """Where in the column's source the value of this row stands."""
        return ".".join(part for part in (column.metric, self.metric) if part)


@dataclass(frozen=True)
class Experiment:
    name: str
    title: str
    label: str
    unit: str
    reference: str | None
    note: str
    figure: str | None
    columns: Mapping[str, TableColumn]
    rows: Mapping[str, Row]

    @property
    def decimals(self) -> int:
        """Digits behind the point."""
        return UNITS[self.unit]


def chosen_experiments(what: str) -> list[Experiment]:
    """One by its name, or ``all`` of them.

    Raises:
        UserError: there is no such table or figure.
    """
    names = reproduction_names()
    if what not in (*names, "all"):
        raise UserError(unknown_name("table or figure", what, (*names, "all")))
    chosen = names if what == "all" else [what]
    return [read_experiment(reproduce_folder() / f"{name}.yaml") for name in chosen]


def read_experiment(file: Path) -> Experiment:
    """The description in a file of ours; a mistake in it is a ``ValueError``."""
    plain = yaml.safe_load(file.read_text(encoding="utf-8"))
    known = {"title", "label", "unit", "reference", "note", "figure", "columns", "rows", "sources"}
    if unknown := set(plain) - known:
        raise ValueError(f"{file}: {sorted(unknown)}")
    columns = {name: _column(name, own) for name, own in plain.get("columns", {}).items()}
    shared = {name: _source(own) for name, own in plain.get("sources", {}).items()}
    return Experiment(
        file.stem,
        plain["title"],
        plain["label"],
        _one_of(plain.get("unit", "percent"), UNITS),
        plain.get("reference"),
        plain.get("note", ""),
        _one_of(plain["figure"], FIGURES) if "figure" in plain else None,
        columns,
        {name: _row(name, own or {}, shared, columns) for name, own in plain.get("rows", {}).items()},
    )


def _column(name: str, plain: Mapping[str, str]) -> TableColumn:
    return TableColumn(name, plain["of"], plain.get("metric", ""), plain.get("median_run_of"))


def _row(name: str, plain: Mapping[str, Any], shared: Mapping[str, Source], columns: Mapping[str, TableColumn]) -> Row:
    own = {key: _source(value) for key, value in plain.items() if key not in ("metric", "paper", "note")}
    if unused := own.keys() - {column.source for column in columns.values()}:
        raise ValueError(f"{name}: no column is of {sorted(unused)}")
    paper = plain.get("paper", ["-"] * len(columns))
    values = dict(zip(columns, map(_published, paper), strict=True))
    known = {column: value for column, value in values.items() if value is not None}
    return Row(name, {**shared, **own}, plain.get("metric", ""), known, plain.get("note", ""))


def _source(plain: Any) -> Source:
    if isinstance(plain, list):
        return Trainings(tuple(plain))
    match plain:
        case {"selector": selector, "reader": reader}:
            return Stages(Trainings(tuple(selector)), Trainings(tuple(reader)))
        case {"statistics": task}:
            return DataOf(task)
        case {"bench": words}:
            return Measured(tuple(words.items()))
        case {"flow": chain}:
            return FlowOf(Trainings(tuple(chain)))
    raise ValueError(f"no source: {plain}")


def _published(plain: Any) -> PublishedValue | None:
    if plain in ("-", None):
        return None
    value, _, error = str(plain).partition("±")
    return PublishedValue(float(value), float(error) if error else None)


def _one_of(name: str, known: Iterable[str]) -> str:
    if name not in known:
        raise ValueError(unknown_name("name", name, known))
    return name
