"""The rows of a table of scores that are for groups of questions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any


def group_rows(scores: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any] | None]]:
    """Name and scores of each group, indented, below a row with the name of the grouping, which has no scores.

    A kind of question is left out where the place of the answer says the same, as "missing" does in the sample.

    Args:
        scores: of a model, with ``by_subset`` and ``by_reasoning``: name -> scores.
    """
    places, kinds = scores["by_subset"], scores["by_reasoning"]
    known = {name.lower() for name in places}
    kinds = {name: own for name, own in kinds.items() if name.lower() not in known}
    for heading, groups in (("by place of the answer", places), ("by kind of question", kinds)):
        if groups:
            yield f"  {heading}", None
            yield from ((f"    {name}", own) for name, own in groups.items())
