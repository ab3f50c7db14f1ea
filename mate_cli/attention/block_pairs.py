"""Which blocks of sorted tokens hold pairs that attend to each other: from line borders, never from all pairs."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

BLOCK = 128


class BlockPairs(NamedTuple):
    """The key blocks of each query block, ``[blocks]`` counts and ``[blocks, blocks]`` numbers, int32.

    Every pair of tokens in a ``full`` block attends; in a ``partial`` one the mask decides.
    """

    partial_count: Tensor
    partial: Tensor
    full_count: Tensor
    full: Tensor
    block: int


def block_pairs(
    document: np.ndarray, line: np.ndarray, is_question: np.ndarray, *, whole: bool, uncertain: bool, block: int = BLOCK
) -> BlockPairs:
    """Find the blocks.

    Args:
        document, line, is_question: ``[tokens]``, sorted by document, then question first, then line.
        whole: every pair of a document attends; uncertain: whether one does is for the mask alone to say.
    """
    blocks = -(-len(document) // block)
    pairs = np.unique(np.concatenate([np.zeros(0, int), *_pairs(document, line, is_question, blocks, block)]))
    query, key = pairs // blocks if blocks else pairs, pairs % blocks if blocks else pairs
    if uncertain:
        is_full = np.zeros(len(pairs), bool)
    else:
        is_full = _is_full(query, key, document, line, is_question | whole, block)
    return BlockPairs(*_table(query, key, ~is_full, blocks), *_table(query, key, is_full, blocks), block)


def _pairs(
    document: np.ndarray, line: np.ndarray, is_question: np.ndarray, blocks: int, block: int
) -> Iterator[np.ndarray]:
    """Codes query * blocks + key, some of them more than once."""
    diagonal = np.arange(blocks)
    yield diagonal * blocks + diagonal
    for first, end in _runs((document, np.where(is_question, -1, line))):
        if first // block != (end - 1) // block:
            own = np.arange(first // block, (end - 1) // block + 1)
            yield (own[:, None] * blocks + own).reshape(-1)
    for first, end in _runs((document,)):
        asked = int(is_question[first:end].sum())
        if asked:
            every = np.arange(first // block, (end - 1) // block + 1)
            question = np.arange(first // block, (first + asked - 1) // block + 1)
            yield (every[:, None] * blocks + question).reshape(-1)
            yield (question[:, None] * blocks + every).reshape(-1)


def _runs(keys: tuple[np.ndarray, ...]) -> Iterator[tuple[int, int]]:
    """First and end of each stretch in which no key changes."""
    size = len(keys[0])
    change = np.zeros(max(size - 1, 0), bool)
    for key in keys:
        change |= np.diff(key) != 0
    borders = np.r_[0, np.flatnonzero(change) + 1, size].tolist() if size else []
    yield from pairwise(borders)


def _is_full(
    query: np.ndarray, key: np.ndarray, document: np.ndarray, line: np.ndarray, sees_all: np.ndarray, block: int
) -> np.ndarray:
    """Both blocks lie in one document, and either is all question, or both lie in one line."""
    firsts = np.arange(0, len(document), block)
    whole = firsts + block <= len(document)

    def uniform(array: np.ndarray) -> np.ndarray:
        return whole & (np.minimum.reduceat(array, firsts) == np.maximum.reduceat(array, firsts))

    in_document = uniform(document) if len(firsts) else whole
    in_line = uniform(line) if len(firsts) else whole
    all_see = np.minimum.reduceat(sees_all, firsts) & whole if len(firsts) else whole
    none_sees = ~np.maximum.reduceat(sees_all, firsts) if len(firsts) else whole
    start = firsts
    same_document = in_document[query] & in_document[key] & (document[start[query]] == document[start[key]])
    same_line = in_line & none_sees
    one_line = same_line[query] & same_line[key] & (line[start[query]] == line[start[key]])
    return same_document & (all_see[query] | all_see[key] | one_line)


def _table(query: np.ndarray, key: np.ndarray, chosen: np.ndarray, blocks: int) -> tuple[Tensor, Tensor]:
    query, key = query[chosen], key[chosen]
    count = np.bincount(query, minlength=blocks)
    table = np.zeros((blocks, blocks), np.int32)
    table[query, np.arange(len(query)) - np.repeat(np.cumsum(count) - count, count)] = key
    return torch.from_numpy(count.astype(np.int32)), torch.from_numpy(table)
