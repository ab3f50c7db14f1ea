"""Reasons to doubt an answer: what a run was trained on, how sure it is, what it cannot compute."""

from __future__ import annotations

import json
import platform
import subprocess
import sys
from typing import Any

import pytest

from mate_cli.config.task import QaConfig, TaskConfig
from mate_cli.config.train import TrainConfig
from mate_cli.inference.caveats import caveats, unfinished
from mate_cli.runs.folder import RunFolder


@pytest.mark.parametrize(
    ("status", "said"),
    [
        (None, None),  # an export
        ({"seconds": 1.0}, None),
        ({"state": "done", "step": 2, "steps": 2}, None),
        ({"state": "trained", "step": 2, "steps": 2}, None),  # and not yet scored
        ({"state": "running", "step": 1, "steps": 2}, "(killed, step 1 of 2)"),
        ({"state": "failed"}, "(failed)"),
    ],
)
def test_which_runs_were_not_trained_to_the_end(status, said, tmp_path):
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    process = {"pid": ended.pid, "host": platform.node()}
    (tmp_path / "environment.json").write_text(json.dumps({"process": process}))
    if status is not None:
        (tmp_path / "status.json").write_text(json.dumps(status))
    lines = unfinished(RunFolder(tmp_path))
    assert lines == [] if said is None else said in lines[0]


def trained_on(kind: str, aggregation: bool = False, difference: bool = False) -> TrainConfig:
    return TrainConfig(task=TaskConfig(name="own", kind=kind, format="own", qa=QaConfig(aggregation, difference)))


SURE = {"cells": [{"probability": 0.9}]}


@pytest.mark.parametrize(
    ("config", "record", "lines"),
    [
        (trained_on("cell_selection"), {"question": "Who won?", **SURE}, []),
        (trained_on("cell_selection"), {"question": "What is the AVERAGE age?", **SURE}, ["'AVERAGE': this model"]),
        (trained_on("cell_selection"), {"question": "Who is accountable for summer?", **SURE}, []),
        (trained_on("cell_selection"), {"question": "", "cells": [{"probability": 0.49}]}, ["low probability (0.49)"]),
        (
            trained_on("span_reading"),
            {"question": "", "chosen": 1, "cells": [{}, {"probability": 0.8, "span_probability": 0.5}]},
            ["low probability (0.40)"],
        ),
        (trained_on("span_reading"), {"question": "", "chosen": None, "cells": []}, []),
        (
            trained_on("table_qa", aggregation=True),
            {"question": "How many wins?", "operator": "COUNT", "operator_probability": 0.3, **SURE},
            ["low probability (0.30)"],
        ),
        (
            trained_on("table_qa", aggregation=True),
            {"question": "How many more wins?", "operator": "SUM", "operator_probability": 0.9, **SURE},
            ["'How many more': this model counts, sums and averages"],
        ),
        (
            trained_on("table_qa", aggregation=True, difference=True),
            {"question": "How many more wins?", "operator": "DIFFERENCE", "operator_probability": 0.9, **SURE},
            [],
        ),
        (
            trained_on("table_qa", aggregation=True, difference=True),
            {"question": "What percentage won?", "operator": "SUM", "operator_probability": 0.9, **SURE},
            ["'percentage': this model counts, sums, averages and subtracts cells"],
        ),
        (
            trained_on("table_qa", aggregation=True, difference=True),
            {"question": "How many wins in each town?", "operator": "COUNT", "operator_probability": 0.9, **SURE},
            ["'in each': this model counts, sums, averages and subtracts cells"],
        ),
        (
            trained_on("table_qa", aggregation=True, difference=True),
            {
                "question": "Who has the highest percentage?",
                "operator": "NONE",
                "operator_probability": 0.9,
                "cells": [{"probability": 0.9, "header": "Win Percentage"}],
            },
            [],
        ),
        (
            trained_on("table_qa", aggregation=True),
            {"question": "Who won?", "operator": "NONE", "operator_probability": 1.0, "cells": []},
            ["low probability (0.00)"],
        ),
        (
            trained_on("table_qa"),
            {"question": "How many wins?", "operator": "NONE", "operator_probability": 1.0, **SURE},
            ["'How many': this model points to cells"],
        ),
        *(
            (
                trained_on("table_qa", aggregation=True),
                {
                    "question": question,
                    "operator": "NONE",
                    "operator_probability": 1.0,
                    "cells": [{"probability": 0.9, "text": text}],
                },
                ["this model answers with cells, not with yes or no"][:doubts],
            )
            for question, text, doubts in (
                ("Did Ann win?", "2015", 1),
                ("did Ann win?", "Yes", 0),
                ("Is Ann or Bob taller?", "Bob", 0),
                ("Who did win?", "Ann", 0),
                ("Isaac won when?", "2015", 0),
            )
        ),
        (trained_on("entailment"), {"question": "The sum is 3.", "probability": 0.55}, ["low probability (0.55)"]),
        (trained_on("entailment"), {"question": "The sum is 3.", "probability": 0.95}, []),
    ],
)
def test_an_answer_is_doubted_for_a_reason(config: TrainConfig, record: dict[str, Any], lines: list[str]) -> None:
    doubts = caveats(config, record)
    assert len(doubts) == len(lines)
    assert all(line.startswith(start) for line, start in zip(doubts, lines, strict=True))
