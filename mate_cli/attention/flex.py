"""Exact sparse attention by PyTorch's FlexAttention: compiled kernels that skip blocks without a pair.

Tokens are sorted by line for each kind of head, so that few blocks hold pairs; which ones follows from where
lines and questions begin and end, never from a mask over all pairs.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cache
from typing import Any, ClassVar, NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.nn.attention.flex_attention import BlockMask, flex_attention

from mate_cli.attention.block_pairs import BlockPairs, block_pairs
from mate_cli.attention.order import sort_by_line
from mate_cli.attention.pattern import Kind, Pattern, attend_by_group
from mate_cli.attention.plan import Layout, Plan


class FlexGroup(NamedTuple):
    """One kind of head, its tokens sorted (padding last).

    ``document``, ``row``, ``column``, ``is_question`` are of the sorted tokens; padding is document -1.
    """

    order: Tensor  # int64 [tokens]
    output_index: Tensor  # int64 [tokens]: place among the sorted; one past the last for padding
    document: Tensor
    row: Tensor
    column: Tensor
    is_question: Tensor
    pairs: BlockPairs


@dataclass(frozen=True)
class FlexPlan(Plan):
    """``groups`` of ``kinds``; the block masks are made on the device, once for all layers."""

    backend: ClassVar[str] = "flex"
    kinds: tuple[Kind, ...]
    groups: tuple[FlexGroup, ...]
    masks: dict[int, BlockMask] = field(default_factory=dict, init=False, compare=False, repr=False)

    def mask(self, number: int) -> BlockMask:
        if number not in self.masks:
            self.masks[number] = _block_mask(self.kinds[number], self.groups[number])
        return self.masks[number]


def flex_plan(layout: Layout, kinds: tuple[Kind, ...]) -> FlexPlan:
    """Sort the tokens and find the blocks for every kind of head."""
    layout.spans()
    groups = {kind: _group(kind, layout) for kind in set(kinds)}
    return FlexPlan(len(layout.document), kinds, tuple(groups[kind] for kind in kinds))


def attend_flex(qkv: Tensor, plan: FlexPlan, pattern: Pattern, dropout: float = 0.0) -> Tensor:
    """See ``attend``.

    Raises:
        ValueError: dropout is asked for; only ``eager`` has it.
    """

    def attend_group(rows: Tensor, kind: Kind) -> Tensor:
        number = plan.kinds.index(kind)
        own = plan.groups[number]
        query, key, value = rows.index_select(0, own.order)[None].permute(2, 0, 3, 1, 4)
        states = kernel(query, key, value, plan.mask(number))[0].transpose(0, 1).flatten(1)
        return torch.cat([states, states.new_zeros(1, states.shape[1])]).index_select(0, own.output_index)

    return attend_by_group(qkv, pattern, dropout, "flex", attend_group)


def kernel(query: Tensor, key: Tensor, value: Tensor, mask: BlockMask) -> Tensor:
    """FlexAttention of ``[1, heads, tokens, head_dim]``; without a GPU it has no backward pass."""
    run = _compiled() if query.is_cuda else flex_attention
    states: Tensor = run(query, key, value, block_mask=mask)
    return states


@cache
def _compiled() -> Any:
    return torch.compile(flex_attention, dynamic=True)


def _block_mask(kind: Kind, group: FlexGroup) -> BlockMask:
    document, row, column, is_question = group.document, group.row, group.column, group.is_question

    def may_attend(_batch: Tensor, _head: Tensor, query: Tensor, key: Tensor) -> Tensor:
        same = document[query] == document[key]
        if kind == "full":
            return same
        pair = is_question[query] | is_question[key]
        if kind in ("row", "row_or_column"):
            pair = pair | (row[query] == row[key])
        if kind in ("column", "row_or_column"):
            pair = pair | (column[query] == column[key])
        return same & pair

    partial_count, partial, full_count, full = (table[None, None] for table in group.pairs[:4])
    size = len(group.order)
    return BlockMask.from_kv_blocks(
        partial_count, partial, full_count, full, group.pairs.block, may_attend, seq_lengths=(size, size)
    )


def _group(kind: Kind, layout: Layout) -> FlexGroup:
    # The kinds that are no line go by rows, which is the order they come in.
    sorted_tokens = sort_by_line("column" if kind == "column" else "row", layout)
    padding = np.flatnonzero(layout.document < 0)
    order = np.r_[sorted_tokens.tokens, padding]
    place = np.full(len(order), len(order))
    place[sorted_tokens.tokens] = np.arange(len(sorted_tokens.tokens))
    line = np.zeros(len(order), int) if kind in ("full", "row_or_column") else sorted_tokens.line[order]
    is_question = layout.segment[order] == 0
    document = layout.document[order]
    return FlexGroup(
        order=torch.from_numpy(order),
        output_index=torch.from_numpy(place),
        document=torch.from_numpy(document),
        row=torch.from_numpy(layout.row[order]),
        column=torch.from_numpy(layout.column[order]),
        is_question=torch.from_numpy(is_question),
        pairs=block_pairs(document, line, is_question, whole=kind == "full", uncertain=kind == "row_or_column"),
    )
