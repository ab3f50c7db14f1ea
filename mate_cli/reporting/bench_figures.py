"""The paper's figures 4, 5 and 6 from measured records: time, FLOPs and memory against the length."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

import matplotlib.style
from cycler import cycler
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from mate_cli.bench.findings import Series, Value, curves, xy

# Curves that grow faster leave the picture at the top, as TableETC does in the paper's figure 5.
_TOP = 6


class Axis(NamedTuple):
    """What a figure shows: name of its file, label, and value of a record in that unit."""

    name: str
    label: str
    value: Value


AXES = (
    Axis("figure4-time", "time of a pass (s)", lambda r: r["seconds"]["median"] if "seconds" in r else None),
    Axis("figure5-flops", "GFLOP", lambda r: r["flops"]["counted"] / 1e9 if "counted" in r.get("flops", {}) else None),
    Axis("figure6-memory", "peak memory (MiB)", lambda r: r["peak_bytes"] / 2**20 if "peak_bytes" in r else None),
)


# Ten colours that colour-blind people tell apart, then the same dashed.
_LINES = cycler(linestyle=["-", "--"]) * matplotlib.style.library["tableau-colorblind10"]["axes.prop_cycle"]


def draw_figures(records: Iterable[dict[str, Any]], folder: Path, only: str | None = None) -> list[Path]:
    """A PNG for each axis, or the one of that name, and series of two lengths or more; returns them in order."""
    by_series: dict[Series, dict[str, list[dict[str, Any]]]] = {}
    for (series, model), curve in curves(records).items():
        by_series.setdefault(series, {})[model] = curve
    return [
        _draw(folder, axis, series, points)
        for series, models in by_series.items()
        for axis in AXES
        if only in (None, axis.name)
        and (points := {m: xy(curve, axis.value) for m, curve in models.items() if len(xy(curve, axis.value)[0]) > 1})
    ]


def _draw(folder: Path, axis: Axis, series: Series, points: dict[str, tuple[list[int], list[float]]]) -> Path:
    figure = Figure(figsize=(7, 4), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.subplots()
    axes.set_prop_cycle(_LINES)
    for model in sorted(points, key=lambda name: not name.startswith("mate")):  # ours have the strongest colours
        axes.plot(*points[model], marker="o", markersize=3, label=model)
    size, layout, batch, mode, dtype = series
    axes.set(xlabel="sequence length", ylabel=axis.label, xlim=(0, None), ylim=(0, _top(points)))
    axes.set_title(f"{size}, {mode}, {dtype}, {layout}, batch {batch}", fontsize=9)
    figure.legend(fontsize=8, loc="outside right upper")
    path = folder / f"{axis.name}-{size}-{mode}-{dtype}-{layout}-b{batch}.png"
    figure.savefig(path, dpi=150)
    return path


def _top(points: dict[str, tuple[list[int], list[float]]]) -> float:
    """Top of the picture: all of it, but no more than ``_TOP`` times the limit's highest."""
    highest = max(max(values) for _, values in points.values())
    limit = max(points["limit"][1]) if "limit" in points else highest
    return 1.05 * min(highest, _TOP * limit)
