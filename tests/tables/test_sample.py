"""The sample generator: the official layout, what it promises about questions, names and balance."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from mate_cli.metrics.baselines import expected_random_hits, tfidf_cell_ranking
from mate_cli.metrics.cell_selection import score
from mate_cli.tables.answer_match import AnswerFinder, normalise
from mate_cli.tables.hybridqa import read_split
from mate_cli.tables.sample import write_sample
from mate_cli.tables.split import Split

SPLITS = ("train", "dev", "test")


@pytest.fixture(scope="module")
def splits(sample_folder: Path) -> dict[str, Split]:
    return {split: read_split(sample_folder, split) for split in SPLITS}


def _bytes(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*.json")}


def test_the_seed_decides_every_byte(sample_folder: Path, tmp_path: Path) -> None:
    write_sample(tmp_path / "again")
    write_sample(tmp_path / "other", seed=1)
    assert _bytes(tmp_path / "again") == _bytes(sample_folder)
    assert _bytes(tmp_path / "other") != _bytes(sample_folder)


def test_sizes_and_kinds_of_reasoning(splits: dict[str, Split]) -> None:
    assert 950 <= splits["train"].questions <= 1150
    for split in splits.values():
        assert split.missing_tables == 0
        share = {kind: n / split.questions for kind, n in Counter(e.reasoning for e in split.examples).items()}
        assert set(share) == {"lookup", "passage", "two_hop", "ambiguous", "missing"}
        assert min(share["lookup"], share["passage"], share["two_hop"]) > 0.2
        assert 0.05 < share["ambiguous"] < 0.2
        assert 0 < share["missing"] < 0.03
    for split in ("dev", "test"):
        assert 150 <= splits[split].questions <= 200


def test_kinds_agree_with_the_candidates(splits: dict[str, Split]) -> None:
    for example in (e for split in splits.values() for e in split.examples):
        expected = {"missing": 0, "ambiguous": 2}.get(example.reasoning, 1)
        assert min(len(example.candidates), 2) == expected, example.question
        assert (example.subset == "missing") == (not example.candidates)
        texts = [normalise(example.table.rows[r][c].text) for r, c in example.candidates]
        assert (example.subset == "table") == any(normalise(example.answers[0]) in f" {text} " for text in texts)


def test_official_files(sample_folder: Path, splits: dict[str, Split]) -> None:
    for split in SPLITS:
        traced = json.loads((sample_folder / "released_data" / f"{split}.traced.json").read_text())
        plain = json.loads((sample_folder / "released_data" / f"{split}.json").read_text())
        assert [entry["question"] for entry in traced] == [entry["question"] for entry in plain]
        assert all(("answer-text" in entry) == (split != "test") for entry in plain)
        for entry, example in zip(traced, splits[split].examples, strict=True):
            nodes = [tuple(node[1]) for node in entry["answer-node"]]
            assert tuple(nodes) == AnswerFinder(example.table, example.passages).find(entry["answer-text"]).candidates
            for text, (row, column), link, kind in entry["answer-node"]:
                cell = example.table.rows[row][column]
                assert text == cell.text
                assert (link in cell.links) if kind == "passage" else link is None
    ids = [e.id for split in splits.values() for e in split.examples]
    assert len(set(ids)) == len(ids)


def test_no_name_comes_twice_so_splits_share_no_entity(splits: dict[str, Split]) -> None:
    tables = {id(e.table): e for split in splits.values() for e in split.examples}.values()
    cells = [cell for e in tables for row in e.table.rows for cell in row]
    names = [cell.text for cell in cells if cell.text[0].isupper()]  # not numbers and words such as "granite"
    assert len(names) > len(cells) / 2
    assert len(set(names)) == len(names)
    links = [link for e in tables for link in e.passages]
    assert len(set(links)) == len(links)


def test_tables_are_small_and_passages_have_sentences_that_answer_nothing(splits: dict[str, Split]) -> None:
    for example in splits["train"].examples:
        assert 5 <= example.table.num_rows <= 6
        assert 4 <= example.table.num_columns <= 5
        assert all(text.count(" .") >= 3 for text in example.passages.values())


def test_answers_stand_evenly_over_columns_and_rows(splits: dict[str, Split]) -> None:
    examples = [e for split in splits.values() for e in split.examples if len(e.candidates) == 1]
    by_width = {width: [e for e in examples if e.table.num_columns == width] for width in (4, 5)}
    for width, own in by_width.items():
        columns = Counter(e.candidates[0][1] for e in own)
        assert max(columns.values()) < 1.35 * len(own) / width
    headers = Counter(e.table.header[e.candidates[0][1]].text for e in examples)
    assert max(headers.values()) < 0.12 * len(examples)
    rows = Counter(e.candidates[0][0] / (e.table.num_rows - 1) > 0.5 for e in examples)
    assert 0.35 < rows[True] / len(examples) < 0.55


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_word_overlap_answers_some_questions_and_no_more(tmp_path: Path, seed: int) -> None:
    write_sample(tmp_path, seed)
    for split in ("dev", "test"):
        examples = read_split(tmp_path, split).examples
        scores = score(examples, tfidf_cell_ranking(examples))
        assert 0.15 < scores["all"]["hits@1"] < 0.42
        assert scores["by_reasoning"]["two_hop"]["hits@1"] < 0.1
        assert expected_random_hits(examples)[1] < 0.05
