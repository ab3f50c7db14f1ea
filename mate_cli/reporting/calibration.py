"""The calibration of a run's probabilities as tables, lines and a section of its model card."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from rich.table import Table as RichTable

from mate_cli.config.task import EXPANSIONS
from mate_cli.inference.calibration import Calibration
from mate_cli.metrics.calibration import Answered
from mate_cli.reporting.templates import render

_LABEL = re.compile(rf"(\w+)(-data-\w+)?(?:-(\d+))?(?:-({'|'.join(EXPANSIONS)}))?(-unseen)?")


def calibration_table(calibration: Calibration) -> RichTable:
    """The measures of each map, fitted without the table of the question; the kept one bold."""
    measures = calibration.measures
    title = f"{measures['questions']} questions on {measures['tables']} tables, {measures['right']:.1%} right"
    table = RichTable("", "calibration error", "log loss", title=title)
    for name, errors in measures["methods"].items():
        style = "bold" if name == calibration.map.method else None
        table.add_row(name, f"{errors['calibration_error']:.3f}", f"{errors['log_loss']:.3f}", style=style)
    return table


def threshold_line(calibration: Calibration) -> str:
    """The threshold, and what it leaves of the questions of the fit."""
    if calibration.threshold is None:
        return f"no threshold leaves {calibration.accuracy:.0%} right answers; set a lower calibrate="
    kept = at_threshold(calibration)
    return (
        f"calibration.json: threshold {calibration.threshold:.3f} answers {kept.coverage:.1%} of the questions, "
        f"{kept.accuracy:.1%} of these right"
    )


def cells_line(calibration: Calibration) -> str:
    """The calibration error of the chosen cells without and with the map, or why they have none."""
    if calibration.cells is None:
        return "cells: too few of the answers' cells are known; their probabilities stay the model's"
    methods = calibration.measures["cells"]["methods"]
    before, after = (methods[name]["calibration_error"] for name in ("none", calibration.cells.method))
    return f"cells: calibration error {before:.3f} without, {after:.3f} with a map of their own"


def at_threshold(calibration: Calibration) -> Answered:
    """What the threshold left of the questions of the fit."""
    return Answered(**calibration.measures["at_threshold"])


def measured_line(measures: Mapping[str, Any]) -> str:
    """The measures of other questions (``mate_cli.inference.trust.measured``)."""
    line = f"calibration error {measures['error_before']:.3f} without, {measures['error']:.3f} with calibration.json"
    if "coverage" not in measures:
        return line
    right = measures["accuracy"]
    share = "" if right is None else f", right {_share(right)}"
    return f"{line}; above its threshold {measures['coverage']:.1%} of the questions{share}"


def unanswered_table(split: str, measures: Mapping[str, Any]) -> RichTable:
    """The measures of ``mate_cli.inference.trust.unanswered``."""
    table = RichTable("", "no answer", title=f"{split}: {measures['questions']} questions that cells answer")
    table.add_row("whole tables", _share(measures["whole"]))
    table.add_row("without the rows of the answer", _share(measures["removed"]), style="bold")
    for kind, share in measures["by_kind"].items():
        table.add_row(f"  {kind}", f"{share:.1%}")
    return table


def calibration_card(calibration: Calibration) -> str:
    """The section of a model card, in Markdown."""
    kept = None if calibration.threshold is None else at_threshold(calibration)
    return render(
        "calibration.md",
        calibration=calibration,
        measures=calibration.measures,
        kept=kept,
        measured=calibration.measures.get("measured", {}),
        share=_share,
        words=lambda label: _words(label, calibration.measures["seen"]),
    )


def _words(label: str, seen: Sequence[str]) -> str:
    """The words of ``mate evaluate`` behind the label of an evaluation (``mate_cli.commands.evaluate``)."""
    parts = _LABEL.fullmatch(label)
    if parts is None:
        return f"split={label}"
    split, data, tokens, expansion, unseen = parts.groups()
    others = {"max_tokens": tokens, "expansion": expansion, "data_dir": data and "DATA"}
    others["seen"] = f"[{','.join(seen)}]" if unseen and seen else None
    return " ".join(f"{name}={value}" for name, value in {"split": split, **others}.items() if value)


def _share(interval: Mapping[str, float]) -> str:
    return f"{interval['mean']:.1%} ({interval['low']:.1%} to {interval['high']:.1%})"
