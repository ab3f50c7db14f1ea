"""Examples to features: expand, tokenise every distinct text once, linearise, cut, label."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from mate_cli.encoding.answer_in_input import AnswerSearch
from mate_cli.encoding.expansion import SentenceRanker, expand, sentences_by_link
from mate_cli.encoding.features import ARRAYS, NO_SPAN, Encoded, EncodingOptions, Features
from mate_cli.encoding.histogram import histogram_row
from mate_cli.encoding.linearize import TableText, linearize
from mate_cli.encoding.tokenizer import CellTokenizer
from mate_cli.tables.table import Example


def encode(examples: Sequence[Example], tokenizer: CellTokenizer, options: EncodingOptions) -> list[Encoded]:
    """Encode examples, in order; fastest where those that share a ``Table`` object come in one call.

    An example that does not fit at one word a cell gets a ``TooLarge``; nothing is raised for it.
    """
    texts = _TextNumbers()
    questions = [texts.number(example.question) for example in examples]
    tables = [texts.numbers(cells) for cells in _table_texts(examples, options)]
    search = AnswerSearch(examples, texts.number)
    pieces = tokenizer.batch(list(texts.by_text), characters=options.spans)
    encoded = []
    for number, example in enumerate(examples):
        text = _place(example, questions[number], tables[number])
        outcome, full_length = linearize(text, pieces, tokenizer, options)
        found = isinstance(outcome, Features) and search.finds(number, outcome, pieces, tokenizer)
        span = NO_SPAN
        if options.spans and isinstance(outcome, Features):
            span = search.first_span(number, outcome, pieces, tokenizer)
        encoded.append(Encoded(outcome, full_length, found, span))
    return encoded


def row_of(example: Example, features: Features) -> dict[str, Any]:
    """What batches are made of, and a row of the cache: the arrays of an example and what is known of it."""
    return {
        "id": example.id,
        "subset": example.subset,
        "reasoning": example.reasoning,
        "candidate_rows": [row for row, _ in example.candidates],
        "candidate_columns": [column for _, column in example.candidates],
        "has_candidate": bool(example.candidates),
        "length": len(features),
    } | {name: getattr(features, name) for name in ARRAYS}


def reading_row_of(example: Example, encoded: Encoded) -> dict[str, Any]:
    """``row_of``, and what a reader needs besides: the answers, where they stand, the texts that spans are cut from."""
    characters = encoded.features.characters
    assert characters is not None, "encoded without spans"
    first, last = encoded.answer_span
    return row_of(example, encoded.features) | {
        "answers": list(example.answers or ()),
        "texts": [cell.text for row in example.table.rows for cell in row],
        "span_first": first,
        "span_last": last,
        "char_start": characters[:, 0],
        "char_end": characters[:, 1],
    }


class _TextNumbers:
    """Numbers distinct texts in the order in which they come."""

    def __init__(self) -> None:
        self.by_text: dict[str, int] = {}

    def number(self, text: str) -> int:
        return self.by_text.setdefault(text, len(self.by_text))

    def numbers(self, texts: list[str]) -> np.ndarray:
        return np.fromiter(map(self.number, texts), np.int64, len(texts))


def _table_texts(examples: Sequence[Example], options: EncodingOptions) -> list[list[str]]:
    """The cell texts of each example, header first; examples of one table object share its TF-IDF fit."""
    by_table: dict[tuple[int, int], list[int]] = {}
    for number, example in enumerate(examples):
        by_table.setdefault((id(example.table), id(example.passages)), []).append(number)
    texts: dict[int, list[str]] = {}
    for numbers in by_table.values():
        texts.update(zip(numbers, _texts_of_table([examples[n] for n in numbers], options), strict=True))
    return [texts[number] for number in range(len(examples))]


def _texts_of_table(examples: list[Example], options: EncodingOptions) -> list[list[str]]:
    """The cell texts of examples about one table."""
    table, passages = examples[0].table, examples[0].passages
    last = histogram_row(table) if options.histogram_row and options.input != "passages" else []
    if options.input == "table" or not passages or options.sentences == 0:
        return [expand(table, {}, (), options.input) + last] * len(examples)
    if options.sentences is None:
        by_link = sentences_by_link(passages)
        every = [sentence for own in by_link.values() for sentence in own]
        return [expand(table, by_link, every, options.input) + last] * len(examples)
    ranker = SentenceRanker(passages)
    chosen = ranker.top([example.question for example in examples], options.sentences)
    return [expand(table, ranker.by_link, own, options.input) + last for own in chosen]


def _place(example: Example, question: int, cells: np.ndarray) -> TableText:
    columns = example.table.num_columns
    is_candidate = np.zeros(len(cells), dtype=bool)
    is_candidate[[(row + 1) * columns + column for row, column in example.candidates]] = True
    return TableText(example.table.id, example.table.num_rows, columns, question, cells, is_candidate)
