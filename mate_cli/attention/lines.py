"""Plans of ``ragged``: lines (rows or columns) of similar length in one block, questions in one block each."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
import torch
from torch import Tensor

from mate_cli.attention.length_classes import cheapest_cuts
from mate_cli.attention.pattern import Kind
from mate_cli.attention.plan import Layout, Plan, run_lengths, run_starts
from mate_cli.system.errors import UserError

# The kernel's softmax works on whole vectors: other key counts are up to 1.6 times slower.
_KEY_MULTIPLE = 16

_MAX_CLASSES = 4
_MAX_LENGTHS = 64  # Lengths that may begin a class; more are thinned out.
# Costs in pairs of one head: moving a token's row in or out, merging the two results of a query, one more kernel call.
_ROW_COST = 40.0
_MERGE_COST = 100.0
_CLASS_COST = 6000.0


class LineClass(NamedTuple):
    """Lines of similar length as one block of ``lines`` x ``queries`` x ``keys``.

    The keys of a line are the question of its document (``question`` places, some of them empty; none if the question
    is computed apart), the line itself, then padding. Empty places of ``key_index`` and ``query_index`` hold some token
    of the line.
    """

    lines: int
    queries: int
    keys: int
    question: int
    key_index: Tensor  # int64 [lines * keys]: token of each key
    query_index: Tensor  # int64 [lines * queries]: token of each query
    query_target: Tensor  # int64 [lines * queries]: the same, but one past the last token for empty places
    is_query: Tensor | None  # bool [lines * queries, 1]; None if no place is empty
    key_bias: Tensor | None  # float [lines, 1, 1, keys], 0 or -inf; None if no place is empty
    document: Tensor  # int64 [lines]


class DenseBlock(NamedTuple):
    """A run of tokens that attends to all of a run of tokens."""

    query_start: int
    query_end: int
    key_start: int
    key_end: int

    @property
    def queries(self) -> int:
        return self.query_end - self.query_start

    @property
    def keys(self) -> int:
        return self.key_end - self.key_start


class GroupPlan(NamedTuple):
    """The blocks of one kind of head; each query is in one of the classes or dense blocks.

    ``merged``: the table's queries and the question's keys of documents whose lines lack the question among their keys;
    the two results are merged by their log-sum-exp. ``cost``: estimated time of one head, as a number of pairs of a
    query and a key; 0 for ``full``.
    """

    classes: tuple[LineClass, ...]
    dense: tuple[DenseBlock, ...]
    merged: tuple[DenseBlock, ...] = ()
    cost: float = 0.0


@dataclass(frozen=True)
class RaggedPlan(Plan):
    """
    Attributes:
        kinds, groups: kinds of head and their plans.
        question_index: int64 ``[documents, G]``, question tokens, padded with one past the last token.
        has_gaps: some token is in no line and no question: padding, or any token of a kind without lines.
    """

    backend: ClassVar[str] = "ragged"
    kinds: tuple[Kind, ...]
    groups: tuple[GroupPlan, ...]
    question_index: Tensor
    has_gaps: bool


def ragged_plan(layout: Layout, kinds: tuple[Kind, ...], apart: bool | None = None) -> RaggedPlan:
    """Plan the blocks of every kind of head.

    Args:
        apart: compute the question's keys apart from the lines; None: in each document where it costs less.

    Raises:
        UserError: a kind is ``row_or_column``.
        ValueError: a question is not at the start of its document.
    """
    spans = layout.spans()
    ends = _question_ends(layout, spans)
    questions = _question_places(spans[:, 0], ends, len(layout.document))
    groups = {kind: _group_plan(kind, layout, spans, ends, questions, apart) for kind in set(kinds)}
    return RaggedPlan(
        place=layout.place(),
        kinds=kinds,
        groups=tuple(groups[kind] for kind in kinds),
        question_index=torch.from_numpy(questions),
        has_gaps=bool((layout.document < 0).any()) or not all(group.classes for group in groups.values()),
    )


def _question_ends(layout: Layout, spans: np.ndarray) -> np.ndarray:
    """Return the end of each document's question, int64 ``[documents]``."""
    questions_before = np.r_[0, np.cumsum(layout.segment == 0)]
    ends = spans[:, 0] + questions_before[spans[:, 1]] - questions_before[spans[:, 0]]
    if (questions_before[ends] != questions_before[spans[:, 1]]).any():
        raise ValueError("a question is not at the start of its document")
    return ends


def _question_places(starts: np.ndarray, ends: np.ndarray, tokens: int) -> np.ndarray:
    """Return each document's question tokens, int64 ``[documents, G]``, padded with ``tokens`` to the longest."""
    offset = np.arange((ends - starts).max(initial=0))
    places = starts[:, None] + offset
    return np.where(places < ends[:, None], places, tokens)


def _group_plan(
    kind: Kind, layout: Layout, spans: np.ndarray, ends: np.ndarray, questions: np.ndarray, apart: bool | None
) -> GroupPlan:
    if kind == "full":
        return GroupPlan((), tuple(DenseBlock(start, end, start, end) for start, end in spans.tolist()))
    lines, length = _lines(kind, layout), ends - spans[:, 0]
    with_question, without = _costs(lines, length)
    is_apart = with_question > without if apart is None else np.full(len(spans), apart)
    cost = np.where(is_apart, without, with_question).sum() + length @ (spans[:, 1] - spans[:, 0])
    classes = (
        *_classes(lines.of_documents(is_apart), np.zeros_like(length), questions, len(layout.document)),
        *_classes(lines.of_documents(~is_apart), length, questions, len(layout.document)),
    )
    rows = list(zip(spans[:, 0].tolist(), ends.tolist(), spans[:, 1].tolist(), is_apart, strict=True))
    of_questions = tuple(DenseBlock(start, middle, start, end) for start, middle, end, _ in rows if middle > start)
    merged = tuple(DenseBlock(middle, end, start, middle) for start, middle, end, apart in rows if apart)
    merged = tuple(block for block in merged if min(block.queries, block.keys))
    return GroupPlan(classes, of_questions, merged, float(cost))


def _costs(lines: _Lines, question: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the costs of each document's lines, with the question among their keys and apart, ``[documents]``."""
    of_line = question[lines.document]
    together = _cost_of_lines(lines.length, lines.length + of_line)
    apart = _cost_of_lines(lines.length, lines.length) + lines.length * (of_line + _MERGE_COST)
    together, apart = (np.bincount(lines.document, cost, len(question)) for cost in (together, apart))
    return together, apart


def _cost_of_lines(queries: np.ndarray, keys: np.ndarray) -> np.ndarray:
    """Return the cost of each line's block, in pairs: its pairs, and the rows of query, key and value that it moves."""
    keys = -(-keys // _KEY_MULTIPLE) * _KEY_MULTIPLE
    return queries * keys + _ROW_COST * (queries + 2 * keys)


def _classes(lines: _Lines, question: np.ndarray, questions: np.ndarray, tokens: int) -> Iterator[LineClass]:
    """Yield classes of lines that have ``question`` tokens of their documents among their keys, int ``[documents]``."""
    for cut in length_classes(lines.length, int(question[lines.document].max(initial=0))):
        chosen = lines.cut(*cut)
        yield _line_class(chosen, questions[:, : question[chosen.document].max()], tokens)


class _Lines(NamedTuple):
    """Lines from long to short: start in ``tokens`` (sorted by line), length and document, int64 ``[lines]`` each."""

    tokens: np.ndarray
    start: np.ndarray
    length: np.ndarray
    document: np.ndarray

    def of_documents(self, chosen: np.ndarray) -> _Lines:
        """Return the lines of the documents chosen, bool ``[documents]``."""
        taken = chosen[self.document]
        return _Lines(self.tokens, self.start[taken], self.length[taken], self.document[taken])

    def cut(self, first: int, end: int) -> _Lines:
        """Return the lines ``first`` to ``end`` by document, so that question gradients are summed in few places."""
        chosen = first + np.argsort(self.document[first:end], kind="stable")
        return _Lines(self.tokens, self.start[chosen], self.length[chosen], self.document[chosen])

    def places(self) -> tuple[np.ndarray, np.ndarray]:
        """Return tokens ``[lines, longest]``, the line's first in empty places, and which places are taken."""
        offset = np.arange(self.length.max())
        is_taken = offset < self.length[:, None]
        return self.tokens[self.start[:, None] + np.where(is_taken, offset, 0)], is_taken


def _lines(kind: Kind, layout: Layout) -> _Lines:
    if kind not in ("row", "column"):
        raise UserError(f"model.attention.backend=ragged cannot do {kind!r} heads; take dense")
    number = layout.row if kind == "row" else layout.column
    table = np.flatnonzero((layout.segment != 0) & (layout.document >= 0))
    tokens = table[np.lexsort((number[table], layout.document[table]))]
    document = layout.document[tokens]
    start = run_starts(document, number[tokens])
    length = run_lengths(start, len(tokens))
    order = np.argsort(-length, kind="stable")
    return _Lines(tokens, start[order], length[order], document[start[order]])


def _line_class(lines: _Lines, questions: np.ndarray, tokens: int) -> LineClass:
    places, is_taken = lines.places()
    (count, queries), question = places.shape, questions.shape[1]
    keys = -(-(question + queries) // _KEY_MULTIPLE) * _KEY_MULTIPLE
    target = np.where(is_taken, places, tokens)
    padding = np.full((count, keys - question - queries), tokens)
    index = np.concatenate([questions[lines.document], target, padding], axis=1)
    is_key = index < tokens
    bias = np.where(is_key, np.float32(0), -np.float32("inf"))[:, None, None]
    return LineClass(
        lines=count,
        queries=queries,
        keys=keys,
        question=question,
        key_index=_flat(np.where(is_key, index, places[:, :1])),
        query_index=_flat(places),
        query_target=_flat(target),
        is_query=None if is_taken.all() else _flat(is_taken)[:, None],
        key_bias=None if is_key.all() else torch.from_numpy(bias),
        document=torch.from_numpy(lines.document),
    )


def _flat(array: np.ndarray) -> Tensor:
    return torch.from_numpy(array.reshape(-1))


def length_classes(lengths: np.ndarray, question: int) -> list[tuple[int, int]]:
    """Cut lines sorted by falling length into at most 4 classes of least total cost (dynamic programming).

    A class of ``s`` lines padded to L tokens and K keys costs s times ``_cost_of_lines`` and ``_CLASS_COST``.

    Args:
        lengths: int ``[lines]``, falling.
        question: number of question keys of each line.

    Returns:
        (first, end) of each class.
    """
    if not len(lengths):
        return []
    first = run_starts(lengths)
    if len(first) > _MAX_LENGTHS:
        first = first[np.unique(np.linspace(0, len(first) - 1, _MAX_LENGTHS).astype(int))]
    cost_per_line = _cost_of_lines(lengths[first], lengths[first] + question)
    return cheapest_cuts(np.r_[first, len(lengths)], cost_per_line, _MAX_CLASSES, _CLASS_COST)
