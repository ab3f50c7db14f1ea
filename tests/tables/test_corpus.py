"""Corpora of tables: what is found in a folder or at an address, in which portions, and what of it is broken."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import fsspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from mate_cli.system.errors import UserError
from mate_cli.tables.corpus import Broken, Corpus, CorpusTable

_WIKIPEDIA: dict[str, Any] = {
    "title": "Rivers",
    "section_title": "Longest",
    "section_text": "",
    "intro": "A river flows.",
    "header": [["Name", []], ["Length", []]],
    "data": [[["Nile", ["/wiki/Nile%C3%A9"]], ["6650", []]], [["Amazon", []], ["6400", []]]],
}


def _all(corpus: Corpus, **portions: int) -> list[CorpusTable | Broken]:
    return [own for portion in corpus.portions(**portions) for own in corpus.read(portion)]


def _tables(corpus: Corpus, **portions: int) -> list[CorpusTable]:
    return [own for own in _all(corpus, **portions) if isinstance(own, CorpusTable)]


def _wikipedia_folder(folder: Path) -> Path:
    for name in ("tables_tok", "request_tok"):
        (folder / name).mkdir(parents=True)
    (folder / "tables_tok" / "Rivers_0.json").write_text(json.dumps(_WIKIPEDIA))
    (folder / "request_tok" / "Rivers_0.json").write_text(json.dumps({"/wiki/Nile%C3%A9": "The Nile is long."}))
    (folder / "LICENSE").write_text("MIT")
    return folder


def test_tables_of_wikipedia_come_with_texts_and_passages_from_any_folder_above(tmp_path: Path) -> None:
    for folder in (_wikipedia_folder(tmp_path / "a" / "b"), tmp_path / "a"):
        (own,) = _tables(Corpus(str(folder)))
        assert own.table.id == "Rivers_0"
        assert own.texts == ("Rivers", "Longest", "A river flows.")
        assert own.passages == {"/wiki/Nileé": "The Nile is long."}
        assert own.table.rows[0][0].links == ("/wiki/Nileé",)


def test_own_tables_of_every_format_are_named_by_their_place(tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "a.csv").write_text("x,y\n1,2\n")
    (tmp_path / "b.json").write_text('[["x", "y"], ["1", "2"]]')
    pq.write_table(pa.table({"x": ["1"], "y": ["2"]}), tmp_path / "c.parquet")
    (tmp_path / ".hidden.csv").write_text("x\n1\n")
    found = _tables(Corpus(str(tmp_path)))
    assert [own.table.id for own in found] == ["b", "c", "deep/a"]
    for own in found:
        assert [cell.text for row in (own.table.header, *own.table.rows) for cell in row] == ["x", "y", "1", "2"]


@pytest.mark.parametrize("line_bytes", [1, 7, 100, 10_000])
def test_portions_of_a_file_of_lines_hold_each_line_once_however_they_are_cut(tmp_path: Path, line_bytes: int) -> None:
    objects = [{**_WIKIPEDIA, "uid": f"é{number}", "passages": {"k": str(number)}} for number in range(5)]
    text = "\n".join(json.dumps(own, ensure_ascii=False) for own in objects)
    (tmp_path / "tables.jsonl").write_text(text.replace("\n", "\n\n", 1))
    found = _tables(Corpus(str(tmp_path)), line_bytes=line_bytes)
    assert [(own.table.id, own.passages["k"]) for own in found] == [(f"é{n}", str(n)) for n in range(5)]


def test_lines_without_a_name_are_named_by_where_they_begin(tmp_path: Path) -> None:
    lines = [json.dumps([["x"], [str(number)]]) for number in range(3)]
    (tmp_path / "t.jsonl").write_text("\n".join(lines))
    starts = [sum(len(line) + 1 for line in lines[:number]) for number in range(3)]
    assert [own.table.id for own in _tables(Corpus(str(tmp_path)))] == [f"t.jsonl:{start}" for start in starts]


def test_files_are_in_portions_in_the_order_of_their_names(tmp_path: Path) -> None:
    for number in range(5):
        (tmp_path / f"{number}.csv").write_text(f"x\n{number}\n")
    portions = Corpus(str(tmp_path)).portions(files=2)
    assert [portion.names for portion in portions] == [("0.csv", "1.csv"), ("2.csv", "3.csv"), ("4.csv",)]


def test_broken_tables_stand_in_their_places_and_say_why(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text('{"header": [')
    (tmp_path / "b.csv").write_text("x,y\n1\n")
    (tmp_path / "c.csv").write_text("x\n1\n")
    (tmp_path / "d.jsonl").write_text('{"rows"\n{"header": [["x", []]], "data": []}\n3\n')
    found = _all(Corpus(str(tmp_path)))
    assert [type(own) for own in found] == [Broken, Broken, CorpusTable, Broken, Broken, Broken]
    reasons = [own.reason for own in found if isinstance(own, Broken)]
    for reason, part in zip(
        reasons, ("a.json: not valid JSON", "b.csv: line 2", "d.jsonl:0", "no rows", "d.jsonl:44"), strict=True
    ):
        assert part in reason
        assert "\n" not in reason
        assert str(tmp_path) not in reason


def test_endings_in_capitals_count(tmp_path: Path) -> None:
    for name in ("a.json", "B.JSON"):
        (tmp_path / name).write_text(json.dumps(_WIKIPEDIA))
    (tmp_path / "C.JSONL").write_text(json.dumps(_WIKIPEDIA) + "\n")
    assert [own.table.id for own in _tables(Corpus(str(tmp_path)))] == ["B", "a", "C.JSONL:0"]


def test_an_address_is_read_like_a_folder(tmp_path: Path) -> None:
    folder = _wikipedia_folder(tmp_path)
    memory = fsspec.filesystem("memory")
    memory.put(str(folder), "/corpus", recursive=True)
    try:
        assert _tables(Corpus("memory://corpus")) == _tables(Corpus(str(folder)))
    finally:
        memory.rm("/corpus", recursive=True)


def test_a_fingerprint_changes_with_the_files(tmp_path: Path) -> None:
    folder = _wikipedia_folder(tmp_path)
    before = Corpus(str(folder)).fingerprint
    assert Corpus(str(folder)).fingerprint == before
    (folder / "more.csv").write_text("x\n1\n")
    assert Corpus(str(folder)).fingerprint != before


@pytest.mark.parametrize("where", ["nowhere", "unknown://x/y", "empty"])
def test_a_corpus_without_tables_is_one_line(tmp_path: Path, where: str) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "empty" / "notes.md").write_text("no table")
    with pytest.raises(UserError, match=r"^data_dir=.*") as error:
        Corpus(where if "://" in where else str(tmp_path / where))
    assert "\n" not in str(error.value)
