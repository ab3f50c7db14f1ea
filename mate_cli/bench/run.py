"""Run the points of a suite one after the other."""

from __future__ import annotations

from typing import Self

import torch

from mate_cli.bench.contenders import contender, contenders
from mate_cli.bench.measure import Record, measure
from mate_cli.bench.measured_run import with_run
from mate_cli.bench.memory import MemoryServer
from mate_cli.bench.point import Measures, Point, suite_points
from mate_cli.bench.results import Results
from mate_cli.bench.work import Budget
from mate_cli.config.bench import BenchConfig
from mate_cli.system.errors import UserError


class Bench:
    """The points of a suite and their results; a context manager.

    Raises:
        UserError: a model or the device does not exist, or the folder cannot be used.
    """

    def __init__(self, config: BenchConfig) -> None:
        config = with_run(config)
        device = resolve_device(config.device)
        self.points = with_names(suite_points(config, device))
        torch.set_num_threads(config.threads or torch.get_num_threads())
        self.results = Results(config, device)
        self.results.claim(config.overwrite, config.resume)
        self.missing = [point for point in self.points if not self.results.has(point)]
        self._suite = config.suite
        self._budget = Budget(config.suite.call_seconds, config.memory, device)
        self._server = MemoryServer(torch.get_num_threads())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._server.close()
        self.results.release()

    def measure(self, point: Point) -> list[Record]:
        """Measure one of ``missing`` and add it to the results."""
        records = measure(point, self.points[point], self._suite, self._budget, self._server)
        self.results.add(records)
        return records


def with_names(points: dict[Point, Measures]) -> dict[Point, Measures]:
    """Replace the model ``all`` by the names of all contenders.

    Raises:
        UserError: a name that does not exist.
    """
    every = list(contenders())

    def names(models: list[str]) -> list[str]:
        return list(dict.fromkeys(name for model in models for name in (every if model == "all" else [model])))

    named = {point: {key: names(models) for key, models in measures.items()} for point, measures in points.items()}
    for name in {name for measures in named.values() for models in measures.values() for name in models}:
        contender(name)
    return named


def resolve_device(name: str) -> str:
    """Return ``cpu`` or ``cuda``; ``auto`` takes a GPU if there is one.

    Raises:
        UserError: there is no GPU.
    """
    if name == "cuda" and not torch.cuda.is_available():
        raise UserError("device=cuda: PyTorch finds no GPU; run mate doctor")
    return "cuda" if name != "cpu" and torch.cuda.is_available() else "cpu"
