"""Answers of a pipeline or of a file: records for programs, EM and F1 by where the answer stands for people."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from itertools import combinations
from typing import Any

from rich.table import Table as RichTable

from mate_cli.inference.answer_split import Answers
from mate_cli.metrics.hybridqa import GROUPS, AnswerScores, answer_scores, exact_match, f1
from mate_cli.metrics.statistics import Interval, bootstrap, paired_bootstrap
from mate_cli.reporting.published import Figure, Published
from mate_cli.runs.folder import RunFolder
from mate_cli.system.files import write_json_lines, write_text
from mate_cli.tables.prediction_files import submission_text
from mate_cli.tasks.pointr import choose

_MEASURES = {"exact": "EM", "f1": "F1"}


def write_answers(folder: RunFolder, split: str, answers: Answers) -> dict[str, Any]:
    """Keep submission, records, scores and a weight fitted here in a folder; returns ``answers_record``."""
    predictions = answers.predictions(list(answers.numbers)[-1])
    record = answers_record(answers)
    write_text(folder.path / f"predictions-{split}.json", submission_text(predictions))
    write_json_lines(folder.path / f"records-{split}.jsonl", question_records(answers))
    folder.write_metrics(split, record)
    if answers.fit is not None:
        exact = {f"{weight:g}": share for weight, share in answers.fit.exact.items()}
        folder.write_metrics("weight", {"value": answers.weight, "questions": len(answers.gold), "exact": exact})
    return record


def question_records(answers: Answers) -> Iterator[dict[str, Any]]:
    """One record for each question that has a table: gold, prediction, scores, and the cells read, as ranked.

    ``chosen`` is the place of the cell among ``cells`` that the answer is from, null where none was read; ``joint``
    is p(cell) * p(span | cell)^weight; ``start`` and ``end`` count characters of the cell's reading text.
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
    """The scores of every number of cells, and what each gains over each smaller one, question by question.

    All shares between 0 and 1, with their 95% bootstrap intervals; only the count where the split is blind.
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
            {"of": more, "over": fewer, **_gain(totals[more], totals[fewer])} for fewer, more in combinations(totals, 2)
        ],
    }


def scores_record(scores: Mapping[str, AnswerScores]) -> dict[str, Any]:
    """Exact match and F1 of each group, with intervals."""
    return {
        group: {
            "questions": len(own.exact),
            **{measure: asdict(bootstrap(getattr(own, measure))) for measure in _MEASURES},
        }
        for group, own in scores.items()
    }


def answers_table(
    title: str, scores: Mapping[str, Any], split: str = "", published: Sequence[Published] = ()
) -> RichTable:
    """Rows of ``scores_record`` by name, then what others report on the whole split, in per cent."""
    table = RichTable(title=f"{title}: EM / F1, per cent")
    table.add_column("")
    for group in GROUPS:
        table.add_column(group, justify="right")
    for name, groups in scores.items():
        figures = {group: (100 * own["exact"]["mean"], 100 * own["f1"]["mean"]) for group, own in groups.items()}
        table.add_row(name, *_figures(figures), style="bold")
    others = [system for system in published if split in system.figures]
    if others:
        table.add_section()
        table.caption = f"below the line: published, on all of {split}"
    for system in others:
        table.add_row(system.system, *_figures(system.figures[split]))
    return table


def summary_lines(record: Mapping[str, Any]) -> list[str]:
    """The total with its intervals, a line for each row; then what more cells gain."""
    lines = [f"{name}: {_intervals(groups['Total'])}" for name, groups in record["scores"].items()]
    gains = [f"{gain['of']} less {gain['over']}: {_intervals(gain)}" for gain in record["gains"]]
    return [*lines, *gains]


def _gain(own: AnswerScores, other: AnswerScores) -> dict[str, dict[str, float]]:
    pairs = {measure: (getattr(own, measure), getattr(other, measure)) for measure in _MEASURES}
    return {measure: asdict(paired_bootstrap(*pair)) for measure, pair in pairs.items()}


def _figures(figures: Mapping[str, Figure]) -> Iterator[str]:
    for group in GROUPS:
        yield "{:.1f} / {:.1f}".format(*figures[group]) if group in figures else ""


def _intervals(record: Mapping[str, Any]) -> str:
    parts = []
    for measure, title in _MEASURES.items():
        own = Interval(**record[measure])
        parts.append(f"{title} {100 * own.mean:.1f} ({100 * own.low:.1f} to {100 * own.high:.1f})")
    return ", ".join(parts) + "; 95% intervals"
