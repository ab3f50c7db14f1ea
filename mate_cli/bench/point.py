"""What is measured: points, each an encoder's size, a batch of tables and a way to run it."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import NamedTuple

from mate_cli.config.bench import BenchConfig, GridConfig

GRID_KEYS = ("models", "sizes", "lengths", "batches", "layouts", "modes", "dtypes", "measures")


class Size(NamedTuple):
    """Width of the states, attention heads, width of the feed-forward layer."""

    hidden: int
    heads: int
    intermediate: int


SIZES = {
    "tiny": Size(64, 4, 256),
    "minilm": Size(384, 12, 1536),
    "base": Size(768, 12, 3072),
    "large": Size(1024, 16, 4096),
}


@dataclass(frozen=True)
class Point:
    """One place where all contenders are compared; plain values, so that a subprocess can have it.

    Attributes:
        length: tokens of an example, the longest one in ``mixed``.
        mode: forward, or training, which is forward and backward.
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
        """What the points of one curve over the length share."""
        return self.size, self.layout, self.batch, self.mode, self.dtype

    def __str__(self) -> str:
        return f"{self.size} {self.mode} {self.dtype}, {self.layout} {self.batch} x {self.length}"


Wanted = dict[Point, dict[str, list[str]]]
"""For every point: what to measure (speed, flops, memory), and of which models."""


def wanted_points(config: BenchConfig, device: str) -> Wanted:
    """The points of all grids of the suite; a point of two grids is there once."""
    wanted: Wanted = {}
    for grid in config.suite.grids.values():
        for point, grid_of_point in _points(_overridden(grid, config), config, device):
            measures = wanted.setdefault(point, {})
            for measure in grid_of_point.measures:
                models = measures.setdefault(measure, [])
                models += [model for model in grid_of_point.models if model not in models]
    return wanted


def _overridden(grid: GridConfig, config: BenchConfig) -> GridConfig:
    """The grid with the lists that the command line gives."""
    given = {name: getattr(config, name) for name in GRID_KEYS}
    return GridConfig(**{name: getattr(grid, name) if value is None else value for name, value in given.items()})


def _points(grid: GridConfig, config: BenchConfig, device: str) -> list[tuple[Point, GridConfig]]:
    axes = (grid.sizes, grid.modes, grid.dtypes, grid.layouts, grid.batches, sorted(grid.lengths))
    return [
        (Point(size, config.layers, layout, length, batch, mode, dtype, device, config.seed), grid)
        for size, mode, dtype, layout, batch, length in itertools.product(*axes)
    ]
