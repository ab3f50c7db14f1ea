"""Hits@k of ranked cells (paper table 6): overall, by location of the answer and by kind of reasoning."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mate_cli.tables.table import Coordinate, Example

KS = (1, 3, 5)
SUBSETS = {"table": "In-Table", "passage": "In-Passage", "missing": "Missing"}
"""``Example.subset`` -> the paper's name."""

_NEVER = np.iinfo(np.int64).max


@dataclass(frozen=True, slots=True)
class Hits:
    """Hits@k of a group of questions: ``at[k]`` is between 0 and 1."""

    questions: int
    at: dict[int, float]


@dataclass(frozen=True, slots=True)
class CellSelectionScores:
    """Hits@k over all questions with an answer field, and over each group that is not empty."""

    overall: Hits
    by_subset: dict[str, Hits]
    by_reasoning: dict[str, Hits]


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


def hits(
    ranked: Sequence[Sequence[Coordinate]],
    candidates: Sequence[Sequence[Coordinate]],
    ks: Sequence[int] = KS,
) -> dict[int, float]:
    """Return Hits@k: the share of questions with a candidate among their first k cells (docs/notes.md, note 36).

    Questions without a candidate count as misses. 0 without questions.
    """
    return _hits(first_hits(ranked, candidates), ks).at


def score(
    examples: Sequence[Example], ranked: Mapping[str, Sequence[Coordinate]], ks: Sequence[int] = KS
) -> CellSelectionScores:
    """Score rankings by question id, over all questions with an answer field; one without a ranking is a miss."""
    answered = [example for example in examples if example.answers is not None]
    places = example_places(answered, ranked)
    subsets = [SUBSETS.get(example.subset, "") for example in answered]
    return CellSelectionScores(
        overall=_hits(places, ks),
        by_subset=_by_group(places, subsets, ks, tuple(SUBSETS.values())),
        by_reasoning=_by_group(places, [example.reasoning for example in answered], ks),
    )


def example_places(examples: Sequence[Example], ranked: Mapping[str, Sequence[Coordinate]]) -> NDArray[np.int64]:
    """Return ``first_hits`` of the rankings of ``examples``, in their order; ``places < k`` are the hits at k."""
    return first_hits([ranked.get(example.id, ()) for example in examples], [e.candidates for e in examples])


def _by_group(
    places: NDArray[np.int64], groups: Sequence[str], ks: Sequence[int], order: Sequence[str] | None = None
) -> dict[str, Hits]:
    names = np.asarray(groups, dtype=object)
    return {name: _hits(places[names == name], ks) for name in order or sorted(set(groups) - {""}) if name in groups}


def _hits(places: NDArray[np.int64], ks: Sequence[int]) -> Hits:
    return Hits(len(places), {k: float(np.mean(places < k)) if len(places) else 0.0 for k in ks})
