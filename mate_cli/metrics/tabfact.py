"""Accuracy of TabFact, over all statements and over its official groups."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from mate_cli.tables.table import Example

GROUPS = ("simple", "complex", "small")
"""The official groups (``Example.groups``); a statement may be in several."""


def right_by_group(examples: Sequence[Example], labels: Mapping[str, int]) -> dict[str, NDArray[np.bool_]]:
    """Return the correctness of each labelled statement, for ``all`` and for each group that is not empty:
    ``GROUPS``, then kinds of generated statements.

    A statement without a prediction is wrong.

    Args:
        labels: example id -> predicted label, 1 entailed, 0 refuted.
    """
    judged = [example for example in examples if example.label is not None]
    right = np.array([labels.get(example.id) == example.label for example in judged], dtype=bool)
    names = [*GROUPS, *sorted({name for example in judged for name in example.groups} - {*GROUPS})]
    masks = {name: np.array([name in example.groups for example in judged], dtype=bool) for name in names}
    return {"all": right} | {name: right[mask] for name, mask in masks.items() if mask.any()}
