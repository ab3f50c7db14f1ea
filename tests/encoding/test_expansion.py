"""Which sentences join which cells. The release's own vectors are in tests/oracles."""

from __future__ import annotations

import math
import re
from collections import Counter
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mate_cli.encoding.encode import encode
from mate_cli.encoding.expansion import SentenceRanker, expand
from mate_cli.encoding.features import EncodingOptions
from mate_cli.encoding.tokenizer import CellTokenizer
from mate_cli.tables.table import Cell, Example, Table
from mate_cli.tables.text import split_sentences

PASSAGES = {
    "/wiki/Red": "Red is a river. It runs past York. The king lived there.",
    "/wiki/Blue": "Blue is a town. The king lived there.",
}
TABLE = Table(
    "t",
    (Cell("name", ("/wiki/Red",)), Cell("place")),
    (
        (Cell("red", ("/wiki/Red",)), Cell("york")),
        (Cell("both", ("/wiki/Blue", "/wiki/Red", "/wiki/Blue")), Cell("", ("/wiki/Nowhere",))),
    ),
)


def terms(text: str) -> list[str]:
    words = re.findall(r"\b\w\w+\b", text.lower())
    return words + [f"{first} {second}" for first, second in pairwise(words)]


def tfidf(texts: list[str], known: list[str]) -> list[dict[str, float]]:
    """Smooth idf over ``known``, terms in over 9 of 10 of them dropped, unit length; from the definition."""
    document_frequency = Counter(term for text in known for term in set(terms(text)))
    vectors = []
    for text in texts:
        counts = Counter(terms(text))
        weights = {
            term: count * (math.log((1 + len(known)) / (1 + document_frequency[term])) + 1)
            for term, count in counts.items()
            if 0 < document_frequency[term] <= 0.9 * len(known)
        }
        norm = math.sqrt(sum(weight**2 for weight in weights.values())) or 1.0
        vectors.append({term: weight / norm for term, weight in weights.items()})
    return vectors


VOCABULARY = ("red", "blue", "king", "town", "york", "river", "lived", "Is", "the", "a")
WORDS = st.lists(st.sampled_from(VOCABULARY), min_size=1, max_size=6)


@given(st.lists(WORDS, min_size=2, max_size=6), st.lists(WORDS, min_size=1, max_size=3), st.integers(0, 6))
def test_ranking_from_the_definition(passages: list[list[str]], questions: list[list[str]], k: int) -> None:
    texts = {str(number): " ".join(words) for number, words in enumerate(passages)}
    asked = [" ".join(words) for words in questions]
    ranker = SentenceRanker(texts)
    known = tfidf(ranker.sentences, ranker.sentences)
    if not any(known):
        assert ranker.top(asked, k) == [ranker.sentences[:k]] * len(asked)
        return
    expected = [
        [sum(own.get(term, 0.0) * weight for term, weight in query.items()) for own in known]
        for query in tfidf(asked, ranker.sentences)
    ]
    np.testing.assert_allclose(ranker.scores(asked), expected, atol=1e-12)
    for scores, top in zip(ranker.scores(asked), ranker.top(asked, k), strict=True):
        order = sorted(range(len(scores)), key=lambda number: (-scores[number], number))
        assert top == [ranker.sentences[number] for number in order if scores[number] > 0][:k]


def test_sentences() -> None:
    text = "  Dr. Smith of the U.S. Navy won.  He died!  (Really.) "
    assert split_sentences(text) == ["Dr. Smith of the U.S. Navy won.", "He died!", "(Really.)"]
    assert split_sentences(" \n ") == []


def test_sentences_are_added_where_their_passage_is_linked() -> None:
    ranker = SentenceRanker(PASSAGES)
    chosen = ["The king lived there.", "Red is a river."]
    assert expand(TABLE, ranker.by_link, chosen, "both") == [
        "name",  # links of the header add nothing
        "place",
        "red ( Red is a river. The king lived there. )",
        "york",
        "both ( The king lived there. ) ( Red is a river. The king lived there. )",
        "",
    ]


def test_passages_alone_and_table_alone() -> None:
    ranker = SentenceRanker(PASSAGES)
    chosen = ["Blue is a town.", "Red is a river."]
    assert expand(TABLE, ranker.by_link, chosen, "passages") == [
        *("name", "place", "Red is a river.", ""),
        *("Blue is a town. Red is a river.", ""),
    ]
    plain = ["name", "place", "red", "york", "both", ""]
    assert expand(TABLE, ranker.by_link, chosen, "table") == plain
    assert expand(TABLE, ranker.by_link, [], "both") == plain


def test_a_sentence_of_two_passages_takes_two_places() -> None:
    (top,) = SentenceRanker(PASSAGES).top(["king lived there"], 2)
    assert top == ["The king lived there."] * 2


@pytest.mark.parametrize(
    ("passages", "sentences"),
    [({"/wiki/Red": "Red is a river."}, ["Red is a river."]), ({}, []), ({"/wiki/Red": ""}, [])],
)
def test_what_cannot_be_ranked_is_kept(passages: dict[str, str], sentences: list[str]) -> None:
    """The release drops such examples, where scikit-learn refuses to fit."""
    assert SentenceRanker(passages).top(["something else", "?"], 5) == [sentences] * 2


def length(tokenizer: CellTokenizer, passages: dict[str, str], **options: object) -> int:
    example = Example("q", "where is the river", TABLE, passages=passages)
    return encode([example], tokenizer, EncodingOptions(**options))[0].full_length  # type: ignore[arg-type]


def test_options_reach_the_tokens(tokenizer: CellTokenizer) -> None:
    plain = length(tokenizer, {})
    assert length(tokenizer, PASSAGES, input="table") == length(tokenizer, PASSAGES, sentences=0) == plain
    one, five = length(tokenizer, PASSAGES, sentences=1), length(tokenizer, PASSAGES, sentences=5)
    assert plain < one < five


def test_questions_of_one_table_get_their_own_sentences(tokenizer: CellTokenizer) -> None:
    asked = ["where is the river", "which town", "who"]
    examples = [Example(str(i), text, TABLE, passages=PASSAGES) for i, text in enumerate(asked)]
    options = EncodingOptions(sentences=1)
    together = encode(examples, tokenizer, options)
    alone = [encode([example], tokenizer, options)[0] for example in examples]
    assert [e.features.input_ids.tolist() for e in together] == [e.features.input_ids.tolist() for e in alone]
    assert len({tuple(e.features.input_ids.tolist()[-25:]) for e in together}) == 3


def test_all_sentences_join_every_cell_that_links_to_them(tokenizer: CellTokenizer) -> None:
    """``task.expansion=all``: what the ranker would choose if it could choose without end."""
    every = EncodingOptions(sentences=None)
    asked = [Example(str(n), text, TABLE, passages=PASSAGES) for n, text in enumerate(["where is the king", "?"])]
    red, blue = "Red is a river. It runs past York. The king lived there.", "Blue is a town. The king lived there."
    plain = ["name", "place", f"red ( {red} )", "york", f"both ( {blue} ) ( {red} )", ""]
    written = Table("t", (Cell("name"), Cell("place")), tuple(zip(*[map(Cell, plain[2:])] * 2, strict=True)))
    for example, encoded in zip(asked, encode(asked, tokenizer, every), strict=True):
        (expected,) = encode([Example("q", example.question, written)], tokenizer, EncodingOptions())
        assert encoded.features.input_ids.tolist() == expected.features.input_ids.tolist()
    assert length(tokenizer, PASSAGES, sentences=None) > length(tokenizer, PASSAGES, sentences=3)
    assert length(tokenizer, PASSAGES, sentences=None, input="table") == length(tokenizer, {})


def test_all_sentences_are_cut_like_others(tokenizer: CellTokenizer) -> None:
    example = Example("q", "where", TABLE, passages=PASSAGES)
    (whole,) = encode([example], tokenizer, EncodingOptions(sentences=None))
    (cut,) = encode([example], tokenizer, EncodingOptions(max_tokens=whole.full_length - 1, sentences=None))
    assert len(cut.features) <= whole.full_length - 1
    assert set(zip(cut.features.row, cut.features.column, strict=True)) == set(
        zip(whole.features.row, whole.features.column, strict=True)
    )
