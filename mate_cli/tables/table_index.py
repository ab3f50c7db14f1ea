"""Find the table that a question is about among many, by BM25 (Robertson and Zaragoza, 2009).

The words of a table are those of its title, its headers and its rows. A word of title or headers counts as several of
the rows, since a question names a few rows at most, and a table may have thousands.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mate_cli.tables.table import Cell, Table
from mate_cli.tables.text import format_names, stem

HEAD_WEIGHT, K1, B = 5, 1.5, 1.0
"""How often a word of title or headers counts, and BM25's parameters; chosen on 4,000 questions each of HybridQA's and
WikiTableQuestions' train."""

_ROWS, _CHARACTERS = 12, 2000  # of an opening
_WORD = re.compile(r"[^\W_]{2,}")
# In a folder of few tables these are as rare as any other word.
_FUNCTION_WORDS = """
    an and are as at be by did do does for from had has have he her his how in is it its many much of on or
    she that the their there they this to was were what when where which who whom whose why will with
"""
FUNCTION_WORDS = frozenset(_FUNCTION_WORDS.split())


class TableIndex:
    """The words of tables, which are read in order and not kept.

    Attributes:
        openings: the beginning of each table, as a text.
    """

    def __init__(self, tables: Iterable[Table]) -> None:
        from scipy.sparse import csr_array
        from sklearn.feature_extraction.text import CountVectorizer  # slow to import

        self._vectorizer: Any = CountVectorizer(analyzer=words)
        self.openings: list[str] = []
        try:
            counts = csr_array(self._vectorizer.fit_transform(self._counted(tables)), dtype=np.float32)
        except ValueError:  # scikit-learn: no table has a word
            self._vectorizer = None
        else:
            self._weights: Any = _bm25(counts)

    def scores(self, questions: Sequence[str]) -> NDArray[np.float32]:
        """Return float32 ``[questions, tables]``; 0 where they have no word in common."""
        if self._vectorizer is None:
            return np.zeros((len(questions), len(self.openings)), dtype=np.float32)
        asked = self._vectorizer.transform(questions).astype(np.float32)
        return np.asarray((asked @ self._weights).toarray())

    def knows(self, questions: Sequence[str]) -> NDArray[np.bool_]:
        """Return bool ``[questions]``: whether a word of the question is in any table."""
        if self._vectorizer is None:
            return np.zeros(len(questions), dtype=bool)
        return np.asarray(self._vectorizer.transform(questions).sum(axis=1)).ravel() > 0

    def _counted(self, tables: Iterable[Table]) -> Iterable[str]:
        for table in tables:
            self.openings.append(_opening(table))
            yield _text(table)


def words(text: str) -> list[str]:
    """Return the stems of the words of a text, in lower case, without accents, single characters and function words."""
    from sklearn.feature_extraction.text import strip_accents_unicode

    found = _WORD.findall(strip_accents_unicode(text.lower()))
    return [stem(word) for word in found if word not in FUNCTION_WORDS]


def stems(words: Iterable[str]) -> frozenset[str]:
    """Return the stems of words, as ``format_names`` gives them, without function words."""
    return frozenset(stem(word) for word in words if word not in FUNCTION_WORDS)


def stems_of_cells(cells: Iterable[Cell]) -> frozenset[str]:
    """Return the stems of all words of cells, without function words."""
    return stems(word for cell in cells for word in format_names(cell.text).split())


def parts_of_cells(words: Iterable[str], table: Table) -> frozenset[str]:
    """Return the stems of words that some cell of a table has, and no header: they may tell its rows apart."""
    return (stems(words) - stems_of_cells(table.header)) & stems_of_cells(cell for row in table.rows for cell in row)


def _opening(table: Table) -> str:
    """Return title, headers and first rows, as many characters as a sentence encoder may read."""
    header, *rows = (", ".join(cell.text for cell in row) for row in (table.header, *table.rows[:_ROWS]))
    return ". ".join([*([table.title] if table.title else []), header, *rows])[:_CHARACTERS]


def _text(table: Table) -> str:
    head = " ".join([table.title, *(cell.text for cell in table.header)])
    return " ".join([*[head] * HEAD_WEIGHT, *(cell.text for row in table.rows for cell in row)])


def _bm25(counts: Any) -> Any:
    """Return the weight of each word in each table, sparse ``[words, tables]``; ``counts`` is ``[tables, words]``."""
    tables, lengths = counts.shape[0], counts.sum(axis=1)
    holders = np.bincount(counts.indices, minlength=counts.shape[1])
    rarity = np.log1p((tables - holders + 0.5) / (holders + 0.5))
    saturation = K1 * (1 - B + B * lengths / lengths.mean())
    count = counts.data
    counts.data = (rarity[counts.indices] * count * (K1 + 1)).astype(np.float32)
    counts.data /= count + np.repeat(saturation, np.diff(counts.indptr)).astype(np.float32)
    return counts.T.tocsr()
