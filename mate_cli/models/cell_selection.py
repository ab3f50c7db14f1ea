"""The cell selector: a linear layer on every token, the mean over each cell (paper section 4.1)."""

from __future__ import annotations

from typing import ClassVar

import torch
from torch import Tensor, nn
from transformers import initialization as init

from mate_cli.attention import Plan
from mate_cli.models.configuration import MateConfig
from mate_cli.models.dropout import FeatureDropout
from mate_cli.models.model import MateModel, MatePreTrainedModel, mean_by_group


class MateForCellSelection(MatePreTrainedModel):
    """Scores body cells; parameter names as in ``transformers.TapasForQuestionAnswering``."""

    kind: ClassVar[str] = "cell_selection"

    def __init__(self, config: MateConfig) -> None:
        super().__init__(config)
        self.tapas = MateModel(config)
        self.dropout = FeatureDropout(config.hidden_dropout_prob)
        self.output_weights = nn.Parameter(torch.empty(config.hidden_size))
        self.output_bias = nn.Parameter(torch.empty([]))
        self.post_init()

    def forward(
        self, input_ids: Tensor, token_types: Tensor, positions: Tensor, cell: Tensor, cells: int, plan: Plan
    ) -> Tensor:
        """Score the body cells of a packed batch by the mean logit of their tokens.

        Args:
            input_ids, token_types, positions, plan: as in ``MateModel.encode``.
            cell: int64 ``[tokens]``, body cell of each token, -1 for none.
            cells: number of body cells.

        Returns:
            ``[cells]``, at least fp32, also under autocast.
        """
        states = self.dropout(self.tapas.encode(input_ids, token_types, positions, plan), plan.place)
        # Few numbers: bf16 would lose digits and save no time.
        with torch.autocast(states.device.type, enabled=False):
            states = states.to(torch.promote_types(states.dtype, self.output_weights.dtype))
            return mean_by_group(states @ self.output_weights + self.output_bias, cell, cells)

    @torch.no_grad()
    def _init_weights(self, module: nn.Module) -> None:
        super()._init_weights(module)
        if module is self:
            init.normal_(self.output_weights, 0.0, self.config.initializer_range)
            init.zeros_(self.output_bias)
