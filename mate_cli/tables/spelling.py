"""The words of a table as the correct spelling of those of questions."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable
from difflib import get_close_matches

from mate_cli.tables.text import stem

_LETTERS = re.compile(r"[^\W\d_]{4,}")
"""Shorter words differ in one letter from many others."""

_SHORTEST_NAME = 5
"""Letters of a misspelt word at least, if no other words stand beside it: "more" is not Moore."""

_ALIKE = 0.8
"""Share of letters that agree, in order: one of five may differ, or of four."""


class Spelling:
    """The words of a table, by their first letter, which hardly anyone gets wrong."""

    def __init__(self, words: Iterable[str]) -> None:
        """
        Args:
            words: in lower case; those of letters alone count.
        """
        self._words = defaultdict[str, set[str]](set)
        for word in words:
            if _LETTERS.fullmatch(word):
                self._words[word[0]].add(word)

    def corrected(self, word: str) -> str:
        """Return the word of the table that a misspelt one is most like; a known or other word remains as it is."""
        words = self._words.get(word[0], set())
        if word in words or not _LETTERS.fullmatch(word):
            return word
        longer = max(1, len(word) // 10)
        like = sorted(other for other in words if abs(len(other) - len(word)) <= longer)
        near = get_close_matches(word, like, n=1, cutoff=min(_ALIKE, 1 - 1 / len(word)))
        return near[0] if near else word


def is_misspelt(word: str, name: str) -> bool:
    """Return whether a word may stand for a name of one word: other forms of it ("trains", "German") do not."""
    is_form = word.startswith(name) or name.startswith(word) or stem(word) == stem(name)
    return len(word) >= _SHORTEST_NAME and not is_form
