"""Input embeddings: word, position and seven token types (paper section 3; docs/notes.md, notes 4 and 5).

A text-only model (SAT) has one of the seven, the segment, which tells question, table and histogram row apart.
Positions are those of ``MateConfig.positions`` in every model. Shapes: T tokens, H hidden.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from mate_cli.models.configuration import MateConfig
from mate_cli.models.dropout import FeatureDropout


class Embeddings(nn.Module):
    """The sum of the embeddings, normalised. Indices beyond a type table are clamped in the look-up only."""

    def __init__(self, config: MateConfig) -> None:
        super().__init__()
        self.word_embeddings = nn.Embedding(config.vocab_size, config.hidden_size)
        self.position_embeddings = nn.Embedding(config.max_position_embeddings, config.hidden_size)
        self.type_vocab_sizes = tuple(config.type_vocab_sizes)[: 1 if config.text_only else None]
        for number, size in enumerate(self.type_vocab_sizes):
            setattr(self, f"token_type_embeddings_{number}", nn.Embedding(size, config.hidden_size))
        self.LayerNorm = nn.LayerNorm(config.hidden_size, eps=config.layer_norm_eps)
        self.dropout = FeatureDropout(config.hidden_dropout_prob)

    def forward(self, input_ids_T: Tensor, token_types_T7: Tensor, positions_T: Tensor, place_T: Tensor) -> Tensor:
        """Map int64 indices to float ``[tokens, hidden]``."""
        states_TH = self.word_embeddings(input_ids_T) + self.position_embeddings(positions_T)
        for number, size in enumerate(self.type_vocab_sizes):
            table = getattr(self, f"token_type_embeddings_{number}")
            states_TH += table(token_types_T7[:, number].clamp(max=size - 1))
        return self.dropout(self.LayerNorm(states_TH), place_T)

    def clamped(self, token_types_T7: Tensor) -> Tensor:
        """Count the indices beyond their table; an int64 scalar on the tensor's device."""
        sizes = torch.tensor(self.type_vocab_sizes, device=token_types_T7.device)
        return (token_types_T7[:, : len(sizes)] >= sizes).sum()


def reset_positions(column: Tensor, row: Tensor, max_positions: int, per_column: bool = False) -> Tensor:
    """Return the position of each token within its cell, clamped to the table, or within its column, modulo its size.

    The question is a cell and a column of its own; other cells are (column, row) pairs (docs/notes.md, note 5).

    Args:
        column, row: int64 ``[batch, tokens]``.
    """
    group = column if per_column else column * (row.amax() + 1) + row
    order = group.argsort(dim=1, stable=True)
    ordered = group.gather(1, order)
    index = torch.arange(group.shape[1], device=group.device).expand_as(group)
    starts = torch.ones_like(ordered, dtype=torch.bool)
    starts[:, 1:] = ordered[:, 1:] != ordered[:, :-1]
    first = torch.where(starts, index, 0).cummax(1).values
    place = torch.zeros_like(index).scatter(1, order, index - first)
    return place % max_positions if per_column else place.clamp(max=max_positions - 1)
