"""Supervision of aggregation: learn operators from the answer alone (docs/notes.md, note 25), or from themselves.

A numeric answer may be the result of an operator on unknown cells. The model computes the expected result over its
choice of cells and operator, and learns from the difference to the answer.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional as F

from mate_cli.config.choices import one_for_each
from mate_cli.tables.aggregation import OPERATORS, operator_named

Expectation = Callable[[Tensor, Tensor, Tensor], Tensor]
"""The differentiable form of an operator: expected count, sum and squared deviation of the chosen cells from their
mean, ``[examples]`` each, to the expected result."""

_EXPECTATIONS: dict[str, Expectation] = one_for_each(
    (operator.name for operator in OPERATORS if operator.compute is not None),
    {
        "SUM": lambda count, total, squares: total,
        "AVERAGE": lambda count, total, squares: _mean(
            count, total
        ),  # the ratio of expectations, the release's default
        "COUNT": lambda count, total, squares: count,
        "DIFFERENCE": lambda count, total, squares: 2 * _root(_mean(count, squares)),  # exact for two cells
    },
)

_LARGE = 1e9
_LARGEST = 1e24  # the gradient of a mean is up to 1e10 times as large, and 32 bits end at 3e38


@dataclass(frozen=True, slots=True)
class WeakSupervision:
    """The choice between selecting and computing, and the loss of a computed result.

    Attributes:
        cell_select_pref: a number that is also in the table trains cell selection while P(aggregation) <= this.
        huber_delta: the loss is quadratic for errors up to this, linear beyond.
        answer_loss_cutoff: examples with a greater loss of the result are skipped; None: none is.
    """

    cell_select_pref: float = 0.5
    huber_delta: float = 1.0
    answer_loss_cutoff: float | None = None

    def computes(self, operators: Tensor, answer: Tensor, has_cells: Tensor) -> Tensor:
        """Mark the examples that learn to compute their answer instead of selecting it, bool ``[examples]``.

        Only finite answers are computed.

        Args:
            operators: logits ``[examples, operators]``; answer: float ``[examples]``; has_cells: bool ``[examples]``.
        """
        mass = operators.detach().softmax(1)[:, 1:].sum(1)
        return answer.isfinite() & ~((mass <= self.cell_select_pref) & has_cells)

    def losses(self, operators: Tensor, expected: Tensor, answer: Tensor, computes: Tensor) -> Tensor:
        """The loss of the operator and, for computed answers, of the result, ``[examples]``."""
        error = torch.where(computes, expected - answer, 0.0)
        # Huber's loss; PyTorch's function of that name falls back to the CPU on XLA.
        nothing = torch.zeros_like(error)
        result = self.huber_delta * F.smooth_l1_loss(error, nothing, reduction="none", beta=self.huber_delta)
        losses = operator_loss(operators, computes) + result
        if self.answer_loss_cutoff is None:
            return losses
        return torch.where(result <= self.answer_loss_cutoff, losses, 0.0)


def operator_loss(operators: Tensor, computes: Tensor) -> Tensor:
    """-log p(NONE) if the cells are the answer, -log p(any other operator) if it is computed; ``[examples]``."""
    log_p = operators.log_softmax(1)
    return -torch.where(computes, log_p[:, 1:].logsumexp(1), log_p[:, 0])


def known_operator_losses(operators: Tensor, label: Tensor) -> Tensor:
    """-log p of the known operator, the release's loss with full supervision, ``[examples]``.

    Args:
        operators: logits ``[examples, operators]``; label: int64 ``[examples]``, -1 where the operator is unknown:
            loss 0.
    """
    return F.cross_entropy(operators, label, reduction="none", ignore_index=-1)


def expected_result(operators: Tensor, probability: Tensor, value: Tensor, document: Tensor) -> Tensor:
    """The mean result of all operators except NONE, weighted by their probabilities, ``[examples]``.

    Args:
        operators: logits ``[examples, operators]``, of the first of ``OPERATORS``.
        probability, value, document: of each body cell, ``[cells]``: the probability that it is chosen, its number
            (0 if not finite), its example.
    """
    value = value.nan_to_num(nan=0.0, posinf=0.0, neginf=0.0).clamp(-_LARGEST, _LARGEST).to(probability.dtype)
    nothing = probability.new_zeros(len(operators))
    # Squares of numbers like 1e21 are infinite in 32 bits, so those of a table with such numbers are taken in a unit.
    unit = nothing.scatter_reduce(0, document, value.abs(), "amax")
    unit = torch.where(unit > _LARGE, unit, 1.0)
    value = value / unit[document]
    count = nothing.index_add(0, document, probability)
    total = nothing.index_add(0, document, probability * value)
    deviation = value - _mean(count, total)[document]
    squares = nothing.index_add(0, document, probability * deviation * deviation)
    known = list(_EXPECTATIONS.items())[: operators.shape[1] - 1]
    results = torch.stack(
        [form(count, total, squares) * (1.0 if operator_named(name).counts else unit) for name, form in known], dim=1
    )
    return (results * operators[:, 1:].softmax(1)).sum(1)


def _mean(count: Tensor, total: Tensor) -> Tensor:
    return total / (count + 1e-10)


def _root(square: Tensor) -> Tensor:
    """The square root, with gradient 0 instead of infinity at 0."""
    is_positive = square > 0
    return torch.where(is_positive, torch.where(is_positive, square, 1.0).sqrt(), 0.0)
