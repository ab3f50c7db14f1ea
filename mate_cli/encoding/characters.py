"""From word pieces back to the characters of the text that they come from (spec 4.7)."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence

import numpy as np


def word_characters(
    texts: Sequence[str], offsets: np.ndarray, counts: np.ndarray, starts: np.ndarray, word_start: np.ndarray
) -> np.ndarray:
    """First and end character, in its text as given, of the word of each piece, int32 ``[pieces, 2]``.

    Case, accents and marks that the pieces have lost are in there, marks after the last letter too. The one piece
    [EMPTY] of a text without a word is the whole text.

    Args:
        texts: as given; ``offsets``: int ``[found, 2]``, first and end of each piece in the lower-case text.
        counts: int64 ``[texts]``, pieces found in each; starts, word_start: as in ``Pieces``.
    """
    lengths = np.diff(starts)
    characters = np.zeros((starts[-1], 2), dtype=np.int32)
    characters[np.repeat(counts > 0, lengths)] = offsets
    first = np.repeat(starts[:-1], lengths) + word_start
    is_last = np.append(first[1:] != first[:-1], True)
    for number, text in enumerate(texts):
        own = slice(starts[number], starts[number + 1])
        if not counts[number]:
            characters[own] = 0, len(text)
        elif not text.isascii():
            characters[own] = _in_original(text, characters[own])
            characters[own, 1] += _marks_after(text, characters[own, 1]) * is_last[own]
    last = np.flatnonzero(is_last)
    ends = np.repeat(characters[last, 1], np.diff(last, prepend=-1))
    return np.stack([characters[first, 0], ends], axis=1)


def _in_original(text: str, places: np.ndarray) -> np.ndarray:
    """Characters of the lower-case text, ``[pieces, 2]``, as those of the text: some letters grow when lowered."""
    if len(text.lower()) == len(text):
        return places
    source = np.repeat(np.arange(len(text)), [len(character.lower()) for character in text])
    return np.stack([source[places[:, 0]], source[places[:, 1] - 1] + 1], axis=1)


def _marks_after(text: str, ends: np.ndarray) -> np.ndarray:
    """How many combining marks stand at each of ``ends``, ``[pieces]``."""
    counts = np.zeros(len(ends), dtype=np.int32)
    for number, end in enumerate(ends.tolist()):
        while end < len(text) and unicodedata.category(text[end]) == "Mn":
            end, counts[number] = end + 1, counts[number] + 1
    return counts
