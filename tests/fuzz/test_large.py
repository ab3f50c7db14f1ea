"""Large inputs: 100,000 rows, 5,000 columns, texts of a megabyte, a file without an end; within 2 GB and a minute."""

from __future__ import annotations

import json
import resource
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from mate_cli.encoding.encode import encode
from mate_cli.encoding.features import EncodingOptions, TooLarge
from mate_cli.encoding.tokenizer import CellTokenizer
from mate_cli.system.errors import UserError
from mate_cli.tables.table import Cell, Example, Table
from mate_cli.tables.user_table import read_table
from tests.fuzz.targets import TARGETS, BrokenTable, Target
from tests.fuzz.test_formats import prepared
from tests.tables.releases import SQA_HEADER, WTQ_HEADER

_MEMORY = 2 << 30
_SECONDS = 60.0
_VOCABULARY = Path(__file__).parents[1] / "encoding" / "vocabulary"
_BY_NAME = {target.name: target for target in TARGETS}
_ROWS, _COLUMNS = 100_000, 5_000
_LONG = "a cell, " * (1 << 17)


@pytest.fixture
def little_memory() -> Iterator[None]:
    """What is asked for beyond 2 GB is refused, as on a full machine."""
    before = resource.getrlimit(resource.RLIMIT_AS)
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + _MEMORY, before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_AS, before)


def outcome(target: Target, folder: Path, content: str) -> str:
    (prepared(target, folder) / target.file).write_text(content)
    started = time.process_time()
    try:
        texts = sum(1 for _ in target.read(folder))
    except (UserError, BrokenTable):
        texts = 0
    assert time.process_time() - started < _SECONDS
    return "result" if texts else "clear error"


def csv(rows: int, columns: int, sign: str = ",", text: str = "1") -> str:
    return "\n".join([sign.join(f"c{n}" for n in range(columns)), *[sign.join([text] * columns)] * rows]) + "\n"


def wiki(rows: int, columns: int, text: str = "1") -> str:
    row = [[text, []]] * columns
    return json.dumps({"title": "t", "header": [["h", []]] * columns, "data": [row] * rows})


def html(rows: int, columns: int, text: str = "1") -> str:
    return "<table>" + ("<tr>" + f"<td>{text}</td>" * columns + "</tr>") * (rows + 1) + "</table>"


def lists(rows: int, columns: int, text: str = "1") -> str:
    return json.dumps([[text] * columns] * (rows + 1))


_SHAPES = {"rows": (_ROWS, 2), "columns": (3, _COLUMNS)}
_TABLES = {
    "hybridqa WikiTables-WithLinks/tables_tok/T_0.json": wiki,
    "sqa table_csv/1_1.csv": csv,
    "wtq csv/1-csv/1.csv": csv,
    "corpus tables_tok/t.json": wiki,
    "corpus t.csv": csv,
    "corpus t.html": html,
    "corpus t.json": lists,
    "own table t.csv": csv,
    "own table t.html": html,
    "own table t.json": lists,
}
_QUESTIONS = {
    "hybridqa released_data/dev.traced.json": json.dumps(
        [{"question_id": "q", "question": "?", "table_id": "T_0", "answer-text": "12"}] * _ROWS
    ),
    "sqa test.tsv": SQA_HEADER
    + "".join(f"\ns-{n}\t0\t0\twhat?\ttable_csv/1_1.csv\t['(0, 0)']\t['Birch']" for n in range(_ROWS)),
    "wtq data/random-split-1-train.tsv": WTQ_HEADER + "\nnt-1\twho?\tcsv/1-csv/1.csv\tElm" * _ROWS,
    "tabfact tokenized_data/test_examples.json": json.dumps({"a.html.csv": [["elm"] * _ROWS, [1] * _ROWS, "c"]}),
    "tabfact data/all_csv/a.html.csv": csv(_ROWS, 2, "#"),
    "corpus t.jsonl": (lists(1, 2) + "\n") * _ROWS,
    "predictions submission.json": json.dumps([{"question_id": f"a{n}", "pred": "x"} for n in range(_ROWS)]),
    "predictions p.tsv": "".join(f"nu-{n}\tx\n" for n in range(_ROWS)),
}


@pytest.mark.fuzz
@pytest.mark.usefixtures("little_memory")
@pytest.mark.parametrize("shape", _SHAPES)
@pytest.mark.parametrize("name", _TABLES)
def test_large_tables(name: str, shape: str, tmp_path: Path) -> None:
    found = outcome(_BY_NAME[name], tmp_path, _TABLES[name](*_SHAPES[shape]))
    is_limited = name.startswith("own") or name in ("corpus t.csv", "corpus t.html", "corpus t.json")
    has_links_or_answers = name.startswith(("hybridqa", "sqa"))
    assert found == ("clear error" if is_limited else "result") or has_links_or_answers


@pytest.mark.fuzz
@pytest.mark.usefixtures("little_memory")
@pytest.mark.parametrize("name", _TABLES)
def test_cells_of_a_megabyte(name: str, tmp_path: Path) -> None:
    assert outcome(_BY_NAME[name], tmp_path, _TABLES[name](1, 1, text=_LONG)) in ("result", "clear error")


@pytest.mark.fuzz
@pytest.mark.usefixtures("little_memory")
@pytest.mark.parametrize("name", _QUESTIONS)
def test_files_of_100_000_entries(name: str, tmp_path: Path) -> None:
    found = outcome(_BY_NAME[name], tmp_path, _QUESTIONS[name])
    assert found == ("clear error" if name.startswith("predictions") else "result")


@pytest.mark.usefixtures("little_memory")
@pytest.mark.parametrize("name", ["t.json", "t.html", "t.csv", "t.parquet"])
def test_a_file_without_an_end(name: str, tmp_path: Path) -> None:
    (tmp_path / name).symlink_to("/dev/zero")
    with pytest.raises(UserError, match=r"larger than|longer than|as Parquet"):
        read_table(tmp_path / name)


@pytest.mark.fuzz
@pytest.mark.usefixtures("little_memory")
@pytest.mark.parametrize(("rows", "columns", "text"), [(_ROWS, 2, "elm 2"), (2, _COLUMNS, "elm"), (1, 1, _LONG)])
def test_large_tables_are_encoded_or_too_large(rows: int, columns: int, text: str) -> None:
    row = (Cell(text),) * columns
    example = Example("q", "which elm?", Table("t", row, (row,) * rows))
    started = time.process_time()
    (encoded,) = encode([example], CellTokenizer(_VOCABULARY), EncodingOptions(max_tokens=2048, histogram_row=True))
    assert isinstance(encoded.outcome, TooLarge) == (rows * columns > 1)
    assert time.process_time() - started < _SECONDS
