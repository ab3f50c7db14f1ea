"""Figures 4, 5 and 6 of the paper from measured records: time, FLOPs and memory against the length."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import matplotlib.style
from cycler import cycler
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import NullLocator

from mate_cli.bench.findings import Series, Value, curves, xy
from mate_cli.bench.measure import Record

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
    by_series: dict[Series, dict[str, list[Record]]] = {}
    for (series, model), curve in curves(records).items():
        by_series.setdefault(series, {})[model] = curve
    return [
        _draw(folder, axis, series, shown)
        for series, models in by_series.items()
        for axis in AXES
        if only in (None, axis.name)
        and (shown := {m: curve for m, curve in models.items() if len(xy(curve, axis.value)[0]) > 1})
    ]


def series_name(series: Sequence[object]) -> str:
    size, layout, batch, mode, dtype = series
    return f"{size}, {mode}, {dtype}, {layout}, batch {batch}"


def _draw(folder: Path, axis: Axis, series: Series, models: dict[str, list[Record]]) -> Path:
    """Draw the curves twice, on linear and on logarithmic axes."""
    figure = Figure(figsize=(10, 4), layout="constrained")
    FigureCanvasAgg(figure)
    linear, logarithmic = figure.subplots(1, 2)
    for axes in (linear, logarithmic):
        axes.set_prop_cycle(_LINES)
        # Ours have the strongest colours.
        for model in sorted(models, key=lambda name: (name != "mate", not name.startswith("mate"))):
            _plot(axes, axis, model, models[model])
        axes.set_xlabel("sequence length (tokens)")
    linear.set(ylabel=axis.label, xlim=(0, None), ylim=(0, _top(axis, models)))
    linear.locator_params("x", nbins=6)
    logarithmic.set(xscale="log", yscale="log")
    logarithmic.set_xticks(sorted({int(record["length"]) for curve in models.values() for record in curve}))
    logarithmic.xaxis.set_major_formatter("{x:.0f}")
    logarithmic.xaxis.set_minor_locator(NullLocator())
    figure.suptitle(series_name(series), fontsize=9)
    figure.legend(*linear.get_legend_handles_labels(), fontsize=8, loc="outside right upper")
    size, layout, batch, mode, dtype = series
    path = folder / f"{axis.name}-{size}-{mode}-{dtype}-{layout}-b{batch}.png"
    figure.savefig(path, dpi=150)
    return path


def _plot(axes: Axes, axis: Axis, model: str, curve: list[Record]) -> None:
    """Draw one model; between the quartiles of its times a band."""
    lengths, values = xy(curve, axis.value)
    width = 2.5 if model == "mate" else 1.2
    (line,) = axes.plot(lengths, values, marker="o", linewidth=width, markersize=3, label=model)
    if axis.name == "figure4-time":
        timed = [record["seconds"] for record in curve if "seconds" in record]
        low, high = ([seconds[quartile] for seconds in timed] for quartile in ("q1", "q3"))
        axes.fill_between(lengths, low, high, color=line.get_color(), alpha=0.2, linewidth=0)


def _top(axis: Axis, models: dict[str, list[Record]]) -> float:
    """Upper end of the vertical axis: the highest value, but at most ``_TOP`` times the limit's highest."""
    highest = {model: max(xy(curve, axis.value)[1]) for model, curve in models.items()}
    return 1.05 * min(max(highest.values()), _TOP * highest.get("limit", max(highest.values())))
