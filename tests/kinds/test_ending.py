"""How a training ends: scores by group, and whether the model is good for anything yet."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from mate_cli.commands import train as command
from mate_cli.kinds.accuracy import group_rows, grouped_table, lead_text
from mate_cli.kinds.cell_selection import HITS as COLUMNS
from mate_cli.kinds.kind import Report
from mate_cli.kinds.span_reading import MEASURES
from tests.config.test_config import train_config

HITS = {"questions": 3, "hits@1": 0.5, "hits@3": 0.5, "hits@5": 0.5}


def test_groups_stand_below_what_they_are_of_and_none_twice() -> None:
    scores = {"by_subset": {"In-Table": 1, "Missing": 2}, "by_reasoning": {"lookup": 3, "missing": 2}}
    assert list(group_rows(scores)) == [
        ("  by place of the answer", None),
        ("    In-Table", 1),
        ("    Missing", 2),
        ("  by kind of question", None),
        ("    lookup", 3),
    ]
    assert list(group_rows({"by_subset": {"Missing": 1}, "by_reasoning": {"missing": 1}})) == [
        ("  by place of the answer", None),
        ("    Missing", 1),
    ]
    assert list(group_rows({"by_subset": {}, "by_reasoning": {}})) == []


def test_both_tables_show_headings_without_numbers() -> None:
    model = {"all": HITS, "by_subset": {"In-Table": HITS}, "by_reasoning": {"lookup": HITS}}
    record = {"model": model, "baselines": {"random": {k: HITS[k] for k in list(HITS)[1:]}}}
    table = grouped_table("t", record, COLUMNS)
    assert [list(column.cells)[:3] for column in table.columns[:2]] == [
        ["model", "  by place of the answer", "    In-Table"],
        ["3", "", "3"],
    ]
    read = {"questions": 3, "exact": 0.5, "f1": 0.5}
    model = {"all": read, "by_subset": {"In-Table": read}, "by_reasoning": {}}
    table = grouped_table("t", {"model": model, "baselines": {"cell text": read}}, MEASURES)
    assert list(table.columns[0].cells) == ["model", "  by place of the answer", "    In-Table", "cell text"]
    assert list(table.columns[1].cells) == ["3", "", "3", "3"]


def test_a_lead_says_which_side_it_is_on() -> None:
    assert lead_text({"over": "rule", "mean": 0.05, "low": 0.01, "high": 0.09}) == (
        "5.0 points above rule (difference 1.0 to 9.0)"
    )
    assert lead_text({"over": "rule", "mean": -0.05, "low": -0.09, "high": 0.01}) == (
        "5.0 points below rule (difference -9.0 to 1.0)"
    )


@pytest.mark.parametrize(
    ("lead", "words", "ending"),
    [
        (("rule", 0.01), (), ['next: mate predict run=a table=FILE.csv question="…"']),
        (None, (), ['next: mate predict run=a table=FILE.csv question="…"']),
        (
            ("rule", -0.01),
            ("backbone=tiny", "schedule=smoke"),
            [
                "not yet useful: the baseline 'rule' needs no training and scores higher",
                "try: a longer schedule: schedule=laptop, small, paper; pre-trained weights: backbone=minilm",
            ],
        ),
        (
            ("rule", -0.01),
            ("backbone=minilm", "schedule=laptop"),
            [
                "not yet useful: the baseline 'rule' needs no training and scores higher",
                "try: a longer training (epochs=... or steps=...), another lr=..., other weights (backbone=...)",
            ],
        ),
    ],
)
def test_a_model_below_its_baselines_is_not_offered_for_predictions(
    lead: Any, words: tuple[str, ...], ending: list[str], monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    folder = SimpleNamespace(path=Path("a"), finish=lambda: None, release=lambda: None)
    monkeypatch.setattr("mate_cli.training.fit.train", lambda *_: folder)
    monkeypatch.setattr("mate_cli.inference.evaluate.evaluate_run", lambda *_: None)
    monkeypatch.setattr("mate_cli.reporting.evaluation.record_and_show", lambda *_: Report({}, lead=lead))
    command.run(train_config(*words))
    assert capsys.readouterr().out.splitlines() == ["", "run folder: a", *ending]
