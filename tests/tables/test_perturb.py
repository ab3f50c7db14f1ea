"""Perturbed tables: cells go along with their rows and columns, and what is added is from elsewhere."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mate_cli.config.analysis import PERTURBATIONS as KINDS
from mate_cli.tables.perturb import Perturbation, arrangements
from mate_cli.tables.table import Cell, Example, Table


def example_of(name, rows, columns, cells=(), links=False):
    """A table whose texts are all different, and name their table."""
    header = tuple(Cell(f"{name} head {column}") for column in range(columns))
    body = tuple(
        tuple(Cell(f"{name} {row} {column}", (f"/{name}/{row}",) * links) for column in range(columns))
        for row in range(rows)
    )
    passages = {f"/{name}/{row}": f"about {name} {row}" for row in range(rows)} if links else {}
    table = Table(name, header, body)
    return Example(name, "?", table, ("x",), passages, candidates=cells, traced=cells[:1], previous=cells)


@st.composite
def splits(draw):
    """A table with answer cells, and up to three others of any size."""
    sizes = draw(st.lists(st.tuples(st.integers(0, 5), st.integers(1, 4)), min_size=1, max_size=4))
    (rows, columns), *others = [(max(sizes[0][0], 1), sizes[0][1]), *sizes[1:]]
    cells = draw(st.sets(st.tuples(st.integers(0, rows - 1), st.integers(0, columns - 1)), max_size=4))
    own = example_of("own", rows, columns, tuple(sorted(cells)), links=True)
    return [own, *(example_of(f"t{number}", *size, links=True) for number, size in enumerate(others))]


def lines(table):
    """Each column with its header, in any order."""
    return Counter(zip(table.header, *table.rows, strict=True))


def texts(example, cells):
    return {example.table.rows[row][column].text for row, column in cells}


@given(splits(), st.sampled_from(KINDS), st.integers(0, 3), st.floats(0.01, 3))
def test_answers_stay_what_they_are(examples, kind, seed, share):
    before = examples[0]
    arrangement = arrangements(examples, Perturbation(kind, seed, share))["own"]
    after = arrangement.applied(before)
    for name in ("candidates", "traced", "previous"):
        cells = getattr(after, name)
        assert texts(after, cells) == texts(before, getattr(before, name))
        assert list(cells) == sorted(cells)
        assert {arrangement.origin(cell) for cell in cells} == set(getattr(before, name))
    for row, cells in enumerate(after.table.rows):
        for column, cell in enumerate(cells):
            place = arrangement.origin((row, column))
            assert place is None or before.table.rows[place[0]][place[1]] == cell
    assert {link for row in after.table.rows for cell in row for link in cell.links} <= after.passages.keys()
    assert after.table.id == "own"


@given(splits(), st.integers(0, 3))
def test_shuffling_keeps_rows_and_columns_whole(examples, seed):
    before = examples[0].table
    rows = arrangements(examples, Perturbation("rows", seed))["own"]
    assert rows.table.header == before.header
    assert Counter(rows.table.rows) == Counter(before.rows)
    columns = arrangements(examples, Perturbation("columns", seed))["own"].table
    assert Counter(zip(columns.header, *columns.rows, strict=True)) == Counter(
        zip(before.header, *before.rows, strict=True)
    )
    assert rows.is_new == (before.num_rows > 1)


@given(splits(), st.integers(0, 3), st.floats(0.01, 3))
def test_distractors_come_from_other_tables(examples, seed, share):
    before = examples[0].table
    arrangement = arrangements(examples, Perturbation("distractors", seed, share))["own"]
    kept = [row for row, place in zip(arrangement.table.rows, arrangement.rows, strict=True) if place is not None]
    added = [row for row, place in zip(arrangement.table.rows, arrangement.rows, strict=True) if place is None]
    assert tuple(kept) == before.rows
    assert [place for place in arrangement.rows if place is not None] == list(range(before.num_rows))
    width = min((abs(e.table.num_columns - before.num_columns) for e in examples[1:] if e.table.rows), default=None)
    sources = {example.table.id: example.table for example in examples}
    for row in added:
        source = sources[row[0].text.split()[0]]
        assert source.id != "own"
        assert abs(source.num_columns - before.num_columns) == width
        shared = min(source.num_columns, before.num_columns)
        assert row[:shared] in [own[:shared] for own in source.rows]
        assert all(cell == Cell("") for cell in row[shared:])
    assert bool(added) == (width is not None)
    assert len(added) <= max(1, round(share * before.num_rows))


def test_the_size_of_what_is_added():
    examples = [example_of("own", 10, 2), example_of("a", 30, 2), example_of("b", 30, 3)]
    counts = {
        share: len(arrangements(examples, Perturbation("distractors", 0, share))["own"].rows)
        for share in (0.01, 0.5, 2)
    }
    assert counts == {0.01: 11, 0.5: 15, 2: 30}


@pytest.mark.parametrize("kind", KINDS)
def test_the_seed_decides_and_questions_share_a_table(kind):
    examples = [example_of("own", 6, 6), example_of("own", 6, 6), *(example_of(f"t{n}", 6, 6) for n in range(4))]
    first, again, other = (arrangements(examples, Perturbation(kind, seed)) for seed in (0, 0, 1))
    assert first == again
    assert first["own"].table != other["own"].table
    one, two = (first["own"].applied(example) for example in examples[:2])
    assert one.table is two.table
    assert one.passages is two.passages
