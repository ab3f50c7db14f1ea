"""Figures 4, 5 and 6 of the paper from measured records: time, FLOPs and memory against the length."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import matplotlib.style
from cycler import cycler
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from mate_cli.bench.findings import Series, Value, curves, xy

# Steeper curves leave the figure at the top, as TableETC's does in figure 5 of the paper.
_TOP = 6


class Axis(NamedTuple):
    """The vertical axis of a figure: the name of its file, a label, and the value of a record in that unit."""

    name: str
    label: str
    value: Value


AXES = (
    Axis("figure4-time", "time of a pass (s)", lambda r: r["seconds"]["median"] if "seconds" in r else None),
    Axis("figure5-flops", "GFLOP", lambda r: r["flops"]["counted"] / 1e9 if "counted" in r.get("flops", {}) else None),
    Axis("figure6-memory", "peak memory (MiB)", lambda r: r["peak_bytes"] / 2**20 if "peak_bytes" in r else None),
)


# Ten colours that colour-blind people can tell apart, then the same dashed.
_LINES = cycler(linestyle=["-", "--"]) * matplotlib.style.library["tableau-colorblind10"]["axes.prop_cycle"]


def draw_figures(records: Iterable[dict[str, Any]], folder: Path, only: str | None = None) -> list[Path]:
    """Draw a PNG for each axis and each series of at least two lengths; return the files in order.

    Args:
        only: the name of one axis.
    """
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


def series_name(series: Sequence[object]) -> str:
    size, layout, batch, mode, dtype = series
    return f"{size}, {mode}, {dtype}, {layout}, batch {batch}"


def _draw(folder: Path, axis: Axis, series: Series, points: dict[str, tuple[list[int], list[float]]]) -> Path:
    figure = Figure(figsize=(7, 4), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.subplots()
    axes.set_prop_cycle(_LINES)
    for model in sorted(points, key=lambda name: not name.startswith("mate")):  # ours have the strongest colours
        axes.plot(*points[model], marker="o", markersize=3, label=model)
    axes.set(xlabel="sequence length", ylabel=axis.label, xlim=(0, None), ylim=(0, _top(points)))
    axes.set_title(series_name(series), fontsize=9)
    figure.legend(fontsize=8, loc="outside right upper")
    size, layout, batch, mode, dtype = series
    path = folder / f"{axis.name}-{size}-{mode}-{dtype}-{layout}-b{batch}.png"
    figure.savefig(path, dpi=150)
    return path


def _top(points: dict[str, tuple[list[int], list[float]]]) -> float:
    """Upper end of the vertical axis: the highest value, but at most ``_TOP`` times the limit's highest."""
    highest = max(max(values) for _, values in points.values())
    limit = max(points["limit"][1]) if "limit" in points else highest
    return 1.05 * min(highest, _TOP * limit)
