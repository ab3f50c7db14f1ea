"""Accuracies of a model beside rules that need no training: numbers for files, a table and a line for people."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from rich.table import Table as RichTable

from mate_cli.kinds.kind import Groups, Report, Right
from mate_cli.metrics.shares import interval_record, lead_text, percent, percent_interval
from mate_cli.metrics.statistics import mean_interval, paired_bootstrap


def accuracy_record(model: Right, baselines: Mapping[str, Right], groups: Groups | None = None) -> dict[str, Any]:
    """Accuracies as plain data: of the model with 95% intervals, and of the baselines.

    ``lead`` is, for each measure, the model's accuracy less that of the baseline that is best in it, question by
    question, with its interval.
    """
    groups = groups or {}
    return {
        "model": {
            name: {"number": len(right), **interval_record(mean_interval(right, groups.get(name)))}
            for name, right in model.items()
        },
        "baselines": {name: {own: float(np.mean(r)) for own, r in right.items()} for name, right in baselines.items()},
        "lead": {name: _lead(name, model, baselines, groups) for name in model},
    }


def accuracy_table(title: str, records: Mapping[str, Mapping[str, Any]]) -> RichTable:
    """Records of the same measures by the name of their model, one line each; then their baselines, each once."""
    first = next(iter(records.values()))
    table = RichTable(title=title)
    table.add_column("")
    for measure, own in first["model"].items():
        table.add_column(f"{measure}\n{own['number']}", justify="right")
    for name, record in records.items():
        table.add_row(name, *(percent(own["mean"]) for own in record["model"].values()), style="bold")
    baselines = {name: own for record in records.values() for name, own in record["baselines"].items()}
    for name, shares in baselines.items():
        table.add_row(name, *(percent(shares[measure]) for measure in first["model"]))
    return table


def accuracy_summary(record: Mapping[str, Any], measures: Sequence[str]) -> str:
    """One line: each of ``measures`` with its interval, and the lead over the best baseline with its own."""
    return "; ".join(_measure_summary(name, record["model"][name], record["lead"][name]) for name in measures)


def accuracy_report(record: dict[str, Any], title: str, measures: Sequence[str], submission: str = "") -> Report:
    """Report the record of one model; without a table and a line where the split is blind."""
    if not record["questions"]:
        return Report(record, submission=submission)
    table, summary = accuracy_table(title, {"model": record}), accuracy_summary(record, measures)
    return Report(record, table, summary, submission, accuracy_lead(record, measures))


def accuracy_lead(record: Mapping[str, Any], measures: Sequence[str]) -> tuple[str, float]:
    """The best baseline in the first of ``measures`` and how far the model is above it (``Report.lead``)."""
    lead = record["lead"][measures[0]]
    return lead["over"], lead["mean"]


def _measure_summary(name: str, own: Mapping[str, float], lead: Mapping[str, Any]) -> str:
    return (
        f"{name} {percent(own['mean'])} (95% interval {percent_interval(own['low'], own['high'])}), {lead_text(lead)}"
    )


def _lead(measure: str, model: Right, baselines: Mapping[str, Right], groups: Groups) -> dict[str, Any]:
    best = max(baselines, key=lambda name: float(np.mean(baselines[name][measure])))
    lead = paired_bootstrap(model[measure], baselines[best][measure], groups.get(measure))
    return {"over": best, **interval_record(lead)}
