"""Supervision from answer texts, the csv reading of WikiTableQuestions, and the counts of the shared data."""

from __future__ import annotations

import json
import tarfile
from pathlib import Path
from typing import Any

import pytest

from mate_cli.tables.formats import FORMATS
from mate_cli.tables.supervision import SupervisionFinder
from mate_cli.tables.table import Cell, Table
from mate_cli.tables.wtq import read_split

SHARED = Path(__file__).resolve().parents[3] / "shared"
pytestmark = pytest.mark.oracles

_NOT_READ = ("float_field_overrides_text", "empty")
"""Cases that our files cannot hold: a field that says another number than the text, and no answer at all."""


@pytest.fixture(scope="module")
def oracle() -> dict[str, Any]:
    return json.loads((SHARED / "oracles" / "j_metrics.json").read_text())  # type: ignore[no-any-return]


def test_cells_and_values_of_the_release(oracle: dict[str, Any]) -> None:
    parser = oracle["supervision_parser"]
    rows = tuple(tuple(map(Cell, row)) for row in parser["table"])
    finder = SupervisionFinder(Table("t", (Cell(""),) * len(rows[0]), rows))
    compared = 0
    for case in parser["cases"]:
        if case["name"] in _NOT_READ:
            continue
        found = finder.find(case["answer_texts"], strict=case["mode"] == "REMOVE_ALL_STRICT")
        expected = case["result"]
        assert bool(found.problem) == ("error" in expected), case
        if "error" not in expected:
            assert [list(cell) for cell in found.cells] == expected["answer_coordinates"], case
            assert found.value == expected["float_value"], case
        compared += 1
    assert compared == 30


def test_csv_reading_of_the_release_but_for_its_marks(oracle: dict[str, Any], tmp_path: Path) -> None:
    """Empty cells and "N/A" are "nan" there, repeated and empty headers get names; here they stay (note 19)."""
    case = oracle["wtq_csv"]
    for file, text in (
        ("csv/1-csv/2.csv", case["csv"]),
        ("data/pristine-unseen-tables.tsv", "id\tutterance\tcontext\ttargetValue\nq\tw\tcsv/1-csv/2.csv\tC\n"),
    ):
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / file).write_text(text, encoding="utf-8")
    table = read_split(tmp_path, "test").examples[0].table
    assert [cell.text for cell in table.header] == ["Name", "Val", "Name", ""]
    cells = [[cell.text for cell in row] for row in table.rows]
    marked = [["nan" if text in ("", "n/a", "null") else text for text in row] for row in cells]
    assert marked == case["cells"]
    assert cells != case["cells"]


@pytest.mark.parametrize(
    ("name", "questions", "tables"),
    [
        ("sqa", {"train": 12_276, "dev": 2_265, "test": 2_842}, {"train": 692, "dev": 148, "test": 173}),
        ("wtq", {"dev": 2_831, "test": 4_044}, {"dev": 346, "test": 389}),
        ("tabfact", {"dev": 12_792, "test": 12_479}, {"dev": 1_696, "test": 1_650}),
    ],
)
def test_counts_of_the_shared_data(
    name: str, questions: dict[str, int], tables: dict[str, int], tmp_path: Path
) -> None:
    with tarfile.open(SHARED / "data" / f"{name}.tar.xz") as archive:
        archive.extractall(tmp_path, filter="data")
    for split, count in questions.items():
        read = FORMATS[name].read_split(tmp_path / name, split)
        assert (read.questions, read.missing_tables) == (count, 0)
        assert len({id(example.table) for example in read.examples}) == tables[split]
        assert len({example.id for example in read.examples}) == count
        if name == "sqa":  # every answer text is that of its cell
            for e in read.examples:
                assert sorted(e.answers or ()) == sorted(e.table.rows[r][c].text for r, c in e.candidates)
