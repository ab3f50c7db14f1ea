"""Accuracy of TabFact's verdicts, over all statements and over the official groups (checklist 74)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from mate_cli.tables.table import Example

GROUPS = ("simple", "complex", "small", "synthetic", "counterfactual")
"""TabFact's official groups, as ``Example.groups`` names them, and the kinds of generated statements; a statement can
be in several."""


def right_by_group(examples: Sequence[Example], labels: Mapping[str, int]) -> dict[str, NDArray[np.bool_]]:
    """Whether each statement with a label is judged rightly: under ``all``, then the ``GROUPS`` that are not empty.

    A statement without a verdict counts as wrong.

    Args:
        labels: 1 entailed, 0 refuted, by the id of the example.
    """
    judged = [example for example in examples if example.label is not None]
    right = np.array([labels.get(example.id) == example.label for example in judged], dtype=bool)
    masks = {name: np.array([name in example.groups for example in judged], dtype=bool) for name in GROUPS}
    return {"all": right} | {name: right[mask] for name, mask in masks.items() if mask.any()}
