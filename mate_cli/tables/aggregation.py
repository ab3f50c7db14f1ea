"""The aggregation operators of table question answering: the one list that loss, prediction and execution follow.

An operator's label is its place in ``OPERATORS``. Its differentiable form is in ``mate_cli.tasks.weak_supervision``,
whose import fails if an operator has none.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Operator:
    """An operator on the chosen cells.

    Attributes:
        compute: the result of one value per chosen cell; None: the cells themselves are the answer.
        least: the values must be numbers, this many at least; 0: only their count matters.
    """

    name: str
    compute: Callable[[Sequence[Any]], float] | None = None
    least: int = 0

    @property
    def counts(self) -> bool:
        """True if the result depends only on the number of chosen cells."""
        return self.compute is not None and not self.least


NONE = Operator("NONE")
SUM = Operator("SUM", sum, least=1)
AVERAGE = Operator("AVERAGE", lambda numbers: sum(numbers) / len(numbers), least=1)
COUNT = Operator("COUNT", lambda values: float(len(values)))
DIFFERENCE = Operator("DIFFERENCE", lambda numbers: max(numbers) - min(numbers), least=2)
OPERATORS = (
    NONE,
    SUM,
    AVERAGE,
    COUNT,
    DIFFERENCE,
)
"""In the order of the labels. The first four are TAPAS's, whose checkpoints are loaded; a model has those or all."""

TAPAS_OPERATORS = OPERATORS[:4]

_BY_NAME = {operator.name: operator for operator in OPERATORS}


def operator_named(name: str) -> Operator:
    """The operator of that name.

    Raises:
        ValueError: there is none.
    """
    if name not in _BY_NAME:
        raise ValueError(f"unknown operator {name!r}: choose from {', '.join(_BY_NAME)}")
    return _BY_NAME[name]
