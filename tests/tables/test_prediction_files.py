"""Official files of predictions and gold answers: a round trip each, and one line for every mistake."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mate_cli.system.errors import UserError
from mate_cli.tables.hybridqa import Gold
from mate_cli.tables.prediction_files import (
    read_reference,
    read_sqa_predictions,
    read_submission,
    read_tagged,
    read_wtq_predictions,
    sqa_predictions_text,
    submission_text,
    wtq_predictions_text,
)
from mate_cli.tables.table import Example, Table

TABLE = Table("t", (), ())
EXAMPLES = [
    Example(f"nt-1-{annotator}_{position}", "", TABLE, conversation=f"nt-1-{annotator}", position=position)
    for annotator in (0, 1)
    for position in (0, 1)
]
CELLS = st.frozensets(st.tuples(st.integers(0, 900), st.integers(0, 40)), max_size=4)
ANSWERS = st.dictionaries(st.sampled_from(["nu-0", "nu-1", "x"]), st.lists(st.text(max_size=6), max_size=3), min_size=1)


@settings(max_examples=25)
@given(answers=ANSWERS)
def test_answers_of_wikitablequestions_come_back(tmp_path_factory, answers):
    file = tmp_path_factory.mktemp("wtq") / "predictions.tsv"
    file.write_bytes(wtq_predictions_text(answers).encode("utf-8", "surrogatepass"))
    expected = {name: tuple(" ".join(text.split()) for text in texts) for name, texts in answers.items()}
    assert read_wtq_predictions(file, answers.keys()) == expected


@settings(max_examples=25)
@given(cells=st.lists(CELLS, min_size=4, max_size=4))
def test_cells_of_sqa_come_back(tmp_path_factory, cells):
    file = tmp_path_factory.mktemp("sqa") / "predictions.tsv"
    predictions = {example.id: own for example, own in zip(EXAMPLES, cells, strict=True)}
    file.write_text(sqa_predictions_text(EXAMPLES, predictions))
    assert read_sqa_predictions(file, EXAMPLES) == predictions


def test_what_the_official_script_reads():
    lines = sqa_predictions_text(EXAMPLES[:2], {"nt-1-0_1": [(10, 2), (9, 3)]}).split("\n")
    assert lines[0] == "id\tannotator\tposition\tanswer_coordinates"
    assert lines[1:3] == ["nt-1\t0\t0\t[]", "nt-1\t0\t1\t['(9, 3)', '(10, 2)']"]
    assert wtq_predictions_text({"nu-0": ["a\tb", "c\nd"], "nu-1": []}) == "nu-0\ta b\tc d\nnu-1\n"


HEAD = "id\tannotator\tposition\tanswer_coordinates\n"
WHOLE = "".join(f"nt-1\t{a}\t{p}\t[]\n" for a in (0, 1) for p in (0, 1))


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (HEAD.replace("position", "place") + WHOLE, "column 'position' is missing"),
        (HEAD + WHOLE[:-12], "questions have no answer, first nt-1, annotator 1, position 1"),
        (HEAD + WHOLE + "nt-2\t0\t0\t[]\n", "questions that are not in the reference, first nt-2"),
        (HEAD + WHOLE + "nt-1\t0\t0\t[]\n", "line 6: question nt-1, annotator 0, position 0 is answered twice"),
        (HEAD + "nt-1\t0\t0\t['(0, -1)']\n", "line 2: expected cells such as ['(0, 1)', '(2, 1)']"),
        (HEAD + "nt-1\t0\t0\t['(0, 1)' '(1, 1)']\n", "expected cells"),
        (HEAD + "nt-1\t0\t0\n", "line 2: 3 fields, the first line has 4"),
        ("", "the file is empty"),
        (HEAD.encode() + b"\xff", "not UTF-8 at byte 41"),
        (HEAD + "nt-1\t0\t0\t" + "x" * 200_000, "line 2: cannot be read (field larger"),
    ],
)
def test_broken_predictions_of_sqa(tmp_path, content, words):
    file = tmp_path / "predictions.tsv"
    file.write_bytes(content if isinstance(content, bytes) else content.encode())
    message(words, read_sqa_predictions, file, EXAMPLES)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"nu-0\ta\n", "1 of 2 questions have no answer, first nu-1; answer each one, with a line with its id alone"),
        (b"nu-0\ta\nnu-1\nnu-2\tb\n", "1 answers to questions that are not in the reference, first nu-2"),
        (b"nu-0\ta\nnu-0\tb\nnu-1\n", "line 2: question nu-0 is answered twice"),
        (b"nu-0\t\xe9\nnu-1\n", "not UTF-8 at byte 5"),
    ],
)
def test_broken_predictions_of_wikitablequestions(tmp_path, content, words):
    file = tmp_path / "predictions.tsv"
    file.write_bytes(content)
    message(words, read_wtq_predictions, file, ["nu-0", "nu-1"])
    message("cannot be read", read_wtq_predictions, tmp_path / "none.tsv", [])


def test_tagged_files(tmp_path):
    assert read_tagged(tmp_path / "none") == {}
    file = tmp_path / "own.tagged"
    file.write_text('id\tutterance\ttargetValue\ttargetCanon\nq\twhat "is\ta\\pb|17 years\ta\\pb|17.0\n')
    assert read_tagged(tmp_path) == {"q": (("a|b", "a|b"), ("17 years", "17.0"))}
    file.write_text("id\ttargetValue\ttargetCanon\nq\ta|b\ta\n")
    message("line 2: 2 values in targetValue, 1 in targetCanon", read_tagged, tmp_path)


def message(words, call, *arguments):
    with pytest.raises(UserError) as error:
        call(*arguments)
    assert words in str(error.value)
    assert "\n" not in str(error.value)


TEXT = st.text(st.characters(exclude_categories=("Cs",)), max_size=8)


@given(predictions=st.dictionaries(TEXT, TEXT))
def test_a_submission_is_the_official_list(
    predictions: dict[str, str], tmp_path_factory: pytest.TempPathFactory
) -> None:
    text = submission_text(predictions)
    assert json.loads(text) == [{"question_id": name, "pred": pred} for name, pred in predictions.items()]
    path = tmp_path_factory.getbasetemp() / "submission.json"
    path.write_text(text, encoding="utf-8")
    assert read_submission(path, predictions) == predictions


def test_a_reference_says_where_answers_stand(tmp_path: Path) -> None:
    path = tmp_path / "reference.json"
    path.write_text(json.dumps({"reference": {"a": "x", "b": "y", "c": "z"}, "table": ["b"], "passage": ["a"]}))
    assert read_reference(path) == {
        "a": Gold(("x",), "passage"),
        "b": Gold(("y",), "table"),
        "c": Gold(("z",), "missing"),
    }


@pytest.mark.parametrize(
    ("answers", "message"),
    [
        ([{"question_id": "a", "pred": "x"}], "1 of 2 questions have no answer, first b"),
        ([{"question_id": name, "pred": ""} for name in "abc"], "1 answers to questions .*, first c"),
        ([{"question_id": "a", "pred": ""}] * 2, "answer 2: question a is answered twice"),
        ([{"question_id": "a"}], "answer 1: key 'pred' is missing"),
        ([{"question_id": "a", "pred": 3}], "answer 1, key 'pred': expected text, found int"),
        ({"a": "x"}, "expected a list of answers, found dict"),
    ],
)
def test_bad_submissions(tmp_path: Path, answers: object, message: str) -> None:
    path = tmp_path / "submission.json"
    path.write_text(json.dumps(answers))
    with pytest.raises(UserError, match=message) as caught:
        read_submission(path, ["a", "b"])
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ({"reference": {"a": "x"}, "table": []}, "key 'passage' is missing"),
        ({"reference": ["a"], "table": [], "passage": []}, "key 'reference': expected a JSON object"),
        ({"reference": {"a": "x"}, "table": ["b"], "passage": []}, "question b of key 'table' has no answer"),
        ({"reference": {}, "table": [], "passage": []}, "key 'reference' has no answers"),
        (
            {"reference": {"a": "x"}, "table": [["b"]], "passage": []},
            "key 'table': expected question ids, found \\['b'\\]",
        ),
    ],
)
def test_bad_references(tmp_path: Path, content: object, message: str) -> None:
    path = tmp_path / "reference.json"
    path.write_text(json.dumps(content))
    with pytest.raises(UserError, match=message):
        read_reference(path)
