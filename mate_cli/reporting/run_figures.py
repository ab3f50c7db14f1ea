"""Figures of runs as SVG: the scores of the runs of one task, the learning curves of one run."""

from __future__ import annotations

import io
import math
from collections.abc import Callable, Iterable, Mapping, Sequence

import matplotlib
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from mate_cli.metrics.statistics import spread
from mate_cli.runs.learning_curves import Curve, learning_curves
from mate_cli.runs.records import RunRecord

_MOST_POINTS = 200  # of a curve; neighbours are averaged beyond that
_KINDS = ("model", "ablation", "backbone", "schedule")


def score_picture(runs: Iterable[RunRecord]) -> bytes | None:
    """Draw the scores of the runs of a task; runs that differ by the seed alone share a line.

    A dot is a run, the stroke the median, the bar half the interquartile range to each side.

    Returns:
        an SVG file; None for fewer than two lines.
    """
    scored = [(run, run.headline) for run in runs if run.headline is not None]
    differing = [name for name in _KINDS if len({run.columns[name] for run, _ in scored}) > 1]
    scores: dict[str, list[float]] = {}
    for run, (_, score) in scored:
        scores.setdefault(", ".join(run.columns[name] for name in differing), []).append(100 * score)
    if len(scores) < 2:
        return None
    measure, size = scored[0][1][0], (6, 0.8 + 0.25 * len(scores))
    return _drawn(size, lambda figure: _score_lines(figure.subplots(), scores, measure))


def curve_picture(run: RunRecord) -> bytes | None:
    """Draw the loss and the dev scores of a run by step, as an SVG file; None for a run without a curve."""
    curves = {name: curve for name, curve in learning_curves(run.path / "metrics.csv").items() if len(curve) > 1}
    if not curves:
        return None
    return _drawn((6, 0.6 + 1.4 * len(curves)), lambda figure: _panels(figure, curves))


def averaged(curve: Curve, most: int = _MOST_POINTS) -> Curve:
    """A curve of at most ``most`` points, each the mean of equally many neighbours."""
    size = math.ceil(len(curve) / most) if curve else 1
    parts = (curve[start : start + size] for start in range(0, len(curve), size))
    return [(sum(x for x, _ in part) / len(part), sum(y for _, y in part) / len(part)) for part in parts]


def _score_lines(axes: Axes, scores: Mapping[str, Sequence[float]], measure: str) -> None:
    for place, line in enumerate(scores.values()):
        median, half_iqr = spread(line).median, spread(line).half_iqr or 0
        axes.barh(place, 2 * half_iqr, left=median - half_iqr, height=0.5, color="#ccd")
        axes.plot([median] * 2, [place - 0.3, place + 0.3], color="#c85200", linewidth=2)
        axes.plot(line, [place] * len(line), "o", color="#006ba4", markersize=4)
    axes.set_yticks(range(len(scores)), list(scores))
    axes.invert_yaxis()
    axes.set_xlabel(f"{measure}, per cent")
    axes.grid(axis="x", alpha=0.3)


def _panels(figure: Figure, curves: Mapping[str, Curve]) -> None:
    panels = figure.subplots(len(curves), 1, sharex=True, squeeze=False)[:, 0]
    for axes, (name, curve) in zip(panels, curves.items(), strict=True):
        axes.plot(*zip(*averaged(curve), strict=True), color="#006ba4", marker="" if name == "loss" else "o")
        axes.set_ylabel(name.replace("_", " "))
        axes.grid(alpha=0.3)
    panels[-1].set_xlabel("step")


def _drawn(size: tuple[float, float], draw: Callable[[Figure], None]) -> bytes:
    file = io.BytesIO()
    with matplotlib.rc_context({"font.size": 8, "svg.hashsalt": "mate", "text.parse_math": False}):
        figure = Figure(figsize=size, layout="constrained")
        draw(figure)
        figure.savefig(file, format="svg", metadata={"Date": None})
    return file.getvalue()
