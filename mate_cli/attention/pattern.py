"""Who may attend to whom: the attention pattern of each group of heads (paper section 3, checklist 4 and 5)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

Kind = Literal["full", "row", "column", "row_or_column"]


@dataclass(frozen=True, slots=True)
class HeadGroup:
    """Neighbouring heads that share one pattern."""

    kind: Kind
    heads: int


@dataclass(frozen=True, slots=True)
class Pattern:
    """The head groups of a model in the order of their heads."""

    groups: tuple[HeadGroup, ...]

    @property
    def heads(self) -> int:
        return sum(group.heads for group in self.groups)

    @property
    def kinds(self) -> tuple[Kind, ...]:
        return tuple(group.kind for group in self.groups)


def full_pattern(heads: int) -> Pattern:
    """Every token attends to every token of its document (TAPAS)."""
    return Pattern((HeadGroup("full", heads),))


def mate_pattern(heads: int, row_ratio: float = 0.5) -> Pattern:
    """Row heads first, then column heads (MATE); ``row_ratio`` 0 or 1 leaves one kind (checklist 5, 95, 96)."""
    row_heads = int(heads * row_ratio)
    groups = (HeadGroup("row", row_heads), HeadGroup("column", heads - row_heads))
    return Pattern(tuple(group for group in groups if group.heads))


def allowed(kind: Kind, row: Tensor, column: Tensor, segment: Tensor) -> Tensor:
    """The definition, for the tokens of one document: may query i attend to key j?

    The question (segment 0) sees and is seen by all; any other token sees its own row, its own column, or
    either. The header is row 0 with segment 1: a row of its own, not part of the question (checklist 135).

    Args:
        row, column, segment: integers ``[n]``.

    Returns:
        bool ``[n, n]``, queries first.
    """
    if kind == "full":
        return torch.ones(len(row), len(row), dtype=torch.bool, device=row.device)
    question = segment == 0
    pairs = question[:, None] | question[None, :]
    if kind in ("row", "row_or_column"):
        pairs = pairs | (row[:, None] == row[None, :])
    if kind in ("column", "row_or_column"):
        pairs = pairs | (column[:, None] == column[None, :])
    return pairs


def attend_by_group(
    qkv: Tensor, pattern: Pattern, dropout: float, backend: str, attend_group: Callable[[Tensor, Kind], Tensor]
) -> Tensor:
    """The outputs of all head groups side by side, ``[tokens, hidden]``; for backends without dropout.

    Args:
        attend_group: ``[tokens, 3, heads, head_dim]`` of a group, and its kind, to ``[tokens, heads * head_dim]``.

    Raises:
        ValueError: dropout is asked for; only ``eager`` has it.
    """
    if dropout:
        raise ValueError(f"{backend} has no attention dropout")
    head_dim = qkv.shape[1] // (3 * pattern.heads)
    widths = [3 * group.heads * head_dim for group in pattern.groups]
    parts = zip(pattern.groups, qkv.split(widths, dim=1), strict=True)
    return torch.cat([attend_group(rows.unflatten(1, (3, g.heads, head_dim)), g.kind) for g, rows in parts], 1)
