"""Attention patterns: which tokens the heads of each group attend to (paper section 3)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

Kind = Literal["full", "row", "column", "row_or_column"]


@dataclass(frozen=True, slots=True)
class HeadGroup:
    """Adjacent heads that share one pattern."""

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
    """Return the pattern of TAPAS: every token attends to every token of its document."""
    return Pattern((HeadGroup("full", heads),))


def mate_pattern(heads: int, row_ratio: float = 0.5) -> Pattern:
    """Return the pattern of MATE: row heads, then column heads; ``row_ratio`` 0 or 1 leaves one kind."""
    row_heads = int(heads * row_ratio)
    groups = (HeadGroup("row", row_heads), HeadGroup("column", heads - row_heads))
    return Pattern(tuple(group for group in groups if group.heads))


def allowed(kind: Kind, row: Tensor, column: Tensor, segment: Tensor) -> Tensor:
    """Return the mask that defines a pattern on the tokens of a document, or of several: query i attends to key j.

    The question (segment 0) sees all tokens and all see it; any other token sees its row, its column, or both. The
    header is row 0 with segment 1: a row, not part of the question (docs/notes.md, note 12).

    Args:
        row, column, segment: integers ``[..., n]``.

    Returns:
        bool ``[..., n, n]``, queries first.
    """
    question = segment == 0
    pairs = question[..., :, None] | question[..., None, :]
    if kind == "full":
        return torch.ones_like(pairs)
    if kind in ("row", "row_or_column"):
        pairs = pairs | (row[..., :, None] == row[..., None, :])
    if kind in ("column", "row_or_column"):
        pairs = pairs | (column[..., :, None] == column[..., None, :])
    return pairs


def split_groups(qkv: Tensor, pattern: Pattern) -> Iterator[tuple[Kind, Tensor]]:
    """Yield kind and ``[tokens, 3, heads, head_dim]`` (query, key, value) of each head group.

    Args:
        qkv: ``[tokens, 3 * hidden]``, see ``mate_cli.attention.attend``.
    """
    head_dim = qkv.shape[1] // (3 * pattern.heads)
    widths = [3 * group.heads * head_dim for group in pattern.groups]
    for group, part in zip(pattern.groups, qkv.split(widths, dim=1), strict=True):
        yield group.kind, part.unflatten(1, (3, group.heads, head_dim))
