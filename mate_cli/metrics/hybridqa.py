"""Exact match and F1 of HybridQA's answers, as its official evaluation defines them (spec 4.7, checklist 74)."""

from __future__ import annotations

import re
import string
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mate_cli.metrics.cell_selection import SUBSETS
from mate_cli.tables.hybridqa import Gold

GROUPS = (SUBSETS["table"], SUBSETS["passage"], "Total")
"""The official breakdown; the questions whose answer stands nowhere count in the total alone."""

_WITHOUT_PUNCTUATION = str.maketrans("", "", string.punctuation)
_ARTICLE = re.compile(r"\b(?:a|an|the)\b")


@dataclass(frozen=True, slots=True)
class AnswerScores:
    """Exact match (0 or 1) and F1 (0 to 1) of each question of a group, float64 ``[questions]``."""

    exact: NDArray[np.float64]
    f1: NDArray[np.float64]


def normalise_answer(text: str) -> str:
    """Lower case without ASCII punctuation and articles, words parted by one space.

    Punctuation leaves no space behind: "10-15" becomes "1015". The cells' own ``answer_match.normalise`` differs.
    """
    bare = text.lower().translate(_WITHOUT_PUNCTUATION)
    return " ".join(_ARTICLE.sub(" ", bare).split())


def exact_match(prediction: str, golds: Sequence[str]) -> int:
    """1 where the prediction reads like one of the golds after normalisation, else 0."""
    normal = normalise_answer(prediction)
    return int(any(normal == normalise_answer(gold) for gold in golds))


def f1(prediction: str, golds: Sequence[str]) -> float:
    """The best F1 of the prediction's words, as a multiset, against a gold's; two empty ones agree."""
    words = normalise_answer(prediction).split()
    return max((_f1(words, normalise_answer(gold).split()) for gold in golds), default=0.0)


def answer_scores(gold: Mapping[str, Gold], predictions: Mapping[str, str]) -> dict[str, AnswerScores]:
    """The scores of every question with an answer field, by ``GROUPS`` that are not empty, ``Total`` last.

    Within a group the questions keep the order of ``gold``; extra predictions are not looked at.

    Raises:
        KeyError: a question has no prediction. The official script ends there too; give "" for no answer.
    """
    answered = {name: own for name, own in gold.items() if own.answers is not None}
    exact = np.array([exact_match(predictions[name], own.answers or ()) for name, own in answered.items()], float)
    overlap = np.array([f1(predictions[name], own.answers or ()) for name, own in answered.items()], float)
    group = np.array([SUBSETS.get(own.subset, "") for own in answered.values()], dtype=object)
    masks = {name: group == name for name in GROUPS[:-1]} | {"Total": np.ones(len(group), dtype=bool)}
    return {name: AnswerScores(exact[mask], overlap[mask]) for name, mask in masks.items() if mask.any()}


def _f1(words: list[str], gold: list[str]) -> float:
    if not words or not gold:
        return float(words == gold)
    shared = (Counter(words) & Counter(gold)).total()
    return 2 * shared / (len(words) + len(gold))
