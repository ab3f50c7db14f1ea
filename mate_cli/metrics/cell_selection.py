"""Hits@k of ranked cells (paper table 6): overall, by location of the answer and by kind of reasoning."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mate_cli.tables.table import Coordinate, Example

KS = (1, 3, 5)
SUBSETS = {"table": "In-Table", "passage": "In-Passage", "missing": "Missing"}
"""``Example.subset`` -> the paper's name."""

_NEVER = np.iinfo(np.int64).max


def rank_cells(scores: ArrayLike) -> list[Coordinate]:
    """Sort the cells of a score matrix ``[rows, columns]``, best first, ties in row-major order."""
    matrix = np.asarray(scores)
    order = np.argsort(-matrix.ravel(), kind="stable")
    rows, columns = np.unravel_index(order, matrix.shape)
    return list(zip(rows.tolist(), columns.tolist(), strict=True))


def first_hits(ranked: Sequence[Sequence[Coordinate]], candidates: Sequence[Sequence[Coordinate]]) -> NDArray[np.int64]:
    """Return the place, from 0, of the first candidate in each ranking, int64 ``[questions]``.

    If no candidate is ranked, the place is beyond every k.
    """
    places = np.full(len(ranked), _NEVER, dtype=np.int64)
    for number, (cells, answers) in enumerate(zip(ranked, map(set, candidates), strict=True)):
        places[number] = next((place for place, cell in enumerate(cells) if cell in answers), _NEVER)
    return places


def hits(places: NDArray[np.int64], ks: Sequence[int] = KS) -> dict[str, Any]:
    """Return ``questions``, their number, and ``hits@1`` and so on from ``first_hits`` (docs/notes.md, note 36).

    Hits@k is the share of questions with a candidate among their first k cells; 0 without questions.
    """
    shares = {f"hits@{k}": float(np.mean(places < k)) if len(places) else 0.0 for k in ks}
    return {"questions": len(places), **shares}


def score(examples: Sequence[Example], ranked: Mapping[str, Sequence[Coordinate]]) -> dict[str, Any]:
    """Score rankings by question id; a question without a ranking is a miss.

    Returns:
        ``all``: ``hits`` over all questions with an answer field; ``by_subset``, ``by_reasoning``: over each group
        that is not empty.
    """
    answered = [example for example in examples if example.answers is not None]
    places = example_places(answered, ranked)
    subsets = [SUBSETS.get(example.subset, "") for example in answered]
    kinds = [example.reasoning for example in answered]
    return {
        "all": hits(places),
        "by_subset": _by_group(places, subsets, SUBSETS.values()),
        "by_reasoning": _by_group(places, kinds, sorted({*kinds} - {""})),
    }


def example_places(examples: Sequence[Example], ranked: Mapping[str, Sequence[Coordinate]]) -> NDArray[np.int64]:
    """Return ``first_hits`` of the rankings of ``examples``, in their order; ``places < k`` are the hits at k."""
    return first_hits([ranked.get(example.id, ()) for example in examples], [e.candidates for e in examples])


def _by_group(places: NDArray[np.int64], groups: Sequence[str], order: Iterable[str]) -> dict[str, Any]:
    names = np.asarray(groups, dtype=object)
    return {name: hits(places[names == name]) for name in order if name in groups}
