"""Points of a bench: the size of an encoder, a batch of generated tables and a way to run it."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from mate_cli.attention import Layout
from mate_cli.attention.generated import QUESTION_TOKENS, table_layout
from mate_cli.config.bench import SIZES as SIZE_NAMES
from mate_cli.config.bench import BenchConfig, GridConfig
from mate_cli.config.choices import one_for_each

GRID_KEYS = ("models", "sizes", "lengths", "batches", "layouts", "modes", "dtypes", "measures")

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
        length: tokens of an example, the longest one in ``mixed``.
        mode: ``forward``, or ``training`` for forward and backward.
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

    @property
    def dimensions(self) -> Size:
        return SIZES[self.size]

    @property
    def is_training(self) -> bool:
        return self.mode == "training"

    @property
    def series(self) -> tuple[str, str, int, str, str]:
        """The values that the points of one curve over the length share."""
        return self.size, self.layout, self.batch, self.mode, self.dtype

    def __str__(self) -> str:
        return f"{self.size} {self.mode} {self.dtype}, {self.layout} {self.batch} x {self.length}"


def documents(point: Point) -> list[Layout]:
    """Generate the tables of a point, each as a document, different in each place of the batch."""
    tables = []
    for number in range(point.batch):
        tokens, question, shape = point.length, QUESTION_TOKENS, point.layout
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
    """Join the grids of the suite, each with the lists that the command line gives."""
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
    axes = (grid.sizes, grid.modes, grid.dtypes, grid.layouts, grid.batches, sorted(grid.lengths))
    return [
        Point(size, config.layers, layout, length, batch, mode, dtype, device, config.seed)
        for size, mode, dtype, layout, batch, length in itertools.product(*axes)
    ]
