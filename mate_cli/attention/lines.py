"""The plan of ``ragged``: rows and columns as blocks of similar length, the question as one block a document."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
import torch
from torch import Tensor

from mate_cli.attention.classes import length_classes
from mate_cli.attention.pattern import Kind
from mate_cli.attention.plan import Layout, Plan
from mate_cli.system.errors import UserError

# From this many question tokens on it is cheaper to attend to them apart and merge than to copy them to every line.
_LONG_QUESTION = 192

# The kernel's softmax works on whole vectors: a key count that is no multiple is up to 1.6 times slower.
_KEY_MULTIPLE = 16


class LineClass(NamedTuple):
    """Lines of similar length as one block of ``lines`` x ``queries`` x ``keys``.

    The keys of a line are the question of its document (``question`` places, some perhaps empty), then the
    line itself, then padding.
    """

    lines: int
    queries: int
    keys: int
    question: int
    key_index: Tensor  # int64 [lines * keys]: token behind each key; any of the line where the place is empty
    query_index: Tensor  # int64 [lines * queries]: token behind each query; any of the line where empty
    query_target: Tensor  # the same, but one past the last token where the place is empty
    is_query: Tensor | None  # bool [lines * queries, 1]; None: no place is empty
    key_bias: Tensor | None  # float [lines, 1, 1, keys], 0 or -inf; None: no place is empty
    document: Tensor  # int64 [lines]


class DenseBlock(NamedTuple):
    """Neighbouring tokens that attend to all of some other, or the same, neighbouring tokens."""

    query_start: int
    query_end: int
    key_start: int
    key_end: int


class GroupPlan(NamedTuple):
    """The blocks of one kind of head: each token's query is in one of the classes or dense blocks.

    ``merged``: of the tables whose lines lack the question among their keys, the table's queries and the
    question's keys; the two results are merged by their log-sum-exp.
    """

    classes: tuple[LineClass, ...]
    dense: tuple[DenseBlock, ...]
    merged: tuple[DenseBlock, ...] = ()


@dataclass(frozen=True)
class RaggedPlan(Plan):
    """
    Attributes:
        kinds: what ``groups`` are the plans of.
        question_index: int64 ``[documents, G]``: question tokens, padded with one past the last token.
        has_gaps: whether lines and questions leave some token out: padding, or all where there are no lines.
    """

    backend: ClassVar[str] = "ragged"
    kinds: tuple[Kind, ...]
    groups: tuple[GroupPlan, ...]
    question_index: Tensor
    has_gaps: bool


def ragged_plan(layout: Layout, kinds: tuple[Kind, ...], long_question: int = _LONG_QUESTION) -> RaggedPlan:
    """Plan the blocks of every kind of head.

    Args:
        long_question: tokens from which on the longest question's keys are computed apart from the lines.

    Raises:
        UserError: a kind whose keys are no line.
        ValueError: a question does not stand at the start of its document.
    """
    spans = layout.spans()
    ends = _question_ends(layout, spans)
    questions = _question_places(spans[:, 0], ends, len(layout.document))
    merge = questions.shape[1] >= long_question
    groups = {kind: _group_plan(kind, layout, spans, ends, questions, merge) for kind in set(kinds)}
    return RaggedPlan(
        tokens=len(layout.document),
        kinds=kinds,
        groups=tuple(groups[kind] for kind in kinds),
        question_index=torch.from_numpy(questions),
        has_gaps=bool((layout.document < 0).any()) or not all(group.classes for group in groups.values()),
    )


def _question_ends(layout: Layout, spans: np.ndarray) -> np.ndarray:
    """End of each document's question, int64 ``[documents]``."""
    asked = np.r_[0, np.cumsum(layout.segment == 0)]
    ends = spans[:, 0] + asked[spans[:, 1]] - asked[spans[:, 0]]
    if (asked[ends] != asked[spans[:, 1]]).any():
        raise ValueError("a question does not stand at the start of its document")
    return ends


def _question_places(starts: np.ndarray, ends: np.ndarray, tokens: int) -> np.ndarray:
    """Question tokens of each document padded to the longest, int64 ``[documents, G]``; ``tokens`` where empty."""
    offset = np.arange((ends - starts).max(initial=0))
    places = starts[:, None] + offset
    return np.where(places < ends[:, None], places, tokens)


def _group_plan(
    kind: Kind, layout: Layout, spans: np.ndarray, ends: np.ndarray, questions: np.ndarray, merge: bool
) -> GroupPlan:
    if kind == "full":
        return GroupPlan((), tuple(DenseBlock(start, end, start, end) for start, end in spans.tolist()))
    in_lines = questions[:, :0] if merge else questions
    lines = _lines(kind, layout)
    cuts = length_classes(lines.length, in_lines.shape[1], _KEY_MULTIPLE)
    classes = tuple(_line_class(lines.cut(*cut), in_lines, len(layout.document)) for cut in cuts)
    rows = np.stack([spans[:, 0], ends, spans[:, 1]], axis=1).tolist()
    asked = tuple(DenseBlock(start, asked, start, end) for start, asked, end in rows if asked > start)
    merged = tuple(DenseBlock(asked, end, start, asked) for start, asked, end in rows if merge and start < asked < end)
    return GroupPlan(classes, asked, merged)


class _Lines(NamedTuple):
    """Lines from long to short: where each begins in ``tokens`` (sorted by line), its length and document."""

    tokens: np.ndarray
    start: np.ndarray
    length: np.ndarray
    document: np.ndarray

    def cut(self, first: int, end: int) -> _Lines:
        """Some neighbours, put in order of documents: question gradients are then summed in few places at a time."""
        chosen = first + np.argsort(self.document[first:end], kind="stable")
        return _Lines(self.tokens, self.start[chosen], self.length[chosen], self.document[chosen])

    def places(self) -> tuple[np.ndarray, np.ndarray]:
        """Tokens ``[lines, longest]``, the line's first where the place is empty, and whether it is not."""
        offset = np.arange(self.length.max())
        is_own = offset < self.length[:, None]
        return self.tokens[self.start[:, None] + np.where(is_own, offset, 0)], is_own


def _lines(kind: Kind, layout: Layout) -> _Lines:
    if kind not in ("row", "column"):
        raise UserError(f"model.attention.backend=ragged cannot do {kind!r} heads; take dense")
    number = layout.row if kind == "row" else layout.column
    table = np.flatnonzero((layout.segment != 0) & (layout.document >= 0))
    tokens = table[np.lexsort((number[table], layout.document[table]))]
    line = np.stack([layout.document[tokens], number[tokens]])
    start = np.flatnonzero(np.r_[len(tokens) > 0, (np.diff(line) != 0).any(axis=0)])
    length = np.diff(np.r_[start, len(tokens)])
    order = np.argsort(-length, kind="stable")
    return _Lines(tokens, start[order], length[order], line[0, start[order]])


def _line_class(lines: _Lines, questions: np.ndarray, tokens: int) -> LineClass:
    own, is_own = lines.places()
    (count, queries), question = own.shape, questions.shape[1]
    keys = -(-(question + queries) // _KEY_MULTIPLE) * _KEY_MULTIPLE
    asked = questions[lines.document]
    padding = np.full((count, keys - question - queries), tokens)
    index = np.concatenate([asked, np.where(is_own, own, tokens), padding], axis=1)
    is_key = index < tokens
    return LineClass(
        lines=count,
        queries=queries,
        keys=keys,
        question=question,
        key_index=_flat(np.where(is_key, index, own[:, :1])),
        query_index=_flat(own),
        query_target=_flat(np.where(is_own, own, tokens)),
        is_query=None if is_own.all() else _flat(is_own)[:, None],
        key_bias=None if is_key.all() else _bias(is_key)[:, None, None],
        document=torch.from_numpy(lines.document),
    )


def _flat(array: np.ndarray) -> Tensor:
    return torch.from_numpy(array.reshape(-1))


def _bias(is_key: np.ndarray) -> Tensor:
    return torch.from_numpy(np.where(is_key, np.float32(0), -np.float32("inf")))
