"""Encode examples: expand cells, tokenize each distinct text once, prune, linearize, cut, label."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from mate_cli.encoding.answer_in_input import AnswerSearch
from mate_cli.encoding.expansion import SentenceRanker, expand, histogram_row, sentences_by_link
from mate_cli.encoding.features import ARRAYS, NO_ANSWER, NO_SPAN, Encoded, EncodingOptions, Features
from mate_cli.encoding.linearize import TableText, linearize
from mate_cli.encoding.pruning import ColumnPruner
from mate_cli.encoding.tokenizer import CellTokenizer
from mate_cli.tables.aggregation import OPERATORS, operator_named
from mate_cli.tables.columns import ColumnValues, column_values
from mate_cli.tables.everyday_values import question_values
from mate_cli.tables.table import Coordinate, Example
from mate_cli.tables.values import find_values

_VALUE_ARRAYS = ("column_rank", "inv_column_rank", "numeric_relation")


def encode(examples: Sequence[Example], tokenizer: CellTokenizer, options: EncodingOptions) -> list[Encoded]:
    """Encode examples, in order; examples that share a ``Table`` object are fastest in one call.

    An example that does not fit at one word per cell gets a ``TooLarge``; nothing is raised.
    """
    numbers: dict[str, int] = {}  # of distinct texts, in order of first appearance

    def number_of(text: str) -> int:
        return numbers.setdefault(text, len(numbers))

    questions = [number_of(example.question) for example in examples]
    tables = [np.array([*map(number_of, cells)], np.int64) for cells in _table_texts(examples, options)]
    values = _values_by_table(examples, options)
    search = AnswerSearch(examples, number_of)
    pieces = tokenizer.batch(list(numbers), characters=options.spans)
    pruner = ColumnPruner(list(numbers), pieces, options) if options.prune == "hem" else None
    encoded = []
    for number, example in enumerate(examples):
        text = _table_text(example, questions[number], tables[number], values.get(id(example.table)))
        text = pruner.pruned(text, example) if pruner else text
        outcome, full_length = linearize(text, pieces, tokenizer, options)
        has_answer, span = False, NO_SPAN
        if isinstance(outcome, Features):
            has_answer = search.finds(number, outcome, pieces, tokenizer)
            if options.spans:
                span = search.first_span(number, outcome, pieces, tokenizer)
        pruned = 0 if text.kept is None else int((~text.kept).sum())
        encoded.append(Encoded(outcome, full_length, has_answer, span, pruned))
    return encoded


def rows_that_fit(
    examples: Sequence[Example], tokenizer: CellTokenizer, options: EncodingOptions
) -> list[dict[str, Any]]:
    """Return ``row_of`` the examples that fit, in order."""
    encoded = zip(examples, encode(examples, tokenizer, options), strict=True)
    return [row_of(example, result) for example, result in encoded if isinstance(result.outcome, Features)]


def row_of(example: Example, encoded: Encoded) -> dict[str, Any]:
    """Return a row of the cache, which batches are made of: the arrays of an example and its targets.

    With spans, for a reader, also the answers, their span, the texts of the cells and the characters of each token.

    Raises:
        UserError: the example did not fit.
    """
    features, (first, last) = encoded.features, encoded.answer_span
    row: dict[str, Any] = {
        "id": example.id,
        "subset": example.subset,
        "reasoning": example.reasoning,
        "candidate_rows": [row for row, _ in example.candidates],
        "candidate_columns": [column for _, column in example.candidates],
        "has_candidate": bool(features.labels.any()),
        "answer_value": math.nan if example.value is None else example.value,
        "label": -1 if example.label is None else example.label,
        "operator": _operator(example),
        "length": len(features),
        "cell_value": features.cell_value,
    } | {name: getattr(features, name) for name in ARRAYS}
    if features.characters is None:
        return row
    return row | {
        "answers": list(example.answers or ()),
        "texts": [cell.text for row in example.table.rows for cell in row],
        "span_first": first,
        "span_last": last,
        "char_start": features.characters[:, 0],
        "char_end": features.characters[:, 1],
    }


def _operator(example: Example) -> int:
    """Return the place of the operator in ``OPERATORS``, -1 if it is unknown, or ``NO_ANSWER``."""
    if example.answers == ():
        return NO_ANSWER
    return -1 if example.operator is None else OPERATORS.index(operator_named(example.operator))


def _table_texts(examples: Sequence[Example], options: EncodingOptions) -> list[list[str]]:
    """Return the cell texts of each example, header first; examples of one table object share its TF-IDF fit."""
    by_table: dict[tuple[int, int], list[int]] = {}
    for number, example in enumerate(examples):
        by_table.setdefault((id(example.table), id(example.passages)), []).append(number)
    texts: dict[int, list[str]] = {}
    for numbers in by_table.values():
        texts.update(zip(numbers, _texts_of_table([examples[n] for n in numbers], options), strict=True))
    return [texts[number] for number in range(len(examples))]


def _texts_of_table(examples: list[Example], options: EncodingOptions) -> list[list[str]]:
    """Return the cell texts of examples about one table."""
    table, passages = examples[0].table, examples[0].passages
    last = histogram_row(table) if options.histogram_row and options.input != "passages" else []
    if options.input == "table" or not passages or options.sentences == 0:
        return [expand(table, {}, (), options.input) + last] * len(examples)
    if options.sentences is None:
        by_link = sentences_by_link(passages)
        sentences = [sentence for passage in by_link.values() for sentence in passage]
        return [expand(table, by_link, sentences, options.input) + last] * len(examples)
    ranker = SentenceRanker(passages)
    chosen = ranker.top([example.question for example in examples], options.sentences)
    return [expand(table, ranker.by_link, sentences, options.input) + last for sentences in chosen]


def _values_by_table(examples: Sequence[Example], options: EncodingOptions) -> dict[int, ColumnValues]:
    """Return values by ``id(table)``; none if the model sees no table (passages) or one cell of it (a reader)."""
    if options.input == "passages" or options.spans:
        return {}
    tables = {id(example.table): example.table for example in examples}
    return {number: column_values(table) for number, table in tables.items()}


def _table_text(example: Example, question: int, cells: np.ndarray, values: ColumnValues | None) -> TableText:
    rows, columns = example.table.num_rows, example.table.num_columns
    marks = {"labels": _marked(len(cells), columns, example.candidates)}
    numbers = np.full(rows * columns, np.nan, dtype=np.float32)
    if example.previous:
        marks["prev_label"] = _marked(len(cells), columns, example.previous)
    if values is not None:
        find = question_values if example.table.everyday else find_values
        relations = values.relations(find(example.question))
        by_name = zip(_VALUE_ARRAYS, (values.rank, values.inverse_rank, relations), strict=True)
        marks |= {name: _below_header(body, len(cells)) for name, body in by_name}
        numbers = np.where(np.isfinite(values.numbers), values.numbers, np.nan).ravel()
    return TableText(example.table.id, rows, columns, question, cells, marks, numbers)


def _marked(length: int, columns: int, cells: Sequence[Coordinate]) -> np.ndarray:
    """Return 1 on the given body cells, int32 ``[length]``, header first, row-major."""
    marks = np.zeros(length, dtype=np.int32)
    marks[[(row + 1) * columns + column for row, column in cells]] = 1
    return marks


def _below_header(body: np.ndarray, length: int) -> np.ndarray:
    """Flatten values of body cells, int32 ``[rows, columns]``, to ``[length]``, with 0 in header and histogram row."""
    columns = body.shape[1]
    marks = np.zeros(length, dtype=np.int32)
    marks[columns : columns + body.size] = body.ravel()
    return marks
