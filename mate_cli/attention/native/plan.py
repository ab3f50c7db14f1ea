"""Plans of ``native``: tokens in the order of lines, and chunks of lines that are one task each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
import torch
from torch import Tensor

from mate_cli.attention.pattern import Kind
from mate_cli.attention.plan import Layout, Plan, ranks, run_lengths, run_starts

# Pairs of a query and a key, of one head, in a chunk: large enough to be worth a task, small enough to share out. It
# must not depend on the number of threads, or the sums of gradients would.
_CHUNK = 1 << 17


class NativeGroup(NamedTuple):
    """What heads of one kind see. Places are places in ``order``; the rows are structures of ``kernel.cpp``.

    Attributes:
        order: int32 ``[real tokens]``, by document; in a document the question first, then line by line.
        cells: int32 ``[tokens, 2]``, row and column, if tokens of a line see those of their row and column alone; the
            global tokens of row and column if there is a radius; else empty.
        documents: int32 ``[documents, 5]``: begin; end of the question; end; first of its rows of sums; chunks.
        lines: int32 ``[lines, 2]``: begin, end.
        chunks: int32 ``[chunks, 4]``: document; first line; end of the lines; number within the document.
        sums: rows of sums: for each chunk one for each token of the question.
        radius: tokens of a line see each other up to this distance; 0: all do.
        pairs: pairs of a query and a key that a head computes; with a radius, those that it needs.
    """

    order: Tensor
    cells: Tensor
    documents: Tensor
    lines: Tensor
    chunks: Tensor
    sums: int
    radius: int
    pairs: int


@dataclass(frozen=True)
class NativePlan(Plan):
    """
    Attributes:
        kinds, groups: kinds of head and what they see.
        padding: int32, tokens of no document.
    """

    backend: ClassVar[str] = "native"
    kinds: tuple[Kind, ...]
    groups: tuple[NativeGroup, ...]
    padding: Tensor


def native_plan(layout: Layout, kinds: tuple[Kind, ...]) -> NativePlan:
    """Plan every kind of head."""
    documents = len(layout.spans())
    tokens = np.flatnonzero(layout.document >= 0)
    groups = {
        kind: plan_lines(
            Tokens(tokens, layout.document[tokens], _line_numbers(kind, layout)[tokens]),
            documents,
            np.stack([layout.row, layout.column], axis=1) if kind == "row_or_column" else np.zeros((0, 2)),
        )
        for kind in set(kinds)
    }
    return NativePlan(layout.place(), kinds, tuple(groups[kind] for kind in kinds), padding_of(layout))


def padding_of(layout: Layout) -> Tensor:
    return _int32(np.flatnonzero(layout.document < 0))


class Tokens(NamedTuple):
    """Tokens of documents, ``[n]`` each: their numbers, documents and lines; line -1 is the question."""

    number: np.ndarray
    document: np.ndarray
    line: np.ndarray


def plan_lines(tokens: Tokens, documents: int, cells: np.ndarray, radius: int = 0) -> NativeGroup:
    """Sort tokens by document and line and cut the lines into chunks.

    Args:
        cells, radius: see ``NativeGroup``.
    """
    by_line = np.lexsort((tokens.line, tokens.document))
    document, line = tokens.document[by_line], tokens.line[by_line]
    size = np.bincount(document, minlength=documents)
    end = np.cumsum(size)
    begin = end - size
    question = np.bincount(document[line < 0], minlength=documents)
    starts = run_starts(document, line)
    lines = np.stack([starts, starts + run_lengths(starts, len(line))], axis=1)[line[starts] >= 0]
    chunks = _chunks(lines, document[lines[:, 0]], question)

    parts = np.bincount(chunks[:, 0], minlength=documents)
    sums = parts * question
    length = lines[:, 1] - lines[:, 0]
    pairs = (_in_line(length, radius) + length * question[document[lines[:, 0]]]).sum() + (question * size).sum()
    return NativeGroup(
        order=_int32(tokens.number[by_line]),
        cells=_int32(cells),
        documents=_int32(np.stack([begin, begin + question, end, np.cumsum(sums) - sums, parts], axis=1)),
        lines=_int32(lines),
        chunks=_int32(chunks),
        sums=int(sums.sum()),
        radius=radius,
        pairs=int(pairs),
    )


def _in_line(length: np.ndarray, radius: int) -> np.ndarray:
    """Count the pairs of lines that see each other, ``[lines]``."""
    within = np.minimum(radius, length - 1) if radius else length - 1
    return length + within * (2 * length - 1 - within)


def _line_numbers(kind: Kind, layout: Layout) -> np.ndarray:
    """Return the line of each token, ``[tokens]``: -1 in the question.

    The whole document is line 0 for ``full``, and all of it but the question for ``row_or_column``.
    """
    everything = np.zeros(len(layout.document), np.int64)
    if kind == "full":
        return everything
    lines = {"row": layout.row, "column": layout.column, "row_or_column": everything}
    return np.where(layout.segment == 0, -1, lines[kind])


def _chunks(lines: np.ndarray, document: np.ndarray, question: np.ndarray) -> np.ndarray:
    """Cut the lines of each document into runs of about ``_CHUNK`` pairs; a question alone is a chunk too.

    Args:
        lines: ``[lines, 2]``.
        document: ``[lines]``, document of each line, rising.
        question: ``[documents]``, tokens of each question.

    Returns:
        int64 ``[chunks, 4]``, see ``NativeGroup``.
    """
    length = lines[:, 1] - lines[:, 0]
    pairs = length * (length + 2 * question[document])  # the line's queries, and the question's
    before = np.cumsum(pairs) - pairs
    first_line = np.searchsorted(document, document)
    starts = run_starts(document, (before - before[first_line]) // _CHUNK)
    owner = document[starts]
    chunks = np.stack([owner, starts, starts + run_lengths(starts, len(lines)), _rank_in_runs(owner)], axis=1)
    alone = np.setdiff1d(np.arange(len(question)), owner)
    return np.concatenate([chunks, np.stack([alone, *np.zeros((3, len(alone)), np.int64)], axis=1)])


def _rank_in_runs(values: np.ndarray) -> np.ndarray:
    """Return the place of each value within its run of equal values."""
    return ranks(run_lengths(run_starts(values), len(values)))


def _int32(array: np.ndarray) -> Tensor:
    return torch.from_numpy(np.ascontiguousarray(array, np.int32))
