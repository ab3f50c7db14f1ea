"""Points of a bench: the size of an encoder, a batch of generated tables and a way to run it."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from mate_cli.attention import Layout
from mate_cli.attention.generated import QUESTION_TOKENS, table_layout
from mate_cli.bench.real_tables import real_layouts
from mate_cli.config.bench import REAL_TABLES, BenchConfig, GridConfig
from mate_cli.config.bench import SIZES as SIZE_NAMES
from mate_cli.config.choices import one_for_each
from mate_cli.system.errors import UserError

GRID_KEYS = tuple(GridConfig.__dataclass_fields__)

# A batch of the layout `mixed` repeats these shares of the length and these question tokens, example by example.
FILLS = (1.0, 0.8, 0.5, 0.3)
QUESTIONS = (20, 12, 30, 16)


class Size(NamedTuple):
    """Width of the states, number of attention heads, width of the feed-forward layer."""

    hidden: int
    heads: int
    intermediate: int


SIZES = one_for_each(
    SIZE_NAMES,
    {
        "tiny": Size(64, 4, 256),
        "minilm": Size(384, 12, 1536),
        "base": Size(768, 12, 3072),
        "large": Size(1024, 16, 4096),
    },
)


@dataclass(frozen=True)
class Point:
    """A setting in which all contenders are compared; plain values, so that a subprocess can have it.

    Attributes:
        size: of ``SIZES``, or the three numbers of a ``Size``, joined by ``x``.
        layout: of ``mate_cli.config.bench.LAYOUTS``.
        length: tokens of an example, the longest one in ``mixed``; the most that one may have if tables are real.
        mode: ``forward``, or ``training`` for forward and backward.
        question: tokens of the question of a generated table.
        dropout: share of the attention probabilities that is dropped.
    """

    size: str
    layers: int
    layout: str
    length: int
    batch: int
    mode: str
    dtype: str
    device: str
    seed: int = 0
    question: int = QUESTION_TOKENS
    dropout: float = 0.0

    @property
    def dimensions(self) -> Size:
        return SIZES.get(self.size) or Size(*map(int, self.size.split("x")))

    @property
    def is_training(self) -> bool:
        return self.mode == "training"

    @property
    def series(self) -> tuple[str, str, int, str, str]:
        """What the points of one curve over the length share: size, layout, batch, mode, dtype."""
        layout = self.layout if self.question == QUESTION_TOKENS else f"{self.layout}_question_{self.question}"
        mode = f"{self.mode}_dropout_{self.dropout:g}" if self.dropout else self.mode
        return self.size, layout, self.batch, mode, self.dtype

    def __str__(self) -> str:
        size, layout, batch, mode, dtype = self.series
        return f"{size} {mode} {dtype}, {layout} {batch} x {self.length}"


def documents(point: Point) -> list[Layout]:
    """Lay out the tables of a point, each as a document, different in each place of the batch.

    Raises:
        UserError: the tables are real, and none of those that were drawn fits.
    """
    if point.layout in REAL_TABLES:
        return real_layouts(point.layout, point.length, range(point.seed, point.seed + point.batch))
    tables = []
    for number in range(point.batch):
        tokens, question, shape = point.length, point.question, point.layout
        if shape == "mixed":
            tokens = round(tokens * FILLS[number % len(FILLS)])
            question, shape = QUESTIONS[number % len(QUESTIONS)], "grid"
        tables.append(table_layout(shape, tokens, question, point.seed + number))
    return tables


def packed(tables: list[Layout]) -> Layout:
    """Concatenate the tables without padding."""
    sizes = [len(table.document) for table in tables]
    return Layout(
        document=np.repeat(np.arange(len(tables)), sizes),
        row=np.concatenate([table.row for table in tables]),
        column=np.concatenate([table.column for table in tables]),
        segment=np.concatenate([table.segment for table in tables]),
    )


Measures = dict[str, list[str]]
"""Names of models by measure (speed, flops, memory, largest_batch)."""


def suite_points(config: BenchConfig, device: str) -> dict[Point, Measures]:
    """Join the grids of the suite, each with the lists that the command line gives.

    Raises:
        UserError: a question leaves no place for a table.
    """
    given = {name: value for name in GRID_KEYS if (value := getattr(config, name)) is not None}
    points: dict[Point, Measures] = {}
    for grid in config.suite.grids.values():
        chosen = GridConfig(**{name: getattr(grid, name) for name in GRID_KEYS} | given)
        for point in _points(chosen, config, device):
            for measure in chosen.measures:
                models = points.setdefault(point, {}).setdefault(measure, [])
                models += [model for model in chosen.models if model not in models]
    return points


def _points(grid: GridConfig, config: BenchConfig, device: str) -> list[Point]:
    if max(grid.questions) >= min(grid.lengths):
        raise UserError(f"questions={grid.questions} leave no place for tables of lengths={grid.lengths}")
    values: dict[str, list[Any]] = {
        "size": grid.sizes,
        "mode": grid.modes,
        "dropout": grid.dropouts,
        "dtype": grid.dtypes,
        "layout": grid.layouts,
        "question": grid.questions,
        "batch": grid.batches,
        "length": sorted(grid.lengths),
    }
    same: dict[str, Any] = {"layers": config.layers, "device": device, "seed": config.seed}
    return [Point(**dict(zip(values, point, strict=True)), **same) for point in itertools.product(*values.values())]
