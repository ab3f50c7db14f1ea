"""A whole bench: every point of a suite, one after the other."""

from __future__ import annotations

from typing import Self

import torch

from mate_cli.bench.budget import Budget
from mate_cli.bench.contenders import contender, contenders
from mate_cli.bench.measure import Record, measure
from mate_cli.bench.memory import MemoryServer
from mate_cli.bench.point import Point, Wanted, wanted_points
from mate_cli.bench.results import Results
from mate_cli.config.bench import BenchConfig
from mate_cli.system.errors import UserError


class Bench:
    """The points of a suite and what was measured of them; use as a context.

    Raises:
        UserError: a model, the device or the folder is not there.
    """

    def __init__(self, config: BenchConfig) -> None:
        device = resolve_device(config.device)
        self.wanted = with_names(wanted_points(config, device))
        torch.set_num_threads(config.threads or torch.get_num_threads())
        self.results = Results(config, device)
        self.results.claim(config.overwrite, config.resume)
        self.missing = [point for point in self.wanted if not self.results.has(point)]
        self._suite = config.suite
        self._budget = Budget(config.suite.call_seconds, config.memory, device)
        self._server = MemoryServer(torch.get_num_threads())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._server.close()
        self.results.release()

    def measure(self, point: Point) -> list[Record]:
        """Measure one of ``wanted`` that no earlier sitting measured, and keep it in the results."""
        records = measure(point, self.wanted[point], self._suite, self._budget, self._server)
        self.results.add(records)
        return records


def with_names(wanted: Wanted) -> Wanted:
    """The points with ``all`` replaced by the name of every contender.

    Raises:
        UserError: a name that does not exist.
    """
    every = list(contenders())
    named: Wanted = {}
    for point, measures in wanted.items():
        named[point] = {
            measure: list(dict.fromkeys(name for model in models for name in (every if model == "all" else [model])))
            for measure, models in measures.items()
        }
    for name in {name for measures in named.values() for models in measures.values() for name in models}:
        contender(name)
    return named


def resolve_device(name: str) -> str:
    """``cpu`` or ``cuda``; auto takes a GPU where there is one.

    Raises:
        UserError: there is no GPU.
    """
    if name == "cuda" and not torch.cuda.is_available():
        raise UserError("device=cuda: PyTorch sees no GPU here; mate doctor says more")
    return "cuda" if name != "cpu" and torch.cuda.is_available() else "cpu"
