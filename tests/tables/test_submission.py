"""The official files of answers: what goes out comes back, and what is wrong is said in one line."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mate_cli.system.errors import UserError
from mate_cli.tables.hybridqa import Gold
from mate_cli.tables.submission import read_reference, read_submission, submission_text

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
        ([{"question_id": name, "pred": ""} for name in "abc"], "1 answers are to questions .*, first c"),
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
        ({"reference": {"a": "x"}, "table": ["b"], "passage": []}, "question b is listed"),
        ({"reference": {}, "table": [], "passage": []}, "the key 'reference' holds no answer"),
        (
            {"reference": {"a": "x"}, "table": [["b"]], "passage": []},
            "key 'table': expected ids of questions, found \\['b'\\]",
        ),
    ],
)
def test_bad_references(tmp_path: Path, content: object, message: str) -> None:
    path = tmp_path / "reference.json"
    path.write_text(json.dumps(content))
    with pytest.raises(UserError, match=message):
        read_reference(path)
