"""Ranking of the cells that may answer a question: PointR's selector (HybridQA)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from rich.table import Table as RichTable

from mate_cli.config.task import ScheduleConfig, TaskConfig
from mate_cli.kinds.accuracy import group_rows
from mate_cli.kinds.kind import AskedRun, HubCard, QuestionAnswering, Report, TaskKind
from mate_cli.metrics.baselines import expected_random_hits, tfidf_cell_ranking, tfidf_sentence_ranking
from mate_cli.metrics.cell_selection import KS, CellSelectionScores, Hits, example_places, score
from mate_cli.metrics.shares import lead_text, percent, share_text
from mate_cli.metrics.statistics import mean_interval, paired_bootstrap
from mate_cli.metrics.wtq import Value
from mate_cli.models.cell_selection import MateForCellSelection
from mate_cli.tables.table import Coordinate, Example, Table
from mate_cli.tasks.cell_selection import CellPrediction, CellSelection

Rankings = Mapping[str, Sequence[Coordinate]]


@dataclass(frozen=True)
class CellEvaluation:
    """Ranked cells for the questions of a split, and rankings without training.

    Attributes:
        baselines: name -> question id -> cells, best first; random_hits: k -> Hits@k of a random order.
    """

    examples: tuple[Example, ...]
    predictions: dict[str, CellPrediction]
    baselines: dict[str, dict[str, list[Coordinate]]]
    random_hits: dict[int, float]

    @classmethod
    def of(cls, run: AskedRun) -> CellEvaluation:
        examples, predictions = run.examples, run.predict()
        baselines = {
            "TF-IDF cell": tfidf_cell_ranking(examples),
            "TF-IDF sentence": tfidf_sentence_ranking(examples),
        }
        return cls(examples, predictions, baselines, expected_random_hits(examples))

    def report(self, label: str) -> Report:
        rankings = {example_id: prediction.cells for example_id, prediction in self.predictions.items()}
        record = score_record(self.examples, rankings, self.baselines, self.random_hits)
        if not record["questions"]:
            return Report(record)
        lead = (record["lead"]["over"], record["lead"]["mean"])
        return Report(record, score_table(f"{label}: Hits@k, per cent", record), score_summary(record), lead=lead)


def score_record(
    examples: Sequence[Example],
    model: Rankings,
    baselines: Mapping[str, Rankings],
    random_hits: Mapping[int, float],
) -> dict[str, Any]:
    """Scores of a model and its baselines on a split, as plain data (docs/notes.md, note 36).

    ``lead`` is the model's Hits@1 minus that of the best baseline, question by question, with its 95% interval.
    """
    answered = [example for example in examples if example.answers is not None]
    if not answered:
        return {"questions": 0}
    places = {name: example_places(answered, ranking) for name, ranking in {"model": model, **baselines}.items()}
    best = max(baselines, key=lambda name: float(np.mean(places[name] < 1)))
    return {
        "questions": len(answered),
        "model": _scores_record(score(examples, model)),
        "hits@1_interval": asdict(mean_interval(places["model"] < 1)),
        "baselines": {
            "random": {f"hits@{k}": random_hits[k] for k in KS},
            **{name: _hits_record(score(examples, ranking).overall) for name, ranking in baselines.items()},
        },
        "lead": {"over": best, **asdict(paired_bootstrap(places["model"] < 1, places[best] < 1))},
    }


def score_table(title: str, record: Mapping[str, Any]) -> RichTable:
    """The scores of the model, overall and by group, then those of the baselines."""
    table = RichTable(title=title)
    table.add_column("")
    for name in ("questions", *(f"Hits@{k}" for k in KS)):
        table.add_column(name, justify="right")
    model = record["model"]
    for name, hits in [("model", model["all"]), *group_rows(model), *record["baselines"].items()]:
        cells = (str(hits.get("questions", "")), *(percent(hits[f"hits@{k}"]) for k in KS)) if hits else ()
        table.add_row(name, *cells, style="bold" if name == "model" else "")
    return table


def score_summary(record: Mapping[str, Any]) -> str:
    """One line: Hits@1 and the lead over the best baseline, with intervals."""
    return f"Hits@1 {share_text(record['hits@1_interval'])}; {lead_text(record['lead'])}"


def _scores_record(scores: CellSelectionScores) -> dict[str, Any]:
    return {
        "all": _hits_record(scores.overall),
        "by_subset": {name: _hits_record(hits) for name, hits in scores.by_subset.items()},
        "by_reasoning": {name: _hits_record(hits) for name, hits in scores.by_reasoning.items()},
    }


def _hits_record(hits: Hits) -> dict[str, Any]:
    return {"questions": hits.questions, **{f"hits@{k}": value for k, value in hits.at.items()}}


def answer_record(question: str, table: Table, prediction: CellPrediction, top: int) -> dict[str, Any]:
    """The best ``top`` cells with their probabilities; rows and columns count from 0, without the header.

    ``margin`` is the probability of the first cell minus that of the second.
    """
    cells = cell_records(table, prediction.cells[:top], prediction.probabilities[:top])
    second = prediction.probabilities[1] if len(prediction.cells) > 1 else 0.0
    return {
        "question": question,
        "table": table.id,
        "answer": cells[0]["text"],
        "margin": round(prediction.probabilities[0] - second, 6),
        "cells": cells,
    }


def cell_records(table: Table, cells: Sequence[Coordinate], probabilities: Sequence[float]) -> list[dict[str, Any]]:
    """Cells as plain data, each with its text and header."""
    return [
        {
            "row": row,
            "column": column,
            "header": table.header[column].text,
            "text": table.rows[row][column].text,
            "probability": round(probability, 6),
        }
        for (row, column), probability in zip(cells, probabilities, strict=True)
    ]


def _task(config: TaskConfig, schedule: ScheduleConfig) -> CellSelection:
    return CellSelection(config.objective)  # type: ignore[arg-type]


def _chosen(prediction: CellPrediction) -> tuple[tuple[Coordinate, ...], str]:
    return prediction.cells[:1], ""


def _is_right(example: Example, prediction: CellPrediction, gold: Sequence[Value]) -> bool:
    return bool(prediction.cells) and prediction.cells[0] in example.candidates


KIND = TaskKind(
    model=MateForCellSelection,
    task=_task,
    evaluate=CellEvaluation.of,
    card=HubCard(
        pipeline="table-question-answering",
        does="It ranks the cells of a table by how likely each holds the answer to a question.",
        limit="It always points to a cell, also where no cell holds the answer.",
    ),
    answering=QuestionAnswering(answer_record, _chosen, _is_right),
    fixed_shape=True,
)
