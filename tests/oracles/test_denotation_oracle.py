"""Answers and scores of SQA and WikiTableQuestions against the release and the official evaluators."""

from __future__ import annotations

import csv
import json
import re
import tarfile
from pathlib import Path

import numpy as np
import pytest

from mate_cli.metrics.denotation import execute, gold_denotation, normalize_answers, same_denotation
from mate_cli.metrics.sqa import sequence_scores
from mate_cli.metrics.wtq import gold_values, tagged_values, verdicts
from mate_cli.tables.prediction_files import read_sqa_predictions, read_tagged, read_wtq_predictions
from mate_cli.tables.table import Cell, Example, Table

SHARED = Path(__file__).resolve().parents[3] / "shared"
METRICS = SHARED / "oracles" / "metrics"
OPERATORS = ("NONE", "SUM", "AVERAGE", "COUNT")
pytestmark = pytest.mark.oracles


@pytest.fixture(scope="module")
def release():
    return json.loads((SHARED / "oracles" / "j_metrics.json").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """The folder with ``wtq`` and ``sqa``, as far as the official evaluators read them."""
    folder = tmp_path_factory.mktemp("data")
    for archive, part in (("wtq", "wtq/tagged"), ("sqa", "sqa/test.tsv")):
        with tarfile.open(SHARED / "data" / f"{archive}.tar.xz") as file:
            file.extractall(folder, [own for own in file if own.name.startswith(part)], filter="data")
    return folder


def test_denotations(release):
    header, rows = ([*map(Cell, release["table"]["header"])], release["table"]["rows"])
    table = Table("t", tuple(header), tuple(tuple(map(Cell, row)) for row in rows))
    assert len(release["denotation_cases"]) == 25
    for case in release["denotation_cases"]:
        found = execute(table, [tuple(cell) for cell in case["pred_cells"]], OPERATORS[case["pred_agg"]])
        assert normalize_answers(found) == case["pred_denotation"], case["name"]
        value = None if case["float_answer"] is None else float(case["float_answer"])
        gold = None
        if case["has_gold_answer"] and value is not None:
            gold = gold_denotation(Example("q", "", table, (), value=value))
        elif case["has_gold_answer"]:
            gold = execute(table, [tuple(cell) for cell in case["gold_cells"]], OPERATORS[case["gold_agg"]])
        assert (None if gold is None else normalize_answers(gold)) == case["gold_denotation"], case["name"]
        assert same_denotation(found, gold) == case["is_correct"], case["name"]


def test_normal_answers(release):
    """``None`` is how the release says that there is no value; we never have one."""
    for case in release["normalize_answers"]:
        assert normalize_answers([text for text in case["i"] if text != "None"]) == case["o"]


@pytest.mark.parametrize("number", [0, 1])
def test_every_verdict_of_wikitablequestions(data, number):
    with (METRICS / f"wtq_verdicts_{number}.tsv").open(encoding="utf-8", newline="") as file:
        official = {line[0]: line[1] == "True" for line in csv.reader(file, delimiter="\t", quoting=csv.QUOTE_NONE)}
    tagged = read_tagged(data / "wtq" / "tagged" / "data")
    assert (len(tagged), len(official)) == (7581, 4044)
    gold = {name: tagged_values(tagged[name]) for name in official}
    found = verdicts(gold, read_wtq_predictions(METRICS / f"wtq_pred_{number}.tsv", official))
    assert found == official
    record = json.loads((METRICS / "wtq_scores.json").read_text())[number]
    assert f"Correct: {sum(found.values())}\n" in record["official_stderr"]


def test_numbers_in_groups_of_digits_are_tagged_as_what_we_take_them_for(data):
    """Where a question is not tagged: the dev split of the data that we have."""
    grouped = 0
    for answer in read_tagged(data / "wtq" / "tagged" / "data").values():
        for text, canonical in answer:
            (own,) = gold_values([Example("q", "", Table("t", (), ()), (text,))], {})["q"]
            if "," in text and own.meaning is not None:
                assert [own] == tagged_values([(text, canonical)])
                grouped += 1
    assert grouped == 88


@pytest.mark.parametrize("number", [0, 1])
def test_scores_of_sqa(data, number):
    with (data / "sqa" / "test.tsv").open(encoding="utf-8", newline="") as file:
        examples = [sqa_example(row) for row in csv.DictReader(file, delimiter="\t")]
    scores = sequence_scores(examples, read_sqa_predictions(METRICS / f"sqa_pred_{number}.tsv", examples))
    record = json.loads((METRICS / "sqa_scores.json").read_text())[number]
    counts = [int(value) for pair in re.findall(r"\((\d+)/(\d+)\)", record["official_output"]) for value in pair]
    own = [np.sum(scores.sequences), len(scores.sequences), np.sum(scores.questions), len(scores.questions)]
    assert [int(value) for value in own] == counts
    assert sum(map(len, scores.by_position.values())) == counts[3]


def sqa_example(row):
    cells = [
        tuple(map(int, re.findall(r"\d+", place))) for place in re.findall(r"\([^)]*\)", row["answer_coordinates"])
    ]
    conversation = f"{row['id']}-{row['annotator']}"
    name, empty = f"{conversation}_{row['position']}", Table("t", (), ())
    return Example(
        name,
        row["question"],
        empty,
        ("",),
        candidates=tuple(cells),
        conversation=conversation,
        position=int(row["position"]),
    )
