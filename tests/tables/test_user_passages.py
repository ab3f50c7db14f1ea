"""Links in a user's cells: what is shown, what is linked, and what is missing."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mate_cli.system.errors import UserError
from mate_cli.tables.table import Cell, Table
from mate_cli.tables.user_passages import linked, matched_passages, read_passages

WORDS = st.text(st.characters(exclude_characters="[]|", exclude_categories=("Cs", "Zs", "Cc")), min_size=1, max_size=6)


def _table(*cells: str, header: str = "city") -> Table:
    return Table("t.csv", (Cell(header),), tuple((Cell(cell),) for cell in cells), "t")


@pytest.mark.parametrize(
    ("text", "cell"),
    [
        ("[[Alder]]", Cell("Alder", ("Alder",))),
        ("[[/wiki/Alder|Alder]] and [[Birch]] ", Cell("Alder and Birch", ("/wiki/Alder", "Birch"))),
        ("[[Alder]] [[Alder|again]]", Cell("Alder again", ("Alder",))),
        ("[[Alder|]]", Cell("", ("Alder",))),
        ("a[0][1], [x], [[]], [[a", Cell("a[0][1], [x], [[]], [[a")),
    ],
)
def test_what_a_cell_shows_and_links_to(text: str, cell: Cell) -> None:
    assert linked(_table(text)).rows[0][0] == cell


@given(st.lists(st.tuples(WORDS, WORDS), min_size=1, max_size=4))
def test_every_link_is_found_and_nothing_of_the_markup_stays(links: list[tuple[str, str]]) -> None:
    cell = linked(_table(" ".join(f"[[{key}|{words}]]" for key, words in links))).rows[0][0]
    assert cell.text == " ".join(words for _, words in links)
    assert cell.links == tuple(dict.fromkeys(key for key, _ in links))


def test_passages_that_no_cell_names_are_told_apart() -> None:
    table = linked(_table("[[a]]", "b", header="[[h]]"))
    used, unused = matched_passages(Path("p.json"), {"a": "A", "b": "B", "h": "H"}, table)
    assert used == {"a": "A", "h": "H"}
    assert unused == ["b"]


def test_a_link_without_a_passage() -> None:
    table = linked(_table("[[a]]", "[[b]]", "[[c]]"))
    with pytest.raises(UserError, match=r"p.json: no passage for the link 'b' \(column 'city' of row 1\) and 1 more"):
        matched_passages(Path("p.json"), {"a": "A"}, table)


@pytest.mark.parametrize("content", [["a"], {"a": 1}, {"a": None}])
def test_passages_are_an_object_of_texts(tmp_path: Path, content: object) -> None:
    path = tmp_path / "p.json"
    path.write_text(json.dumps(content))
    with pytest.raises(UserError, match="expected"):
        read_passages(path)
