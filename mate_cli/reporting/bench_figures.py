"""Figures 4, 5 and 6 of the paper from measured records: time, FLOPs and memory against the length."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import NullLocator

from mate_cli.bench.findings import Series, Value, curves, point_of, xy
from mate_cli.bench.measure import Record
from mate_cli.bench.point import SIZES, Point
from mate_cli.config.bench import LAYOUTS, MODES
from mate_cli.config.choices import one_for_each

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


class Look(NamedTuple):
    """Name and line of a model, the same in every figure."""

    name: str
    colour: str
    line: str = "-"


# Colours that colour-blind people can tell apart (tableau-colorblind10); MATE has the strongest, the limit is grey.
_LOOKS = {
    "mate": Look("MATE", "#006ba4"),
    "mate_bucketed": Look("MATE, bucketed", "#ff800e"),
    "mate_dense": Look("MATE, dense mask", "#006ba4", ":"),
    "limit": Look("no attention", "#595959", ":"),
    "hf_tapas": Look("TAPAS, Hugging Face", "#c85200"),
    "tapas": Look("TAPAS", "#c85200", "--"),
    "dense_sdpa": Look("full, fused kernel", "#c85200", ":"),
    "sat": Look("SAT", "#a2c8ec", "--"),
    "transformer_xl": Look("Transformer-XL", "#595959"),
    "reformer": Look("Reformer", "#898989"),
    "linformer": Look("Linformer", "#5f9ed1"),
    "bigbird": Look("BigBird", "#a2c8ec"),
    "etc": Look("ETC", "#ffbc79"),
    "table_etc": Look("TableETC", "#ffbc79", "--"),
}
_SIZES = one_for_each(
    SIZES,
    {"tiny": "a tiny encoder", "minilm": "MiniLM's size", "base": "BERT-base's size", "large": "BERT-large's size"},
)
_PASSES = one_for_each(MODES, {"forward": "forward pass", "training": "forward and backward pass"})
_TABLES = one_for_each(
    LAYOUTS,
    {
        "grid": "6 columns",
        "long": "4 columns",
        "wide": "6 rows",
        "square": "as many columns as rows",
        "column": "one column",
        "columns_2": "2 columns",
        "columns_20": "20 columns",
        "columns_40": "40 columns",
        "mixed": "tables of unequal length",
        "hybridqa": "tables of HybridQA's sizes",
        "sqa": "tables of SQA's sizes",
        "wtq": "tables of WikiTableQuestions' sizes",
        "tabfact": "tables of TabFact's sizes",
    },
)
_LEAST_GAP = 0.045  # between two labels, as a share of the height


def draw_figures(results: Mapping[str, Any], folder: Path, only: str | None = None) -> list[Path]:
    """Draw a PNG for each axis and each series of at least two lengths; return the files in order.

    Args:
        results: the content of ``results.json``.
        only: the name of one axis.
    """
    by_series: dict[Series, dict[str, list[Record]]] = {}
    for (series, model), curve in curves(results.get("records", ())).items():
        by_series.setdefault(series, {})[model] = curve
    machine = ", ".join(machine_words(results.get("device", {})))
    return [
        _draw(folder, axis, series, shown, machine)
        for series, models in by_series.items()
        for axis in AXES
        if only in (None, axis.name)
        and (shown := {m: curve for m, curve in models.items() if len(xy(curve, axis.value)[0]) > 1})
    ]


def machine_words(device: Mapping[str, Any]) -> list[str]:
    """Name the processor, its instructions and the threads, as far as they are recorded."""
    threads = f"{device['threads']} threads" if "threads" in device else None
    return [word for word in (device.get("gpu") or device.get("cpu"), device.get("instructions"), threads) if word]


def series_name(series: Sequence[object]) -> str:
    size, layout, batch, mode, dtype = series
    return f"{size}, {mode}, {dtype}, {layout}, batch {batch}"


def look_of(model: str) -> Look:
    """Return the look of a model; ``MODEL@BACKEND`` has its model's colour, dashed."""
    name, _, backend = model.partition("@")
    look = _LOOKS.get(name, Look(name, "#898989", "-."))
    return look._replace(name=f"{look.name}, {backend}", line="--") if backend else look


def title_of(point: Point) -> str:
    """What was measured, in words."""
    size, bits = (
        _SIZES.get(point.size, f"an encoder of {point.size}"),
        "32 bits" if point.dtype == "fp32" else "16 bits",
    )
    dropout = [f"attention dropout {point.dropout:g}"] if point.dropout else []
    tables = f"batches of {point.batch}, {_TABLES[point.layout]}" if point.batch > 1 else _TABLES[point.layout]
    return ", ".join([size, _PASSES[point.mode], bits, *dropout, tables])


def _draw(folder: Path, axis: Axis, series: Series, models: dict[str, list[Record]], machine: str) -> Path:
    """Draw the curves twice, on linear and on logarithmic axes, with their names at the end of the latter."""
    figure = Figure(figsize=(10, 4), layout="constrained")
    FigureCanvasAgg(figure)
    linear, logarithmic = figure.subplots(1, 2)
    for axes in (linear, logarithmic):
        for model, curve in models.items():
            _plot(axes, axis, model, curve)
        axes.set_xlabel("sequence length (tokens)")
    linear.set(ylabel=axis.label, xlim=(0, None), ylim=(0, _top(axis, models)))
    linear.locator_params("x", nbins=6)
    logarithmic.set(xscale="log", yscale="log")
    logarithmic.set_xticks(sorted({int(record["length"]) for curve in models.values() for record in curve}))
    logarithmic.xaxis.set_major_formatter("{x:.0f}")
    logarithmic.xaxis.set_minor_locator(NullLocator())
    _label(logarithmic, {model: xy(curve, axis.value)[1][-1] for model, curve in models.items()})
    point = point_of(next(iter(models.values()))[0])
    figure.suptitle("; ".join(filter(None, (title_of(point), machine))), fontsize=9)
    size, layout, batch, mode, dtype = series
    path = folder / f"{axis.name}-{size}-{mode}-{dtype}-{layout}-b{batch}.png"
    figure.savefig(path, dpi=150)
    return path


def _plot(axes: Axes, axis: Axis, model: str, curve: list[Record]) -> None:
    """Draw one model; between the quartiles of its times a band."""
    lengths, values = xy(curve, axis.value)
    look, (width, order) = look_of(model), (2.5, 3) if model == "mate" else (1.2, 2)
    axes.plot(
        lengths, values, marker="o", markersize=3, color=look.colour, linestyle=look.line, linewidth=width, zorder=order
    )
    if axis.name == "figure4-time":
        timed = [record["seconds"] for record in curve if "seconds" in record]
        low, high = ([seconds[quartile] for seconds in timed] for quartile in ("q1", "q3"))
        axes.fill_between(lengths, low, high, color=look.colour, alpha=0.2, linewidth=0)


def _label(axes: Axes, last: dict[str, float]) -> None:
    """Write the names of the models beside their last values, in that order and apart enough to be read."""
    low, high = np.log(axes.get_ylim())
    models = sorted(last, key=lambda name: last[name])
    ends = [(np.log(last[model]) - low) / (high - low) for model in models]
    places: list[float] = []
    for end in ends:
        places.append(max(end, places[-1] + _LEAST_GAP) if places else end)
    down = np.mean(places) - np.mean(ends)
    for model, place in zip(models, places, strict=True):
        look, weight = look_of(model), "bold" if model == "mate" else "normal"
        axes.text(
            1.02, place - down, look.name, transform=axes.transAxes, va="center", fontsize=8, color=look.colour,
            fontweight=weight
        )  # fmt: skip


def _top(axis: Axis, models: dict[str, list[Record]]) -> float:
    """Upper end of the vertical axis: the highest value, but at most ``_TOP`` times the limit's highest."""
    highest = {model: max(xy(curve, axis.value)[1]) for model, curve in models.items()}
    return 1.05 * min(max(highest.values()), _TOP * highest.get("limit", max(highest.values())))
