"""A user's table in HTML, JSON or Parquet reads as the same table in CSV; broken files are one clear line."""

from __future__ import annotations

import html
import json
import tempfile
from datetime import date
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mate_cli.system.errors import UserError
from mate_cli.tables import user_html, user_limits
from mate_cli.tables.user_table import read_table
from tests.tables.user_files import read_written, texts_of

_WORD = st.text(st.characters(exclude_categories=("Cs", "Cc", "Zl", "Zp", "Zs")), min_size=1, max_size=8)
_GRID = st.integers(1, 4).flatmap(
    lambda width: st.lists(st.lists(_WORD, min_size=width, max_size=width), min_size=2, max_size=5)
)


def _within(levels: int) -> Any:
    return 1 if not levels else {"a": _within(levels - 1)}


@settings(max_examples=20)
@given(_GRID)
def test_every_format_holds_the_same_table(rows: list[list[str]]) -> None:
    header = [f"{number} {text}" for number, text in enumerate(rows[0])]  # keys of an object differ
    body = rows[1:]
    expected = [[text.strip() for text in row] for row in (header, *body)]
    page = "".join(
        "<tr>" + "".join(f"<td>{html.escape(text)}</td>" for text in row) + "</tr>" for row in (header, *body)
    )
    contents = {
        "lists.json": json.dumps([header, *body]),
        "object.json": json.dumps({"header": header, "rows": body}),
        "objects.json": json.dumps([dict(zip(header, row, strict=True)) for row in body]),
        "page.html": f"<table>{page}</table>",
    }
    with tempfile.TemporaryDirectory() as folder:
        for name, content in contents.items():
            assert read_written(Path(folder), name, content) == expected
        columns = [pa.array(column) for column in zip(*body, strict=True)]
        pq.write_table(pa.table(columns, names=header), Path(folder, "t.parquet"))
        assert texts_of(read_table(Path(folder, "t.parquet"))) == expected


def test_the_ending_says_the_format_and_none_is_csv(tmp_path: Path) -> None:
    for name in ("t.csv", "t.tsv", "t.txt", "table", "T.CSV"):
        assert read_written(tmp_path, name, "a\tb\n1\t2\n") == [["a", "b"], ["1", "2"]]
    assert read_table(tmp_path / "t.csv").title == "t"
    with pytest.raises(UserError, match=r"t.docx: a table is a file in .csv, .*.duckdb \(.*\), not .docx; save it as"):
        read_written(tmp_path, "t.docx", b"PK")


def test_an_address_is_named_as_it_was_written() -> None:
    with pytest.raises(UserError) as error:
        read_table("https://example.org/towns.csv")
    assert str(error.value) == (
        "table=https://example.org/towns.csv: this is an address; download the file and name it"
    )


def test_nothing_after_the_sign_for_a_part_is_no_part(tmp_path: Path) -> None:
    assert read_written(tmp_path, "t.csv", "a\n1\n") == texts_of(read_table(f"{tmp_path}/t.csv#"))


@pytest.mark.parametrize(
    ("page", "expected"),
    [
        # a header of two rows, a cell over two columns and one over two rows
        (
            "<thead><tr><th rowspan=2>City<th colspan=2>People</tr><tr><th>1990<th>2000</tr></thead>"
            "<tr><td>Rome<td colspan=2>2</tr>",
            [["City", "People 1990", "People 2000"], ["Rome", "2", "2"]],
        ),
        # no head: leading rows of <th>; the <th> of a row is a cell; end tags and empty rows are not needed
        (
            "<tr><th>a<th>b<tr><th rowspan='2'>x<td>1<tr><td>2<tr><td> <td>&nbsp;",
            [["a", "b"], ["x", "1"], ["x", "2"]],
        ),
        # rowspan=0 lasts to the end, and a short row is filled
        (
            "<tr><td>a<td>b<td>c<tr><td rowspan=0>1<td>2<td>3<tr><td>4",
            [["a", "b", "c"], ["1", "2", "3"], ["1", "4", ""]],
        ),
        # a cell that hangs behind the end of a short row
        (
            "<tr><td>a<td>b<td>c<tr><td>1<td>2<td rowspan=2>3<tr><td>4",
            [["a", "b", "c"], ["1", "2", "3"], ["4", "", "3"]],
        ),
        # tags go, breaks part words, characters are themselves, scripts say nothing
        (
            "<tr><th>a</th></tr><tr><td><b>x</b>y<br>z &amp; <i>&lt;b&gt;</i><script>if (1 < 2) n()</script></td></tr>",
            [["a"], ["xy z & <b>"]],
        ),
        # every row is a header: the first one is
        ("<tr><th>a</th></tr><tr><th>b</th></tr>", [["a"], ["b"]]),
        ("<tr><td>a</td></tr><tr><td colspan=0 rowspan=x>b</td></tr>", [["a"], ["b"]]),
    ],
)
def test_html_headers_spans_and_tags(tmp_path: Path, page: str, expected: list[list[str]]) -> None:
    assert read_written(tmp_path, "t.html", f"<p>before</p><table>{page}</table> after") == expected
    assert read_written(tmp_path, "t.htm", f"<TABLE class=x>{page}") == expected


def test_the_largest_table_of_a_page(tmp_path: Path) -> None:
    small, large = ("".join(f"<tr><td>{n}</td></tr>" for n in range(size)) for size in (2, 5))
    page = f"<table>{small}</table><table><caption> Some <b>towns</b></caption>{large}</table><table>{small}</table>"
    assert len(read_written(tmp_path, "t.html", page)) == 5
    assert read_table(tmp_path / "t.html").title == "Some towns"
    nested = f"<table><tr><td>x<table>{large}</table>y</td></tr><tr><td>z</td></tr></table>"
    assert read_written(tmp_path, "t.html", nested)[1] == ["1"]
    outer = f"<table><tr><td>a</td></tr><tr><td>x<table>{small}</table>y</td></tr>" + "<tr><td>b</td></tr>" * 3
    assert read_written(tmp_path, "t.html", outer)[1] == ["xy"]


@pytest.mark.parametrize(
    ("row", "limit"), [("<tr><td>x", "65536 rows"), ("<td>x", "1024 columns"), ("<tr><td><td><td>", "10000 cells")]
)
def test_a_page_with_a_table_that_is_too_large_is_not_parsed_to_its_end(
    tmp_path: Path, row: str, limit: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    parsed = []
    start = user_html._Parser.handle_starttag

    def noted(self: user_html._Parser, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        parsed.append(tag)
        start(self, tag, attrs)

    monkeypatch.setattr(user_html._Parser, "handle_starttag", noted)
    if "cells" in limit:
        monkeypatch.setattr(user_limits, "MAX_CELLS", 10_000)
    with pytest.raises(UserError, match=f"more than {limit}"):
        read_written(tmp_path, "t.html", "<table><tr><td>" + row * 140_000 + "<b>end</b>")
    assert "b" not in parsed


def test_the_text_of_a_wide_cell_is_put_together_once_and_that_of_too_wide_a_one_never(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A text of 1 MB in each of 1,000 columns was joined and split 1,000 times."""
    joined, text = [], user_html._Cell.text.fget
    assert text is not None
    monkeypatch.setattr(user_html._Cell, "text", property(lambda cell: joined.append(cell.columns) or text(cell)))
    assert read_written(tmp_path, "t.html", "<table><tr><th colspan=3>a<tr><td>1<td colspan=2>2") == [
        ["a"] * 3,
        list("122"),
    ]
    assert joined == [3, 1, 2]
    with pytest.raises(UserError, match="more than 1024 columns"):
        read_written(tmp_path, "t.html", "<table><tr><td>x<td colspan=2000>a</table>")
    assert joined == [3, 1, 2, 1]


def test_values_of_parquet(tmp_path: Path) -> None:
    columns = {
        "n": pa.array([1, None]),
        "f": pa.array([2.5, float("nan")]),
        "nan": pa.array([float("nan"), float("nan")]),
        "d": pa.array([date(2001, 2, 3), None]),
        "b": pa.array([True, False]),
        "s": pa.array(["x", None]).dictionary_encode(),
        "none": pa.array([None, None]),
    }
    pq.write_table(pa.table(columns), tmp_path / "t.parquet")
    first, second = ["1", "2.5", "", "2001-02-03", "true", "x", ""], ["", "", "", "", "false", "", ""]
    assert texts_of(read_table(tmp_path / "t.parquet")) == [list(columns), first, second]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("t.html", "<p>no table", "no <table> with cells in this page"),
        ("t.html", "<table><tr></tr></table>", "no <table> with cells in this page"),
        ("t.html", "<table><tr><th>a</th></tr></table>", "no rows below the header"),
        ("t.html", "<table><tr><td colspan=2000>a</td></tr></table>", "more than 1024 columns"),
        ("t.html", b"<table>\xe9", "not UTF-8 at byte 7; save it as UTF-8"),
        ("t.json", "", "not valid JSON"),
        ("t.json", '{"columns": ["a"], "index": ["x"], "data": [3]}', "row 1: expected a list of cells, found 3"),
        (
            "t.json",
            '{"columns": [[["a", "b"]]], "data": [[3]]}',
            "the header, cell 1: expected a text or a number, found",
        ),
        ("t.json", '{"schema": {}, "data": [3]}', "row 1: expected a JSON object, found int"),
        ("t.json", '{"a": {}}', "the table has no columns"),
        ("t.json", "[]", "{header, rows}, {column: its cells} or an object a line, found an empty list"),
        ("t.json", "3", "{header, rows}, {column: its cells} or an object a line, found 3"),
        (
            "t.json",
            "{}",
            "expected a list of objects, a list of lists, {header, rows}, {column: its cells} or an object",
        ),
        ("t.json", '{"rows": [{"a": 1}, 2]}', "or an object a line, found an object with the key 'rows'"),
        ("t.json", json.dumps(dict.fromkeys("abcdefg", 1)), "with the keys 'a', 'b', 'c', 'd', 'e', ..."),
        ("t.json", '{"header": ["a"]}', "key 'rows' is missing"),
        ("t.json", '{"a": [1, 2], "b": [3]}', "key 'b' has 1 cells, 'a' has 2; write as many in each, null for those"),
        ("t.json", '{"a": []}', "no rows below the header"),
        ("t.json", '{"a": 1}\n{"a": 2', "line 2: not valid JSON"),
        ("t.json", '{"a": 1}\n["b"]\n', "row 2: expected a JSON object, found list"),
        ("t.json", '{"a": 1}\n{"a": [[2]]}\n', "row 2, key 'a': expected a text or a number, found a list"),
        ("t.json", '{"a": 1} {"a": 2}\n', "line 1, column 10 (character 9 of 18): Extra data"),
        ("t.json", '[{"a":\n1}]\n]', "line 3, column 1 (character 11 of 12): Extra data"),
        ("t.json", '{"a": 1}\n' * (user_limits.MAX_ROWS + 2), f"more than {user_limits.MAX_ROWS} rows"),
        ("t.json", '{"header": ["a"], "rows": 3}', "key 'rows': expected a list, found int"),
        ("t.json", '{"header": ["a"], "rows": [3]}', "row 1: expected a list of cells, found 3"),
        ("t.json", '{"header": [], "rows": []}', "the table has no columns"),
        ("t.json", '[["a", "b"], ["1"]]', "row 1 has 1 cells, the header has 2"),
        ("t.json", '[["a"]]', "no rows below the header"),
        ("t.json", '["a", "b"]', "the header: expected a list of cells, found a text"),
        ("t.json", '[{"a": 1}, [2]]', "row 2: expected a JSON object, found list"),
        ("t.json", '[{"a": [{"b": 1}]}]', "row 1, key 'a': expected a text or a number, found a list"),
        ("t.json", '[{"a.b": 1}, {"a.b": 2, "a": {"b": 1}}]', "row 2: 'a.b' is a key, and an object's within another"),
        (
            "t.json",
            json.dumps([{"a": _within(9)}]),
            "row 1, key 'a.a.a.a.a.a.a.a.a': expected a text or a number, found an object",
        ),
        ("t.json", "[[" + "9" * 5000 + "]]", "not usable JSON"),
        ("t.parquet", b"PAR1 and no more", "cannot be read as Parquet"),
        ("t.parquet", b"", "cannot be read as Parquet"),
    ],
)
def test_broken_files_are_one_clear_line(tmp_path: Path, name: str, content: bytes | str, message: str) -> None:
    with pytest.raises(UserError) as error:
        read_written(tmp_path, name, content)
    assert message in str(error.value)
    assert str(tmp_path / name) in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"a": [[1], [2]]}, "column 'a' has type list<"),
        ({"a": [b"\xff", b"x"]}, "column 'a' has type binary"),
        ({}, "the table has no columns"),
        ({"a": pa.array([], pa.int64())}, "no rows below the header"),
        ({str(n): [1] for n in range(1025)}, "more than 1024 columns"),
        ({"n": list(range(65537))}, "more than 65536 rows"),
    ],
)
def test_parquet_columns_that_are_no_table(tmp_path: Path, columns: dict[str, Any], message: str) -> None:
    pq.write_table(pa.table(columns), tmp_path / "t.parquet")
    with pytest.raises(UserError, match=message) as error:
        read_table(tmp_path / "t.parquet")
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("name", ["t.csv", "t.html", "t.json", "t.parquet"])
def test_a_file_that_is_not_there_or_a_folder(tmp_path: Path, name: str) -> None:
    with pytest.raises(UserError, match="cannot be read"):
        read_table(tmp_path / name)
    (tmp_path / name).mkdir()
    with pytest.raises(UserError, match="cannot be read"):
        read_table(tmp_path / name)


def test_too_many_rows_or_bytes(tmp_path: Path) -> None:
    rows = [["n"]] + [["1"]] * (user_limits.MAX_ROWS + 1)
    page = "<table>" + "<tr><td>1</td></tr>" * len(rows)
    for name, content in (("t.json", json.dumps(rows)), ("t.html", page)):
        with pytest.raises(UserError, match=f"more than {user_limits.MAX_ROWS} rows"):
            read_written(tmp_path, name, content)
        with pytest.raises(UserError, match="larger than 32 MiB"):
            read_written(tmp_path, name, " " * (user_limits.MAX_BYTES + 1))
