"""Softmaxes and maxima over groups of packed values: the cells of a document, its columns, its spans."""

from __future__ import annotations

import torch
from torch import Tensor


def logsumexp_by_group(values: Tensor, group: Tensor, groups: int) -> Tensor:
    """log sum exp of ``values`` within each group, ``[groups]``; -inf for an empty group."""
    peak = values.new_full((groups,), -torch.inf).scatter_reduce(0, group, values.detach(), "amax")
    total = values.new_zeros(groups).index_add(0, group, (values - peak[group]).exp())
    return total.log() + peak


def log_softmax_by_group(values: Tensor, group: Tensor, groups: int) -> Tensor:
    """Log-softmax of float ``values`` within each group, as ``values``; ``group`` is int64 as ``values``."""
    return values - logsumexp_by_group(values, group, groups)[group]


def first_best_by_group(values: Tensor, group: Tensor, groups: int) -> Tensor:
    """The index of the largest value in each group, int64 ``[groups]``: the first of equals, -1 for an empty group."""
    peak = values.new_full((groups,), -torch.inf).scatter_reduce(0, group, values, "amax")
    place = torch.arange(len(values), device=values.device)
    place = torch.where(values == peak[group], place, len(values))
    first = torch.full((groups,), len(values), device=values.device).scatter_reduce(0, group, place, "amin")
    return torch.where(first < len(values), first, -1)
