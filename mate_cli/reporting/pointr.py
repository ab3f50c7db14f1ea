"""Answers of a PointR pipeline or of a file: records, and exact match and F1 by the place of the answer (table 5)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from itertools import combinations
from typing import Any

from rich.table import Table as RichTable

from mate_cli.inference.answer_split import Answers
from mate_cli.metrics.hybridqa import GROUPS, AnswerScores, answer_scores, exact_match, f1
from mate_cli.metrics.statistics import mean_interval, paired_bootstrap
from mate_cli.reporting.grid import terminal_table
from mate_cli.reporting.published import Figure, Published
from mate_cli.runs.folder import RunFolder
from mate_cli.system.files import write_json_lines, write_text
from mate_cli.tables.prediction_files import submission_text
from mate_cli.tasks.pointr import choose

_MEASURES = {"exact": "EM", "f1": "F1"}


def write_answers(folder: RunFolder, split: str, mark: str, answers: Answers) -> dict[str, Any]:
    """Write submission, records, scores and a weight fitted here to a folder.

    Args:
        mark: of the data, which their names get too (``runs.other_data``).

    Returns:
        ``answers_record`` with the ``limit`` of the questions, null for a whole split.
    """
    predictions = answers.predictions(list(answers.numbers)[-1])
    record = {**answers_record(answers), "limit": answers.limit}
    write_text(folder.path / f"predictions-{split}{mark}.json", submission_text(predictions))
    write_json_lines(folder.path / f"records-{split}{mark}.jsonl", question_records(answers))
    folder.write_metrics(f"{split}{mark}", record)
    if answers.fit is not None:
        exact = {f"{weight:g}": share for weight, share in answers.fit.exact.items()}
        folder.write_metrics(f"weight{mark}", {"value": answers.weight, "questions": len(answers.gold), "exact": exact})
    return record


def question_records(answers: Answers) -> Iterator[dict[str, Any]]:
    """One record for each question that has a table: gold, prediction, scores and the cells read, in rank order.

    ``chosen`` is the index of the answer's cell in ``cells``, null if no cell was read; ``joint`` is
    p(cell) * p(span | cell)^weight; ``start`` and ``end`` count characters of the cell's reading text.
    """
    predictions = answers.predictions(list(answers.numbers)[-1])
    for example in answers.examples:
        gold, cells, prediction = example.answers, answers.cells[example.id], predictions[example.id]
        yield {
            "id": example.id,
            "question": example.question,
            "table_id": example.table.id,
            "subset": example.subset,
            "gold": None if gold is None else list(gold),
            "prediction": prediction,
            "exact": None if gold is None else exact_match(prediction, gold),
            "f1": None if gold is None else f1(prediction, gold),
            "candidates": [list(cell) for cell in example.candidates],
            "chosen": choose(cells, answers.weight),
            "cells": [{**asdict(cell), "joint": cell.joint(answers.weight)} for cell in cells],
        }


def answers_record(answers: Answers) -> dict[str, Any]:
    """The scores for each number of cells, and its gain over each smaller number, question by question.

    Shares are between 0 and 1, with 95% intervals. A blind split has ``questions`` 0 and nothing else.
    """
    scored = {name: answer_scores(answers.gold, answers.predictions(name)) for name in answers.numbers}
    totals = {name: scores["Total"] for name, scores in scored.items() if scores}
    if not totals:
        return {"questions": 0}
    return {
        "questions": len(next(iter(totals.values())).exact),
        "weight": answers.weight,
        "scores": {name: scores_record(scores) for name, scores in scored.items()},
        "gains": [
            {"of": more, "over": fewer}
            | {m: asdict(paired_bootstrap(getattr(totals[more], m), getattr(totals[fewer], m))) for m in _MEASURES}
            for fewer, more in combinations(totals, 2)
        ],
    }


def scores_record(scores: Mapping[str, AnswerScores]) -> dict[str, Any]:
    """Exact match and F1 of each group, with intervals."""
    return {
        group: {
            "questions": len(group_scores.exact),
            **{measure: asdict(mean_interval(getattr(group_scores, measure))) for measure in _MEASURES},
        }
        for group, group_scores in scores.items()
    }


def answers_table(
    title: str, scores: Mapping[str, Any], split: str = "", published: Sequence[Published] = ()
) -> RichTable:
    """Rows of ``scores_record`` by name, then published results on the whole split, in per cent."""
    table = terminal_table(["", *GROUPS], [], left=[""], title=f"{title}: EM / F1, per cent")
    for name, groups in scores.items():
        means = {group: (100 * record["exact"]["mean"], 100 * record["f1"]["mean"]) for group, record in groups.items()}
        table.add_row(name, *_cells(means), style="bold")
    others = [system for system in published if split in system.figures]
    if others:
        table.add_section()
        table.caption = f"below the line: published, on all of {split}"
    for system in others:
        table.add_row(system.system, *_cells(system.figures[split]))
    return table


def summary_lines(record: Mapping[str, Any]) -> list[str]:
    """The total of each row with its intervals; then the gains of more cells."""
    lines = [f"{name}: {_intervals(groups['Total'])}" for name, groups in record["scores"].items()]
    gains = [f"{gain['of']} less {gain['over']}: {_intervals(gain)}" for gain in record["gains"]]
    return [*lines, *gains]


def _cells(figures: Mapping[str, Figure]) -> Iterator[str]:
    for group in GROUPS:
        yield "{:.1f} / {:.1f}".format(*figures[group]) if group in figures else ""


def _intervals(record: Mapping[str, Any]) -> str:
    parts = []
    for measure, title in _MEASURES.items():
        mean, low, high = (100 * record[measure][name] for name in ("mean", "low", "high"))
        parts.append(f"{title} {mean:.1f} ({low:.1f} to {high:.1f})")
    return ", ".join(parts) + "; 95% intervals"
