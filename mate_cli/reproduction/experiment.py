"""A table or figure of the paper as described by ``reproduce/NAME.yaml``.

::

    # one line that says what it is
    title: what it shows
    label: its name or its place in the paper, for readers of the file
    unit: percent (values between 0 and 1, shown in per cent) | number | count
    reference: row that the others are compared with, unless they name one of their own
    note: what to know when reading it
    figure: picture to draw
    columns:
      NAME: {of: SOURCE, metric: PLACE.IN.THE.RESULT, median_run_of: another column}
    rows:
      NAME:
        SOURCE: how to get its result
        metric: rest of the PLACE.IN.THE.RESULT
        reference: row to compare this one with; its own name for none
        paper: a value or VALUE±ERROR for each column, - for none
        note: ...

A source is a list of trainings, each starting from the one before (``[task=mlm model=sat, task=hybridqa model=sat]``),
or one of ``{selector: TRAININGS, reader: TRAININGS}``, ``{statistics: TASK}``, ``{bench: {SCHEDULE: WORDS}}``, ``{flow:
TRAININGS}``. A table's ``sources`` are those of all its rows.
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
"""Units of values, with the number of decimals."""

FIGURES = ("heads", "buckets", "figure4-time", "figure5-flops", "figure6-memory")


@dataclass(frozen=True)
class Trainings:
    """Trainings, each by its arguments and starting from the one before."""

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
    """``mate bench`` with arguments by schedule; ``default`` is for all others."""

    words: tuple[tuple[str, str], ...]

    def of(self, schedule: str) -> str:
        by_schedule = dict(self.words)
        return by_schedule.get(schedule, by_schedule["default"])


@dataclass(frozen=True)
class FlowOf:
    """The attention flow of the last of some trainings."""

    chain: Trainings


Source = Trainings | Stages | DataOf | Measured | FlowOf

HELD_OUT = "held_out"
"""The place of the best score on the part of train that a training holds out."""


@dataclass(frozen=True)
class PublishedValue:
    value: float
    error: float | None = None


@dataclass(frozen=True)
class TableColumn:
    """
    Attributes:
        metric: place of the value in the source's result; that of trained sources begins with the split, or is
            ``HELD_OUT``.
        median_run_of: take the seed with the median of this column; None for the median of all seeds.
    """

    name: str
    source: str
    metric: str
    median_run_of: str | None = None


@dataclass(frozen=True)
class Row:
    """
    Attributes:
        paper: the paper's values by column.
        reference: the row that this one is compared with; None if the table has none.
    """

    name: str
    sources: Mapping[str, Source]
    metric: str
    paper: Mapping[str, PublishedValue]
    note: str
    reference: str | None = None

    def path(self, column: TableColumn) -> str:
        """Return the place of this row's value in the result of the column's source."""
        return ".".join(part for part in (column.metric, self.metric) if part)


@dataclass(frozen=True)
class Experiment:
    name: str
    title: str
    unit: str
    reference: str | None
    note: str
    figure: str | None
    columns: Mapping[str, TableColumn]
    rows: Mapping[str, Row]

    @property
    def decimals(self) -> int:
        return UNITS[self.unit]


def chosen_experiments(what: str) -> list[Experiment]:
    """Read one experiment by its name, or ``all`` of them.

    Raises:
        UserError: there is no such table or figure.
    """
    names = reproduction_names()
    if what not in (*names, "all"):
        raise UserError(unknown_name("table or figure", what, (*names, "all")))
    chosen = names if what == "all" else [what]
    return [read_experiment(reproduce_folder() / f"{name}.yaml") for name in chosen]


def read_experiment(file: Path) -> Experiment:
    """Read a description; a mistake in it is a ``ValueError``, because the files ship with mate."""
    plain = yaml.safe_load(file.read_text(encoding="utf-8"))
    known = {"title", "label", "unit", "reference", "note", "figure", "columns", "rows", "sources"}
    if unknown := set(plain) - known:
        raise ValueError(f"{file}: {sorted(unknown)}")
    columns = {
        name: TableColumn(name, column["of"], column.get("metric", ""), column.get("median_run_of"))
        for name, column in plain.get("columns", {}).items()
    }
    shared = {name: _source(source) for name, source in plain.get("sources", {}).items()}
    reference = plain.get("reference")
    rows = {name: {"reference": reference, **(row or {})} for name, row in plain.get("rows", {}).items()}
    return Experiment(
        name=file.stem,
        title=plain["title"],
        unit=_one_of(plain.get("unit", "percent"), UNITS),
        reference=reference,
        note=plain.get("note", ""),
        figure=_one_of(plain["figure"], FIGURES) if "figure" in plain else None,
        columns=columns,
        rows={name: _row(name, row, shared, columns) for name, row in rows.items()},
    )


def _row(name: str, plain: Mapping[str, Any], shared: Mapping[str, Source], columns: Mapping[str, TableColumn]) -> Row:
    described = ("metric", "paper", "note", "reference")
    sources = {key: _source(value) for key, value in plain.items() if key not in described}
    if unused := sources.keys() - {column.source for column in columns.values()}:
        raise ValueError(f"{name}: no column is of {sorted(unused)}")
    values = dict(zip(columns, map(_published, plain.get("paper", ["-"] * len(columns))), strict=True))
    paper = {column: value for column, value in values.items() if value is not None}
    texts = (plain.get("metric", ""), paper, plain.get("note", ""))
    return Row(name, {**shared, **sources}, *texts, plain["reference"])


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
