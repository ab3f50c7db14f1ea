"""Ranking of the cells that may answer a question: PointR's selector (HybridQA)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from mate_cli.kinds.accuracy import grouped_table, lead_record, lead_text, share_text
from mate_cli.kinds.kind import HubCard, QuestionAnswering, Report, TaskKind
from mate_cli.metrics.baselines import expected_random_hits, tfidf_cell_ranking, tfidf_sentence_ranking
from mate_cli.metrics.cell_selection import KS, example_places, score
from mate_cli.metrics.statistics import mean_interval
from mate_cli.models.cell_selection import MateForCellSelection
from mate_cli.tables.table import Coordinate, Example, Table
from mate_cli.tasks.cell_selection import CellPrediction, CellSelection

HITS = {f"Hits@{k}": f"hits@{k}" for k in KS}


@dataclass(frozen=True)
class CellEvaluation:
    """Ranked cells for the questions of a split."""

    examples: tuple[Example, ...]
    predictions: dict[str, CellPrediction]

    def report(self, label: str) -> Report:
        rankings = {example_id: prediction.cells for example_id, prediction in self.predictions.items()}
        record = score_record(self.examples, rankings)
        if not record["questions"]:
            return Report(record)
        table, lead = grouped_table(f"{label}: Hits@k, per cent", record, HITS), record["lead"]
        summary = f"Hits@1 {share_text(record['hits@1_interval'])}; {lead_text(lead)}"
        return Report(record, table, summary, lead=(lead["over"], lead["mean"]))


def score_record(examples: Sequence[Example], model: Mapping[str, Sequence[Coordinate]]) -> dict[str, Any]:
    """Scores of a model and of rankings without training, as plain data (docs/notes.md, note 36).

    ``lead`` is ``lead_record`` of Hits@1.
    """
    answered = [example for example in examples if example.answers is not None]
    if not answered:
        return {"questions": 0}
    baselines = {"TF-IDF cell": tfidf_cell_ranking(examples), "TF-IDF sentence": tfidf_sentence_ranking(examples)}
    first_is_right = example_places(answered, model) < 1
    return {
        "questions": len(answered),
        "model": score(examples, model),
        "hits@1_interval": asdict(mean_interval(first_is_right)),
        "baselines": {
            "random": {f"hits@{k}": share for k, share in expected_random_hits(examples).items()},
            **{name: score(examples, ranking)["all"] for name, ranking in baselines.items()},
        },
        "lead": lead_record(first_is_right, {name: example_places(answered, r) < 1 for name, r in baselines.items()}),
    }


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
    """Return ``cell_record`` of cells with their probabilities."""
    return [
        {**cell_record(table, cell), "probability": round(probability, 6)}
        for cell, probability in zip(cells, probabilities, strict=True)
    ]


def cell_record(table: Table, cell: Coordinate) -> dict[str, Any]:
    """Return a body cell as plain data, with its header and text; rows and columns count from 0."""
    row, column = cell
    return {"row": row, "column": column, "header": table.header[column].text, "text": table.rows[row][column].text}


KIND = TaskKind(
    model=MateForCellSelection,
    task=lambda config, schedule: CellSelection(config.objective),  # type: ignore[arg-type]
    evaluate=lambda run: CellEvaluation(run.examples, run.predict()),
    card=HubCard(
        pipeline="table-question-answering",
        does="It ranks the cells of a table by how likely each holds the answer to a question.",
        limit="It always points to a cell, also where no cell holds the answer.",
    ),
    answering=QuestionAnswering(
        record=answer_record,
        chosen=lambda prediction: (prediction.cells[:1], ""),
        is_right=lambda example, prediction, gold: any(cell in example.candidates for cell in prediction.cells[:1]),
    ),
)
