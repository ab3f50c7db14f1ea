"""Padded batches as a ``Batch``, by tensor operations of fixed shapes alone, for exported graphs.

Cells and headers have the numbers that ``Collator`` gives them. As in ``mate_cli.encoding.fixed`` there are as many
places for cells, and for headers, as for tokens; those after the real ones hold nothing.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from mate_cli.attention.padded import padded_plan
from mate_cli.attention.pattern import Kind
from mate_cli.encoding.batch import Batch


def padded_batch(
    input_ids: Tensor, attention_mask: Tensor, token_type_ids: Tensor, position_ids: Tensor, kinds: tuple[Kind, ...]
) -> Batch:
    """Make the batch that a model's ``Task.logits`` reads; it has no labels.

    Args:
        input_ids, attention_mask, position_ids: int64 ``[batch, n]``.
        token_type_ids: int64 ``[batch, n, 7]``; rows and columns are not clamped.
        kinds: of the model's head groups.
    """
    keep = attention_mask > 0
    segment, column, row = (torch.where(keep, token_type_ids[:, :, number], 0) for number in range(3))
    documents, tokens = keep.shape
    document = torch.arange(documents)[:, None].expand(documents, tokens)
    in_table = keep & (segment == 1)
    cell = _numbers(row, column, in_table & (row > 0))
    header = _numbers(row, column, in_table & (row == 0))
    size = documents * tokens
    none, unknown = torch.full((size,), -1), torch.full((size,), torch.nan)
    return Batch(
        input_ids=torch.where(keep, input_ids, 0).flatten(),
        token_types=torch.where(keep[:, :, None], token_type_ids, 0).flatten(0, 1),
        positions=torch.where(keep, position_ids, 0).flatten(),
        document=document.flatten(),
        cell=cell.flatten(),
        header=header.flatten(),
        cell_document=none,
        cell_row=none,
        cell_column=none,
        cell_header=_by_number(cell, _header_above(column, header)),
        header_document=none,
        is_candidate=none > 0,
        cell_value=unknown,
        answer_value=unknown[:documents],
        label=none[:documents],
        operator=none[:documents],
        first=torch.arange(documents) * tokens,
        answer_span=none[:documents],
        characters=none,
        masked=none[:0],
        target=none[:0],
        num_masked=0,
        ids=[],
        plan=padded_plan(kinds, keep, row, column, segment),
        texts=[],
        answers=[],
    )


def _numbers(row: Tensor, column: Tensor, counts: Tensor) -> Tensor:
    """Number the cells of the tokens that count, in order, int64 ``[batch, n]``; -1 for other tokens."""
    is_first = counts & ((row != _before(row)) | (column != _before(column)) | ~(_before(counts.long()) > 0))
    number = is_first.flatten().long().cumsum(0).view_as(row) - 1
    return torch.where(counts, number, -1)


def _before(values: Tensor) -> Tensor:
    """The value of the token before each one, int64 ``[batch, n]``; -1 before the first."""
    return F.pad(values, (1, 0), value=-1)[:, :-1]


def _header_above(column: Tensor, header: Tensor) -> Tensor:
    """The header of each token's column, int64 ``[batch, n]``; -1 if it has none."""
    return torch.where(column[:, :, None] == column[:, None, :], header[:, None, :], -1).amax(2)


def _by_number(number: Tensor, values: Tensor) -> Tensor:
    """Put the value of a cell's tokens at the number of the cell, int64 ``[batch * n]``; -1 where there is no cell."""
    size = number.numel()
    slot = torch.where(number < 0, size, number).flatten()
    return torch.full((size + 1,), -1).scatter(0, slot, values.flatten())[:size]
