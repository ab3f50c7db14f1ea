"""The cell selector: a linear layer on every token, the mean over each cell (paper section 5.1, checklist 32)."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from mate_cli.attention import Plan
from mate_cli.models.configuration import MateConfig
from mate_cli.models.model import MateModel, MatePreTrainedModel


class MateForCellSelection(MatePreTrainedModel):
    """Scores body cells; parameter names as in ``transformers.TapasForQuestionAnswering``."""

    def __init__(self, config: MateConfig) -> None:
        super().__init__(config)
        self.tapas = MateModel(config)
        self.output_weights = nn.Parameter(torch.empty(config.hidden_size).normal_(0.0, config.initializer_range))
        self.output_bias = nn.Parameter(torch.zeros([]))
        self.post_init()

    def forward(
        self, input_ids: Tensor, token_types: Tensor, positions: Tensor, cell: Tensor, cells: int, plan: Plan
    ) -> Tensor:
        """Logits of the body cells of a packed batch.

        Args:
            input_ids, positions: int64 ``[tokens]``; token_types: int64 ``[tokens, 7]``.
            cell: int64 ``[tokens]``, the body cell each token belongs to, -1 where none; cells: how many.

        Returns:
            float32 ``[cells]``: the mean of the logits of each cell's tokens.
        """
        states = self.tapas.encode(input_ids, token_types, positions, plan)
        logits = states.float() @ self.output_weights + self.output_bias
        return mean_by_cell(logits, cell, cells)


def mean_by_cell(values: Tensor, cell: Tensor, cells: int) -> Tensor:
    """Mean of ``values`` ``[tokens]`` over the tokens of each cell, ``[cells]``; tokens with cell -1 are left out."""
    inside = cell >= 0
    own = cell[inside]
    total = values.new_zeros(cells).index_add(0, own, values[inside])
    count = values.new_zeros(cells).index_add(0, own, torch.ones_like(values[inside]))
    return total / count.clamp(min=1)
