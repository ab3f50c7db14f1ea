"""No generated question is about a table of a dev or test split of the shared data, by content and by name."""

from __future__ import annotations

import re
import tarfile
from collections.abc import Iterable
from pathlib import Path

import pytest

from mate_cli.tables.formats import FORMATS
from mate_cli.tables.queries.sources import Sources, read_sources
from mate_cli.tables.table import Table

DATA = Path(__file__).resolve().parents[3] / "shared" / "data"
BENCHMARKS = ("sqa", "wtq", "tabfact", "hybridqa")
pytestmark = pytest.mark.oracles


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    unpacked = tmp_path_factory.mktemp("data")
    for name in (*BENCHMARKS, "pretrain"):
        with tarfile.open(DATA / f"{name}.tar.xz") as archive:
            archive.extractall(unpacked, filter="data")
    return unpacked


@pytest.fixture(scope="module")
def sources(folder: Path) -> Sources:
    return read_sources([folder / name for name in (*BENCHMARKS, "pretrain")])


def tables_of(folder: Path, name: str, split: str) -> dict[str, Table]:
    return {e.table.id: e.table for e in FORMATS[name].read_split(folder / name, split).examples}


def rows_of(table: Table) -> frozenset[str]:
    """Return rows as the letters and digits of their cells, in the order of the alphabet."""
    rows = (sorted(re.sub(r"[^a-z0-9]", "", cell.text.lower()) for cell in row) for row in table.rows)
    return frozenset(" ".join(cells).strip() for cells in rows)


def page(name: str) -> str:
    """Return the name that SQA and WikiTableQuestions have for the same table: 203-705."""
    return "-".join(re.findall(r"(\d+)(?:-csv/|_)(\d+)", name)[0])


def test_no_reserved_table_has_most_rows_of_an_asked_one(folder: Path, sources: Sources) -> None:
    asked: dict[str, list[tuple[str, int]]] = {}
    for table in (*sources.train, *sources.dev):
        rows = rows_of(table)
        for row in rows:
            asked.setdefault(row, []).append((table.id, len(rows)))
    leaks = []
    for name, split in ((name, split) for name in BENCHMARKS for split in ("dev", "test")):
        for table in tables_of(folder, name, split).values():
            rows = rows_of(table)
            leaks += [(table.id, other) for other in _with_most(rows, asked)]
    assert leaks == []


def _with_most(rows: frozenset[str], asked: dict[str, list[tuple[str, int]]]) -> Iterable[str]:
    """Yield the tables that share more than half of the rows of the smaller of the two."""
    shared: dict[tuple[str, int], int] = {}
    for row in rows:
        for place in asked.get(row, ()):
            shared[place] = shared.get(place, 0) + 1
    return [name for (name, size), count in shared.items() if count > 0.5 * min(size, len(rows)) and len(rows) > 1]


def test_sqa_and_wikitablequestions_share_tables_by_name(folder: Path, sources: Sources) -> None:
    reserved = {
        page(table) for name in ("sqa", "wtq") for split in ("dev", "test") for table in tables_of(folder, name, split)
    }
    asked = {page(t.id) for t in (*sources.train, *sources.dev) if t.id.startswith(("sqa/", "wtq/"))}
    assert len(asked) > 1000
    assert asked.isdisjoint(reserved)
    trained = {page(table) for name in ("sqa", "wtq") for table in tables_of(folder, name, "train")}
    assert trained & reserved  # the splits do share tables, so there is something to leave out


def test_what_is_left_out_is_counted_and_named(sources: Sources) -> None:
    assert len(sources.left_out["copy of a table of a dev or test split"]) > 1500
    assert len(sources.train) > 15_000
    assert sources.missing == ()
