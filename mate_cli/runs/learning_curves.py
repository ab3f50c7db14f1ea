"""Read ``metrics.csv``, the learning curves of a run."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterator
from pathlib import Path

Curve = list[tuple[float, float]]
"""Pairs of a step and a value."""


def learning_curves(file: Path) -> dict[str, Curve]:
    """The loss and the dev scores that training logged; a line that a kill cut off is skipped."""
    curves: dict[str, Curve] = {}
    try:
        lines = list(csv.DictReader(io.StringIO(file.read_text(encoding="utf-8"))))
    except (OSError, ValueError):
        return curves
    for line in lines:
        for name, text in line.items():
            if name is not None and (name == "loss" or name.startswith("dev_")):
                curves.setdefault(name, []).extend(_point(line.get("step"), text))
    return curves


def _point(step: str | None, value: str | None) -> Iterator[tuple[float, float]]:
    try:
        point = float(step or ""), float(value or "")
    except ValueError:
        return
    if all(map(math.isfinite, point)):
        yield point
