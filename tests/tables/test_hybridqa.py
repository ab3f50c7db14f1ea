"""The HybridQA format on a small release of our own, whole and broken."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from mate_cli.system.errors import UserError
from mate_cli.tables.formats import split_of
from mate_cli.tables.hybridqa import read_split
from mate_cli.tables.split import Split
from mate_cli.tables.split_statistics import statistics

_TABLE = {
    "uid": "Cities_0",
    "title": "Cities",
    "header": [["City", ["/wiki/City"]], ["Founder", []]],
    "data": [
        [["Caf%C3%A9", ["/wiki/Caf%C3%A9_A", "/wiki/Caf%C3%A9_A"]], ["Ida", []]],
        [["Rome", ["/wiki/Rome"]], ["Remus", ["/wiki/Remus"]]],
    ],
}
_PASSAGES = {
    "/wiki/City": "A city is large .",
    "/wiki/Café_A": "Founded in 1889 .",
    "/wiki/Rome": "Rome was founded by Romulus .",
    "/wiki/Remus": "Remus had a brother , Romulus .",
}
_QUESTIONS: list[dict[str, Any]] = [
    {
        "question_id": "q1",
        "question": "Who founded it ?",
        "table_id": "Cities_0",
        "answer-text": "Romulus",
        "answer-node": [["Rome", [1, 0], "/wiki/Rome", "passage"]],
    },
    {
        "question_id": "q2",
        "question": "Who ?",
        "table_id": "Cities_0",
        "answer-text": "Ida",
        "answer-node": [["Rome", [1, 0], "/wiki/Rome", "passage"], ["Ida", [0, 1], None, "table"]],
        "reasoning": "lookup",
    },
    {"question_id": "q3", "question": "?", "table_id": "Gone_7", "answer-text": "x", "answer-node": []},
    {"question_id": "q4", "question": "?", "table_id": "Cities_0", "answer-text": "xyz", "answer-node": []},
]


@pytest.fixture
def release(tmp_path: Path) -> Path:
    linked = tmp_path / "WikiTables-WithLinks"
    _write(tmp_path / "released_data" / "dev.traced.json", _QUESTIONS)
    blind = [{key: value for key, value in q.items() if not key.startswith("answer")} for q in _QUESTIONS]
    _write(tmp_path / "released_data" / "test.json", blind)
    _write(linked / "tables_tok" / "Cities_0.json", _TABLE)
    _write(linked / "request_tok" / "Cities_0.json", _PASSAGES)
    return tmp_path


def _write(path: Path, content: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")


def test_reads_questions_tables_and_candidates(release: Path) -> None:
    split = read_split(release, "dev")
    assert (split.questions, split.missing_tables) == (4, 1)
    first, second, fourth = split.examples
    assert [e.id for e in split.examples] == ["q1", "q2", "q4"]
    assert [e.subset for e in split.examples] == ["passage", "table", "missing"]
    assert [e.candidates for e in split.examples] == [((1, 0), (1, 1)), ((0, 1),), ()]
    assert [e.reasoning for e in split.examples] == ["", "lookup", ""]
    assert first.answers == ("Romulus",)
    assert first.table is second.table is fourth.table
    assert first.passages is second.passages
    assert first.table.title == "Cities"
    assert first.table.header[0].links == ("/wiki/City",)


def test_links_are_unquoted_and_counted_once(release: Path) -> None:
    cell = read_split(release, "dev").examples[0].table.rows[0][0]
    assert cell.text == "Caf%C3%A9"
    assert cell.links == ("/wiki/Café_A",)


def test_a_blind_split_has_no_answers(release: Path) -> None:
    for example in read_split(release, "test").examples:
        assert (example.answers, example.candidates, example.subset) == (None, (), "")


def test_the_traced_file_goes_before_the_plain_one(release: Path) -> None:
    _write(release / "released_data" / "dev.json", _QUESTIONS[:1])
    assert read_split(release, "dev").questions == 4


def test_a_file_of_questions_tells_its_format(release: Path) -> None:
    """The generated sample shares the layout."""
    for name in ("dev.json", "dev.traced.json"):
        _write(release / "released_data" / name, _QUESTIONS)
        assert split_of(release / "released_data" / name) == ("hybridqa", release, "dev")


def test_statistics(release: Path) -> None:
    counted = statistics(read_split(release, "dev"))
    assert (counted.questions, counted.missing_tables) == (4, 1)
    assert (counted.tables, counted.linked_passages) == (1, 4)
    assert counted.subsets == {"missing": 1, "passage": 1, "table": 1}
    assert (counted.mean_rows, counted.mean_columns, counted.mean_cells, counted.mean_links) == (2, 2, 4, 4)
    assert counted.mean_passage_words == (5 + 4 + 6 + 7) / 4
    assert (counted.answered, counted.with_candidate, counted.ambiguous) == (3, 2, 1)
    assert counted.ambiguity == pytest.approx(1 / 3)
    assert statistics(Split((), 0, 0)).ambiguity == 0


def test_a_folder_that_is_not_the_release_says_what_to_put_where(release: Path, tmp_path: Path) -> None:
    (release / "WikiTables-WithLinks" / "request_tok").rename(release / "elsewhere")
    with pytest.raises(UserError, match=r"request_tok/ is missing; put .*HybridQA.* into data_dir"):
        read_split(release, "dev")
    with pytest.raises(UserError, match="no such folder"):
        read_split(tmp_path / "nothing", "dev")


def test_the_folder_above_the_release_is_recognised(release: Path) -> None:
    outer = release / "outer"
    inner = outer / "hybridqa"
    inner.mkdir(parents=True)
    for name in ("released_data", "WikiTables-WithLinks"):
        (release / name).rename(inner / name)
    with pytest.raises(UserError, match=f"did you mean data_dir={inner}"):
        read_split(outer, "dev")


def test_an_unknown_split_names_those_there(release: Path) -> None:
    with pytest.raises(UserError, match=r"no \S*train.traced.json or \S*train.json .*found: dev, test"):
        read_split(release, "train")


def test_truncated_json_names_the_file_and_the_place(release: Path) -> None:
    path = release / "WikiTables-WithLinks" / "request_tok" / "Cities_0.json"
    path.write_text(path.read_text()[:-40])
    with pytest.raises(UserError, match=r"request_tok/Cities_0.json: not valid JSON at line 1, column \d+ .*truncated"):
        read_split(release, "dev")


@pytest.mark.parametrize(
    ("where", "content", "message"),
    [
        ("released_data/dev.traced.json", "{}", "dev.traced.json: expected a list of questions, found dict"),
        ("released_data/dev.traced.json", "[3]", "question 1: expected a JSON object, found int"),
        ("released_data/dev.traced.json", '[{"question_id": "q"}]', "question 1: key 'table_id' is missing"),
        (
            "released_data/dev.traced.json",
            [_QUESTIONS[0], _QUESTIONS[1] | {"answer-text": 5}],
            "question 2, key 'answer-text': expected text, found int",
        ),
        (
            "released_data/dev.traced.json",
            [_QUESTIONS[0] | {"answer-node": [["Rome", [1, 0], None, "cell"]]}],
            "question 1, key 'answer-node': expected [text, [row, column], link, 'table' or 'passage']",
        ),
        ("tables_tok", _TABLE | {"header": 3}, "Cities_0.json, key 'header': expected a list, found int"),
        ("tables_tok", _TABLE | {"data": ["a"]}, "key 'data', row 1: expected a list of cells, found str"),
        ("tables_tok", _TABLE | {"data": [[["a", []]]]}, "key 'data', row 1: 1 cells, the header has 2"),
        (
            "tables_tok",
            _TABLE | {"data": [["a", "b"]]},
            "row 1, cell 1: expected [text, [link, ...]], found 'a'",
        ),
        ("tables_tok", {"header": []}, "key 'data' is missing"),
        ("request_tok", {}, "request_tok/Cities_0.json: no passage for '/wiki/City', a link of cell 'City'"),
        ("request_tok", _PASSAGES | {"/wiki/Rome": 1}, "key '/wiki/Rome': expected text, found int"),
    ],
)
def test_a_wrong_structure_names_the_file_and_the_key(release: Path, where: str, content: Any, message: str) -> None:
    path = release / where if where.endswith("json") else release / "WikiTables-WithLinks" / where / "Cities_0.json"
    _write(path, content)
    with pytest.raises(UserError) as error:
        read_split(release, "dev")
    assert message in str(error.value)
    assert str(path) in str(error.value)
    assert "\n" not in str(error.value)


def test_files_that_are_no_text(release: Path) -> None:
    path = release / "released_data" / "dev.traced.json"
    path.write_bytes(b'["\xff"]')
    with pytest.raises(UserError, match="not UTF-8 at byte 2"):
        read_split(release, "dev")
    path.write_text("[" * 200_000)
    with pytest.raises(UserError, match=r"dev.traced.json: not"):
        read_split(release, "dev")
