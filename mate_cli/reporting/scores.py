"""Hits@k of a selector beside its baselines: numbers for files, a table for people."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from rich.table import Table as RichTable

from mate_cli.metrics.cell_selection import KS, CellSelectionScores, Hits, example_places, score
from mate_cli.metrics.statistics import mean_interval, paired_bootstrap
from mate_cli.reporting.shares import interval_record, percent
from mate_cli.tables.table import Coordinate, Example

Rankings = Mapping[str, Sequence[Coordinate]]


def score_record(
    examples: Sequence[Example],
    model: Rankings,
    baselines: Mapping[str, Rankings],
    random_hits: Mapping[int, float],
) -> dict[str, Any]:
    """Scores of a model and its baselines on a split, as plain data.

    ``lead`` is the model's Hits@1 less that of the best baseline, question by question, with its 95% bootstrap
    interval.
    """
    answered = [example for example in examples if example.answers is not None]
    if not answered:
        return {"questions": 0}
    places = {name: example_places(answered, ranking) for name, ranking in {"model": model, **baselines}.items()}
    best = max(baselines, key=lambda name: float(np.mean(places[name] < 1)))
    return {
        "questions": len(answered),
        "model": _scores_record(score(examples, model)),
        "hits@1_interval": interval_record(mean_interval(places["model"] < 1)),
        "baselines": {
            "random": {f"hits@{k}": random_hits[k] for k in KS},
            **{name: _hits_record(score(examples, ranking).overall) for name, ranking in baselines.items()},
        },
        "lead": {"over": best, **interval_record(paired_bootstrap(places["model"] < 1, places[best] < 1))},
    }


def score_table(title: str, record: Mapping[str, Any]) -> RichTable:
    """The record as a table: the model whole and by group, then the baselines."""
    table = RichTable(title=title)
    table.add_column("")
    table.add_column("questions", justify="right")
    for k in KS:
        table.add_column(f"Hits@{k}", justify="right")
    model = record["model"]
    _add_row(table, "model", model["all"], style="bold")
    for groups in (model["by_subset"], model["by_reasoning"]):
        for name, hits in groups.items():
            _add_row(table, f"  {name}", hits)
    for name, hits in record["baselines"].items():
        _add_row(table, name, hits)
    return table


def score_summary(record: Mapping[str, Any]) -> str:
    """One line: Hits@1 with its interval, and the lead over the best baseline with its own."""
    interval, lead = record["hits@1_interval"], record["lead"]
    return (
        f"Hits@1 {percent(interval['mean'])} (95% interval {percent(interval['low'])} to "
        f"{percent(interval['high'])}); {percent(lead['mean'])} points above {lead['over']} "
        f"({percent(lead['low'])} to {percent(lead['high'])})"
    )


def _add_row(table: RichTable, name: str, hits: Mapping[str, Any], style: str | None = None) -> None:
    count = str(hits.get("questions", ""))
    table.add_row(name, count, *(percent(hits[f"hits@{k}"]) for k in KS), style=style)


def _scores_record(scores: CellSelectionScores) -> dict[str, Any]:
    return {
        "all": _hits_record(scores.overall),
        "by_subset": {name: _hits_record(hits) for name, hits in scores.by_subset.items()},
        "by_reasoning": {name: _hits_record(hits) for name, hits in scores.by_reasoning.items()},
    }


def _hits_record(hits: Hits) -> dict[str, Any]:
    return {"questions": hits.questions, **{f"hits@{k}": value for k, value in hits.at.items()}}
