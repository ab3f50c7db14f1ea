"""`mate analyze analysis=retrieval`: ranks by sorting, and the shares of the command against scikit-learn's."""

from __future__ import annotations

import json

import numpy as np
import pytest
from sklearn.metrics import top_k_accuracy_score

from mate_cli.analysis import retrieval
from mate_cli.analysis.retrieval import before
from mate_cli.cli.main import main
from mate_cli.tables.hybridqa import read_split
from mate_cli.tables.table_index import TableIndex


class Lengths:
    """An encoder that knows how long a text is, and nothing else."""

    def vectors(self, texts):
        return np.array([[1.0, len(text) / 1000] for text in texts], dtype=np.float32)


def test_ranks_are_places_in_the_sorted_order():
    scores = np.random.default_rng(0).integers(0, 5, (40, 12)).astype(np.float32)  # with many ties
    gold = np.random.default_rng(1).integers(0, 12, 40)
    order = np.argsort(-scores, axis=1, kind="stable")
    assert before(scores, gold).tolist() == [row.tolist().index(own) for row, own in zip(order, gold, strict=True)]


def test_the_command_searches_all_splits_and_writes_shares(trained, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(retrieval, "SentenceEncoder", Lengths)
    assert main(["analyze", "analysis=retrieval", "task=sample", "split=test", f"to={tmp_path}"]) == 0
    assert "words, then meaning" in capsys.readouterr().out
    record = json.loads((tmp_path / "retrieval.json").read_text())
    splits = [read_split(trained.sample, split).examples for split in ("train", "dev", "test")]
    tables = {example.table.id: example.table for examples in splits for example in examples}
    asked = splits[-1]
    assert record["questions"] == len(asked) == 170
    assert record["asked"] == len({example.table.id for example in asked})
    assert record["tables"] == len(tables) > 100
    scores = TableIndex(tables.values()).scores([example.question for example in asked])
    gold = [list(tables).index(example.table.id) for example in asked]
    ties = -1e-6 * np.arange(len(tables))  # of equal ones the first
    found = {recall["way"]: recall["found"] for recall in record["recalls"]}
    for depth in (1, 5):
        share = top_k_accuracy_score(gold, scores + ties, k=depth, labels=range(len(tables)))
        assert found["words"][str(depth)]["mean"] == pytest.approx(share)
    text = (tmp_path / "retrieval.md").read_text()
    assert "| search by | recall@1 | recall@5 |" in text
    assert f"searched for among {len(tables)}" in text


@pytest.mark.parametrize(
    ("words", "error"),
    [
        ([], "task is missing: write task=..."),
        (["task=sample", "run=x"], "run belongs to analysis="),
        (["task=sample", "max_tokens=99"], "max_tokens belongs to analysis=robustness or coverage or flow"),
        (["task=sample", "schedule=smoke"], "schedule belongs to analysis=coverage or flow"),
    ],
)
def test_what_does_not_belong_to_it_is_refused(words, error, capsys):
    assert main(["analyze", "analysis=retrieval", *words]) == 2
    assert error in capsys.readouterr().err


def test_a_split_without_questions_is_refused(trained, capsys, monkeypatch):
    monkeypatch.setattr("mate_cli.training.splits.data_sources", lambda *_: [])
    assert main(["analyze", "analysis=retrieval", "task=sample"]) == 2
    assert "split=dev: there are no questions in it" in capsys.readouterr().err
