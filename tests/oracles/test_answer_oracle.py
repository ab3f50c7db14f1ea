"""EM and F1 of HybridQA's answers against the output of the official script."""

from __future__ import annotations

import json
import re
import tarfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mate_cli.metrics.hybridqa import AnswerScores, answer_scores, exact_match, f1, normalise_answer
from mate_cli.tables.hybridqa import read_gold
from mate_cli.tables.prediction_files import read_reference, read_submission

SHARED = Path(__file__).resolve().parents[3] / "shared"
METRICS = SHARED / "oracles" / "metrics"
OFFICIAL_NAMES = {"In-Table": "table", "In-Passage": "passage", "Total": "total"}
pytestmark = pytest.mark.oracles


def _official(record: Mapping[str, str]) -> dict[str, float]:
    """The figures in the printed dictionary of the script."""
    pairs = re.findall(r"\('([a-z0-9 ]+)', ([0-9.]+)\)", record["official_output"])
    return {name: float(value) for name, value in pairs}


def _percentages(scores: Mapping[str, AnswerScores]) -> dict[str, float]:
    found: dict[str, float] = {"total": len(scores["Total"].exact)}
    for group, own in scores.items():
        found[f"{OFFICIAL_NAMES[group]} exact"] = 100 * float(np.mean(own.exact))
        found[f"{OFFICIAL_NAMES[group]} f1"] = 100 * float(np.mean(own.f1))
    return found


@pytest.mark.parametrize("number", [0, 1])
def test_every_figure_is_the_official_one(number: int) -> None:
    record = json.loads((METRICS / "hybridqa_scores.json").read_text())[number]
    gold = read_reference(METRICS / "hybridqa_reference.json")
    expected = _official(record)
    assert len(expected) == 7
    found = _percentages(answer_scores(gold, read_submission(METRICS / record["predictions"], gold)))
    assert found == pytest.approx(expected, abs=1e-9, rel=0)


def test_pairs_of_the_release() -> None:
    pairs: list[dict[str, Any]] = json.loads((SHARED / "oracles" / "j_metrics.json").read_text())["em_f1"]
    assert pairs
    for pair in pairs:
        assert normalise_answer(pair["gold"]) == pair["norm_gold"]
        assert normalise_answer(pair["pred"]) == pair["norm_pred"]
        assert exact_match(pair["pred"], [pair["gold"]]) == pair["exact"]
        assert f1(pair["pred"], [pair["gold"]]) == pytest.approx(pair["prf"][2], abs=1e-9)


def test_the_question_file_says_the_same_as_the_reference(tmp_path: Path) -> None:
    """Who has the data needs no reference file: same questions, answers and classes."""
    with tarfile.open(SHARED / "data" / "hybridqa.tar.xz") as archive:
        members = [member for member in archive if member.name.startswith("hybridqa/released_data")]
        archive.extractall(tmp_path, members, filter="data")
    for folder in ("tables_tok", "request_tok"):
        (tmp_path / "hybridqa" / "WikiTables-WithLinks" / folder).mkdir(parents=True)
    reference = read_reference(tmp_path / "hybridqa" / "released_data" / "dev_reference.json")
    assert read_gold(tmp_path / "hybridqa", "dev") == reference
    assert len(reference) == 400
