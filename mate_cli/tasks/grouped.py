"""Sums over groups of packed values: the cells of a document, the spans of a document."""

from __future__ import annotations

import torch
from torch import Tensor


def logsumexp_by_group(values: Tensor, group: Tensor, groups: int) -> Tensor:
    """log sum exp of ``values`` within each group, ``[groups]``; -inf for an empty one."""
    peak = values.new_full((groups,), -torch.inf).scatter_reduce(0, group, values.detach(), "amax")
    total = values.new_zeros(groups).index_add(0, group, (values - peak[group]).exp())
    return total.log() + peak
