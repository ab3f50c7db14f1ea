"""Answer matching, links, Hits@k and the shared data against what the release computed."""

from __future__ import annotations

import json
import tarfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mate_cli.metrics.cell_selection import first_hits, hits, rank_cells
from mate_cli.tables.answer_match import AnswerFinder, normalise
from mate_cli.tables.hybridqa import read_split
from mate_cli.tables.split_statistics import statistics

SHARED = Path(__file__).resolve().parents[3] / "shared"
pytestmark = pytest.mark.oracles

_MATCHES_ALL = {"The"}
"""Answers of which nothing is left: there the release takes every cell, and we only those that read so."""


def _load(name: str) -> Any:
    return json.loads((SHARED / "oracles" / name).read_text())


@pytest.fixture(scope="module")
def cases() -> list[dict[str, Any]]:
    return _load("h_hybridqa.json")["cases"]


def _release(folder: Path, case: dict[str, Any]) -> Path:
    """The oracle's case in HybridQA's layout."""
    table, entries = case["input_table"], [one["example"] for one in case["examples"]]
    linked = folder / "WikiTables-WithLinks"
    files = {
        folder / "released_data" / "dev.traced.json": entries,
        linked / "tables_tok" / f"{table['uid']}.json": table,
        linked / "request_tok" / f"{table['uid']}.json": case["descriptions"],
    }
    for path, content in files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(content))
    return folder


def test_candidates_table_only_cells_and_answer_classes(cases: list[dict[str, Any]], tmp_path: Path) -> None:
    compared = 0
    for case in cases:
        read = read_split(_release(tmp_path / case["name"], case), "dev")
        assert read.missing_tables == 0
        for example, expected in zip(read.examples, case["examples"], strict=True):
            assert (example.answers is not None) == expected["has_answer"]
            if example.answers is None or example.answers[0] in _MATCHES_ALL:
                continue
            match = AnswerFinder(example.table, example.passages).find(example.answers[0])
            assert example.candidates == match.candidates
            assert [list(place) for place in match.candidates] == expected["answer_coordinates"]
            assert [list(place) for place in match.in_text] == expected["table_only_coordinates"]
            compared += 1
    assert compared == 13


def test_links_of_cells(cases: list[dict[str, Any]], tmp_path: Path) -> None:
    for case in cases:
        table = read_split(_release(tmp_path / case["name"], case), "dev").examples[0].table
        assert [[list(cell.links) for cell in row] for row in table.rows] == case["annotations"]


def test_the_one_case_where_we_differ(cases: list[dict[str, Any]], tmp_path: Path) -> None:
    case = cases[0]
    read = read_split(_release(tmp_path, case), "dev").examples
    different = [
        (example.answers[0], example.candidates, len(expected["answer_coordinates"]))
        for example, expected in zip(read, case["examples"], strict=True)
        if example.answers and example.answers[0] in _MATCHES_ALL
    ]
    assert different == [("The", (), 16)]


def test_normalisation_of_answers() -> None:
    strings = _load("f_text_normalisation.json")["strings"]
    assert len(strings) == 104
    for item in strings:
        assert normalise(item["text"]) == item["hybridqa_normalize"]


def test_hits_of_the_release() -> None:
    oracle = _load("j_metrics.json")["hybridqa_cell_selection"]
    predictions = {one["question_id"]: one["token_probabilities_col_row_prob"] for one in oracle["predictions"]}
    ranked, candidates = [], []
    for name, question in oracle["questions"].items():
        scores = np.full((8, 8), -np.inf)
        for column, row, probability in predictions.get(name, []):
            scores[row, column] = probability
        ranked.append([cell for cell in rank_cells(scores) if scores[cell] > -np.inf])
        candidates.append([tuple(place) for place in question["answer"]])
    expected = {f"hits@{k}": oracle["metrics"]["all"][f"recall_at_{k}"] for k in (1, 3, 5)}
    assert hits(first_hits(ranked, candidates)) == pytest.approx({"questions": len(ranked), **expected})


def test_the_ranking_of_cells_of_the_release() -> None:
    for case in _load("h_hybridqa.json")["misc"]["best_cells"]:
        total, count = np.zeros((8, 8)), np.zeros((8, 8))
        for column, row, probability in case["input"]:
            total[row, column] += probability
            count[row, column] += 1
        means = np.divide(total, count, out=np.full((8, 8), -np.inf), where=count > 0)
        ranked = [list(cell) for cell in rank_cells(means) if count[cell]]
        assert ranked == case["output"]


def test_counts_of_the_shared_data(tmp_path: Path) -> None:
    with tarfile.open(SHARED / "data" / "hybridqa.tar.xz") as archive:
        archive.extractall(tmp_path, filter="data")
    expected = {
        "train": (11007, {"table": 4559, "passage": 6269, "missing": 179}, 2996),
        "dev": (400, {"table": 170, "passage": 225, "missing": 5}, 355),
        "test": (922, {}, 823),
    }
    for name, (questions, subsets, tables) in expected.items():
        split = read_split(tmp_path / "hybridqa", name)
        counted = statistics(split)
        assert (split.questions, split.missing_tables, counted.tables) == (questions, 0, tables)
        assert counted.subsets == subsets
        if subsets:
            # Paper section 4: about 70 cells a question and half of the questions ambiguous.
            assert 65 < counted.mean_cells < 75
            assert 0.44 < counted.ambiguity < 0.52
