"""The shapes in which a user's JSON file holds a table, those of pandas and of web services too."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from mate_cli.system.errors import UserError
from tests.tables.user_files import read_written


def test_values_of_json(tmp_path: Path) -> None:
    rows = '[{"a": 1, "b": null}, {"b": 2.5, "c": true}, {"c": "x", "a": NaN}]'
    assert read_written(tmp_path, "t.json", rows) == [
        ["a", "b", "c"],
        ["1", "", ""],
        ["", "2.5", "true"],
        ["", "", "x"],
    ]


@pytest.mark.parametrize(
    "content",
    [
        '{"a": [1, 2], "b": ["x", null]}',
        '{"a": 1, "b": "x"}\n{"a": 2, "b": null}\n',
        '\n{"a": 1, "b": "x"}\r\n\r\n  {"a": 2}',
        '["a", "b"]\n[1, "x"]\n[2, null]\n',
        pd.DataFrame({"a": [1, 2], "b": ["x", None]}).to_json(orient="records", lines=True),
    ],
)
def test_columns_and_lines_of_json(content: str, tmp_path: Path) -> None:
    for name in ("t.json", "t.jsonl", "T.NDJSON"):
        assert read_written(tmp_path, name, content) == [["a", "b"], ["1", "x"], ["2", ""]]


FRAME = pd.DataFrame({"city": ["Alder", "Birch"], "people": [1200, None]})
TEXTS = [["city", "people"], ["Alder", "1200"], ["Birch", ""]]


@pytest.mark.parametrize("orient", ["split", "columns", "index", "records", "table"])
def test_what_pandas_writes_as_json(orient: Any, tmp_path: Path) -> None:
    assert read_written(tmp_path, "t.json", FRAME.to_json(orient=orient)) == TEXTS
    turned = FRAME.iloc[::-1].to_json(orient=orient)
    assert read_written(tmp_path, "t.json", turned) == [TEXTS[0], TEXTS[2], TEXTS[1]]
    assert read_written(tmp_path, "t.json", FRAME.iloc[1:].to_json(orient=orient)) == [TEXTS[0], TEXTS[2]]
    years = FRAME.set_axis(["2019", "2020"], axis=1).to_json(orient=orient)
    assert read_written(tmp_path, "t.json", years) == [["2019", "2020"], *TEXTS[1:]]


def test_objects_in_rows_of_json_are_columns_as_in_pandas(tmp_path: Path) -> None:
    rows = [
        {"id": 1, "city": {"name": "Rome", "at": {"lat": 41.9}}, "tags": ["old", 3, None]},
        {"id": 2, "city": {"name": "Oslo"}, "tags": []},
    ]
    header = [[*pd.json_normalize(rows)[["id", "city.name", "city.at.lat"]], "tags"]]
    expected = [*header, ["1", "Rome", "41.9", "old, 3"], ["2", "Oslo", "", ""]]
    answer = {"count": 2, "next": None, "links": ["x"], "results": rows}
    for content in (json.dumps(rows), "\n".join(map(json.dumps, rows)), json.dumps(answer)):
        texts = read_written(tmp_path, "t.json", content)
        order = [texts[0].index(name) for name in expected[0]]
        assert [[row[place] for place in order] for row in texts] == expected
    with pytest.raises(UserError, match="found an object with the keys 'a', 'b'"):
        read_written(tmp_path, "t.json", json.dumps({"a": rows, "b": rows}))


def test_labels_of_rows_in_json_are_a_column_or_refused(tmp_path: Path) -> None:
    frame = FRAME.set_index("city")
    assert read_written(tmp_path, "t.json", frame.to_json(orient="table")) == TEXTS
    assert read_written(tmp_path, "t.json", frame.to_json(orient="split")) == [["", "people"], *TEXTS[1:]]
    for orient in ("columns", "index"):
        with pytest.raises(UserError, match=r"t.json: an object of objects, of which nothing tells .*; write it with"):
            read_written(tmp_path, "t.json", frame.to_json(orient=orient))
