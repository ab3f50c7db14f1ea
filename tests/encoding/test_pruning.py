"""HEM: which columns stay, that the rest is encoded as if the others were not there, and what becomes of answers."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from mate_cli.attention import PatternPlanner
from mate_cli.encoding.batch import Collator
from mate_cli.encoding.cache import cache_key
from mate_cli.encoding.encode import encode, row_of
from mate_cli.encoding.features import ARRAYS, Encoded, EncodingOptions, Features
from mate_cli.encoding.report import outcome_of, summarise
from mate_cli.encoding.tokenizer import CellTokenizer
from mate_cli.tables.table import Cell, Example, Table
from tests.encoding.test_cache import Source, make_examples
from tests.encoding.test_encode import examples

STEMS = {"players": "player", "running": "run", "café": "café", "unbelievable": "unbeliev"}
"""Of the words that ``examples`` draws, those that are not their own stem."""


def hem(example: Example, tokenizer: CellTokenizer, **options: object) -> Encoded:
    chosen = EncodingOptions(prune="hem", **options)  # type: ignore[arg-type]
    return encode([example], tokenizer, chosen)[0]


def kept_columns(encoded: Encoded) -> list[int]:
    return [int(column) - 1 for column in np.unique(encoded.features.column) if column]


def stems_by_hand(texts: list[str]) -> set[str]:
    """The stems of texts, each of the words that ``examples`` draws."""
    stems = set()
    for text in texts:
        bare = [] if text == "n/a" else text.lower().replace("n/a", "n a").replace("-", " ").replace(",", " ").split()
        stems |= {STEMS.get(word, word) for word in bare or ["empti"]}
    return stems


def without_columns(table: Table, kept: list[int]) -> Table:
    lines = [tuple(line[column] for column in kept) for line in (table.header, *table.rows)]
    return replace(table, header=lines[0], rows=tuple(lines[1:]))


@settings(max_examples=40)
@given(examples(), st.integers(10, 60))
def test_the_nearest_columns_stay_and_are_encoded_as_if_alone(
    tokenizer: CellTokenizer, example: Example, max_tokens: int
) -> None:
    encoded = hem(example, tokenizer, max_tokens=max_tokens)
    plain = encode([example], tokenizer, EncodingOptions(max_tokens))[0]
    assert encoded.full_length == plain.full_length
    if not isinstance(encoded.outcome, Features):
        assert encoded.outcome == plain.outcome
        return
    kept = kept_columns(encoded)
    assert encoded.pruned == example.table.num_columns - len(kept)
    if encoded.pruned:
        assert kept == best_columns(example, tokenizer, max_tokens)
        assert_encoded_as_if_alone(example, encoded, kept, tokenizer)
    else:
        assert isinstance(plain.outcome, Features)
        assert encoded.outcome.input_ids.tolist() == plain.outcome.input_ids.tolist()


def best_columns(example: Example, tokenizer: CellTokenizer, max_tokens: int) -> list[int]:
    """The columns that stay, one after the other, from lengths of whole encodings and from ``stems_by_hand``."""
    head, columns = full_length(example, tokenizer, []), range(example.table.num_columns)
    cells = [[line[c].text for line in (example.table.header, *example.table.rows)] for c in columns]
    asked, answered = stems_by_hand([example.question]), {column for _, column in example.previous}
    score = [len(asked & own) / len(asked | own) for own in map(stems_by_hand, cells)]
    kept: list[int] = []
    for column in sorted(columns, key=lambda c: (c not in answered, -score[c], c)):
        needed = sum(full_length(example, tokenizer, [own]) - head for own in [*kept, column])
        kept += [column] if head + needed <= max_tokens else []
    return sorted(kept)


def assert_encoded_as_if_alone(example: Example, encoded: Encoded, kept: list[int], tokenizer: CellTokenizer) -> None:
    features, narrow = encoded.features, encode([alone(example, kept)], tokenizer, EncodingOptions())[0].features
    for name in set(ARRAYS) - {"column", "labels", "prev_label"}:
        np.testing.assert_array_equal(getattr(features, name), getattr(narrow, name), err_msg=name)
    np.testing.assert_array_equal(features.cell_value, narrow.cell_value)
    assert features.column.tolist() == [kept[c - 1] + 1 if c else 0 for c in narrow.column]
    for cells, name in ((example.candidates, "labels"), (example.previous, "prev_label")):
        marked = getattr(features, name) > 0
        found = zip(features.row[marked].tolist(), features.column[marked].tolist(), strict=True)
        assert {(row - 1, column - 1) for row, column in found} == {place for place in cells if place[1] in kept}


def full_length(example: Example, tokenizer: CellTokenizer, columns: list[int]) -> int:
    return encode([alone(example, columns)], tokenizer, EncodingOptions())[0].full_length


def alone(example: Example, columns: list[int]) -> Example:
    return Example("alone", example.question, without_columns(example.table, columns))


GAMES = Table(
    "games",
    tuple(map(Cell, ("year", "players", "team"))),
    ((Cell("2005"), Cell("the red running volcano"), Cell("jets")), (Cell("2006"), Cell("the"), Cell("reds"))),
)


def asked(question: str, **known: object) -> Example:
    return Example("q", question, GAMES, **known)  # type: ignore[arg-type]


def narrow(example: Example, tokenizer: CellTokenizer, columns: list[int], **options: object) -> Encoded:
    """With room for just these columns."""
    return hem(example, tokenizer, max_tokens=full_length(example, tokenizer, columns), **options)


def test_words_are_compared_by_their_stems(tokenizer: CellTokenizer) -> None:
    assert kept_columns(narrow(asked("a runs"), tokenizer, [1])) == [1]
    assert kept_columns(narrow(asked("in 2006"), tokenizer, [0])) == [0]


def test_of_a_conversation_all_questions_count_and_the_answer_before_most(tokenizer: CellTokenizer) -> None:
    then = asked("and then?", earlier=("in 2006?",))
    assert kept_columns(narrow(then, tokenizer, [0])) == [0]
    both = replace(asked("and the red player?", earlier=("in 2006?",)), previous=((0, 2),))
    assert 2 in kept_columns(narrow(both, tokenizer, [2]))


def test_an_answer_that_is_lost_is_not_learnt(tokenizer: CellTokenizer) -> None:
    """Of alternatives those that are left are; of an answer of several cells nothing is."""
    example = asked("in 2006", candidates=((0, 0), (0, 2)), answers=("2005",))
    left = narrow(example, tokenizer, [0])
    assert row_of(example, left)["has_candidate"]
    assert (left.answer_in_input, left.features.labels.sum() > 0) == (True, True)
    lost = narrow(example, tokenizer, [0], whole_answer=True)
    assert not lost.features.labels.any()
    assert not row_of(example, lost)["has_candidate"]
    assert not lost.answer_in_input
    whole = hem(example, tokenizer, whole_answer=True)
    assert (whole.pruned, whole.features.labels.sum() > 1) == (0, True)
    report = summarise([outcome_of(example, own) for own in (left, lost, whole)], 3, 0, 100)
    assert (report.cut, report.pruned, report.answer_pruned, report.with_candidate) == (2, 2, 1, 2)


def test_where_no_column_fits_cells_are_cut(tokenizer: CellTokenizer) -> None:
    long = Table("long", (Cell("year"), Cell("team")), ((Cell("red " * 30), Cell("the " * 30)),))
    example = Example("q", "who", long)
    encoded, plain = hem(example, tokenizer, max_tokens=20), encode([example], tokenizer, EncodingOptions(20))[0]
    assert (encoded.pruned, len(encoded.features)) == (0, len(plain.features))
    assert kept_columns(encoded) == [0, 1]


def test_the_numbers_of_a_batch_are_those_of_its_cells(tokenizer: CellTokenizer) -> None:
    rows = tuple(tuple(map(Cell, row)) for row in (("red", "3", "york"), ("blue", "5", "queen")))
    example = Example("q", "who has 5 in york", Table("t", tuple(map(Cell, ("team", "of", "in"))), rows))
    whole = encode([example], tokenizer, EncodingOptions())[0]
    left = hem(example, tokenizer, max_tokens=len(whole.features) - 1)
    batch = Collator(PatternPlanner(("full",)))([row_of(example, own) for own in (left, whole, left)])
    assert batch.cell_column.tolist() == [1, 2, 1, 2, 0, 1, 2, 0, 1, 2, 1, 2, 1, 2]
    numbers = dict(zip(((1, 0), (1, 1)), (3.0, 5.0), strict=True))
    places = zip(batch.cell_column.tolist(), batch.cell_row.tolist(), strict=True)
    np.testing.assert_array_equal(batch.cell_value, [numbers.get(place, np.nan) for place in places])


def test_it_makes_another_cache(tokenizer: CellTokenizer, tmp_path: Path) -> None:
    source = Source(tmp_path / "none", make_examples())  # type: ignore[arg-type]
    keys = {cache_key(source, tokenizer, EncodingOptions(prune=name)) for name in ("none", "hem")}  # type: ignore[arg-type]
    assert len(keys) == 2
