"""Accuracies of a model and of baselines without training, from 0 to 1: plain data, tables and lines in per cent."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np
from numpy.typing import NDArray
from rich.table import Table as RichTable

from mate_cli.kinds.kind import Groups, Report, Right
from mate_cli.metrics.statistics import mean_interval, paired_bootstrap


def accuracy_record(model: Right, baselines: Mapping[str, Right], groups: Groups | None = None) -> dict[str, Any]:
    """Accuracies as plain data: of the model with 95% intervals, and of the baselines.

    ``lead`` is, for each measure, the model's accuracy minus that of the best baseline, question by question, with its
    interval.
    """
    groups = groups or {}
    return {
        "model": {
            name: {"number": len(right), **asdict(mean_interval(right, groups.get(name)))}
            for name, right in model.items()
        },
        "baselines": {
            name: {measure: float(np.mean(right)) for measure, right in baseline.items()}
            for name, baseline in baselines.items()
        },
        "lead": {
            name: lead_record(right, {other: baseline[name] for other, baseline in baselines.items()}, groups.get(name))
            for name, right in model.items()
        },
    }


def accuracy_report(
    record: dict[str, Any],
    title: str,
    measures: Sequence[str],
    submission: str = "",
    models: Mapping[str, str] | None = None,
) -> Report:
    """Report the accuracies of one or several models: a table, and a line with ``measures`` of the first model.

    Args:
        record: ``accuracy_record``, or several of them by name; only ``questions`` 0 for a blind split.
        models: name of a model -> the name of its ``accuracy_record``; None: ``record`` itself is the one.
    """
    if not record["questions"]:
        return Report(record, submission=submission)
    records = {"model": record} if models is None else {name: record[key] for name, key in models.items()}
    first = next(iter(records.values()))
    lines = [f"{name} {share_text(first['model'][name])}, {lead_text(first['lead'][name])}" for name in measures]
    lead = first["lead"][measures[0]]
    return Report(record, _accuracy_table(title, records), "; ".join(lines), submission, (lead["over"], lead["mean"]))


def _accuracy_table(title: str, records: Mapping[str, Mapping[str, Any]]) -> RichTable:
    """One line for each model, then one for each baseline."""
    measures = next(iter(records.values()))["model"]
    table = RichTable(title=title)
    table.add_column("")
    for measure, share in measures.items():
        table.add_column(f"{measure}\n{share['number']}", justify="right")
    for name, record in records.items():
        table.add_row(name, *(percent(share["mean"]) for share in record["model"].values()), style="bold")
    baselines = {name: shares for record in records.values() for name, shares in record["baselines"].items()}
    for name, shares in baselines.items():
        table.add_row(name, *(percent(shares[measure]) for measure in measures))
    return table


def grouped_table(title: str, record: Mapping[str, Any], measures: Mapping[str, str]) -> RichTable:
    """The scores of the model, overall and by group, then those of the baselines.

    Args:
        measures: heading of a column -> name of the score.
    """
    table = RichTable(title=title)
    table.add_column("")
    for heading in ("questions", *measures):
        table.add_column(heading, justify="right")
    model = record["model"]
    for name, scores in [("model", model["all"]), *group_rows(model), *record["baselines"].items()]:
        cells = (str(scores.get("questions", "")), *(percent(scores[m]) for m in measures.values())) if scores else ()
        table.add_row(name, *cells, style="bold" if name == "model" else "")
    return table


def group_rows(scores: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any] | None]]:
    """Rows of a table for the scores of groups: a heading without scores, then name and scores of each group.

    A kind of question with the name of a place of the answer, as "missing" in the sample, is left out.

    Args:
        scores: of a model, with ``by_subset`` and ``by_reasoning``: name -> scores.
    """
    places, kinds = scores["by_subset"], scores["by_reasoning"]
    known = {name.lower() for name in places}
    kinds = {name: group for name, group in kinds.items() if name.lower() not in known}
    for heading, groups in (("by place of the answer", places), ("by kind of question", kinds)):
        if groups:
            yield f"  {heading}", None
            yield from ((f"    {name}", group) for name, group in groups.items())


def percent(share: float) -> str:
    return f"{100 * share:.1f}"


def percent_interval(low: float, high: float) -> str:
    return f"{percent(low)} to {percent(high)}"


def share_text(share: Mapping[str, float]) -> str:
    """A share with its interval; ``share`` is an ``Interval`` as plain data."""
    return f"{percent(share['mean'])} (95% interval {percent_interval(share['low'], share['high'])})"


def lead_text(lead: Mapping[str, Any]) -> str:
    """A difference from the baseline ``over`` in words; ``mean``, ``low`` and ``high`` are of the difference."""
    side = "above" if lead["mean"] >= 0 else "below"
    interval = percent_interval(lead["low"], lead["high"])
    return f"{percent(abs(lead['mean']))} points {side} {lead['over']} (difference {interval})"


def lead_record(model: NDArray[np.bool_], baselines: Right, groups: NDArray[np.int64] | None = None) -> dict[str, Any]:
    """Return the model's accuracy minus that of the best baseline, question by question, with its 95% interval.

    Args:
        model, baselines: correctness of each question, bool ``[questions]``; groups: as in ``bootstrap``.
    """
    best = max(baselines, key=lambda name: float(np.mean(baselines[name])))
    return {"over": best, **asdict(paired_bootstrap(model, baselines[best], groups))}
