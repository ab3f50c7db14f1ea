"""TAPAS's heads: cells of one column and an operator on them (docs/notes.md, notes 24 and 25).

Every cell and column of a table has a logit. *Places* are the body cells of a batch, then the header cells in the order
of their columns. Shapes: T tokens, H hidden, D documents, L columns of all documents, P places (body cells, L headers).
"""

from __future__ import annotations

from typing import ClassVar, NamedTuple

import torch
from torch import Tensor, nn
from transformers import initialization as init

from mate_cli.attention import Plan
from mate_cli.models.configuration import MateConfig
from mate_cli.models.dropout import FeatureDropout
from mate_cli.models.model import MateModel, MatePreTrainedModel, mean_by_group


class Grid(NamedTuple):
    """The places of tokens, columns of places and documents of columns in a batch; all int64.

    Attributes:
        place: ``[T]``, place of each token, -1 in questions and histogram rows.
        column: ``[P]``, column of each place.
        document: ``[L]``, document of each column.
        first: ``[D]``, first token of each document.
        text: ``[T]``, document of each token of a question, -1 elsewhere.
    """

    place: Tensor
    column: Tensor
    document: Tensor
    first: Tensor
    text: Tensor


class TableLogits(NamedTuple):
    """
    Attributes:
        places: ``[P]``, mean of the token logits of each cell.
        columns: ``[L]``.
        operators: ``[D, labels]``, without labels if the model has no aggregation.
        nothing: ``[D]``, logit of no column, the mean of the column logits of the question's tokens; ``[0]`` without
            ``MateConfig.allow_empty_column_selection``.
    """

    places: Tensor
    columns: Tensor
    operators: Tensor
    nothing: Tensor = torch.empty(0)


class MateForTableQuestionAnswering(MatePreTrainedModel):
    """Scores cells, columns and operators; parameter names as in ``transformers.TapasForQuestionAnswering``."""

    kind: ClassVar[str] = "table_qa"

    def __init__(self, config: MateConfig) -> None:
        super().__init__(config)
        self.tapas = MateModel(config)
        self.dropout = FeatureDropout(config.hidden_dropout_prob)
        self.output_weights = nn.Parameter(torch.empty(config.hidden_size))
        self.output_bias = nn.Parameter(torch.empty([]))
        self.column_output_weights = nn.Parameter(torch.empty(config.hidden_size))
        self.column_output_bias = nn.Parameter(torch.empty([]))
        if config.num_aggregation_labels:
            self.aggregation_classifier = nn.Linear(config.hidden_size, config.num_aggregation_labels)
        self.post_init()

    def forward(self, input_ids: Tensor, token_types: Tensor, positions: Tensor, grid: Grid, plan: Plan) -> TableLogits:
        """Compute the logits of a packed batch, at least fp32, also under autocast.

        Args:
            input_ids, token_types, positions, plan: as in ``MateModel.encode``.
        """
        states = self.tapas.encode(input_ids, token_types, positions, plan)
        # Few numbers: bf16 would lose digits and save no time.
        with torch.autocast(states.device.type, enabled=False):
            states = states.to(torch.promote_types(states.dtype, self.output_weights.dtype))
            pooled = self.tapas.pool(states, grid.first, grid.text)
            return self.score(self.dropout(states, plan.place), pooled, grid)

    def score(self, states: Tensor, pooled: Tensor, grid: Grid) -> TableLogits:
        """Apply the heads to ``states``, float ``[T, H]``, and ``pooled``, float ``[D, H]``."""
        token_logits = (states @ self.output_weights + self.output_bias) / self.config.temperature
        column_logits = states @ self.column_output_weights + self.column_output_bias
        places, can_be_empty = len(grid.column), self.config.allow_empty_column_selection
        by_place = mean_by_group(column_logits, grid.place, places)
        return TableLogits(
            mean_by_group(token_logits, grid.place, places),
            mean_by_group(by_place, grid.column, len(grid.document)),
            self.aggregation_classifier(pooled) if self.config.num_aggregation_labels else pooled[:, :0],
            mean_by_group(column_logits, grid.text, len(pooled)) if can_be_empty else column_logits[:0],
        )

    @torch.no_grad()
    def _init_weights(self, module: nn.Module) -> None:
        super()._init_weights(module)
        if module is self:
            deviation = 0.0 if self.config.init_cell_selection_weights_to_zero else self.config.initializer_range
            for weights in (self.output_weights, self.column_output_weights):
                init.normal_(weights, 0.0, deviation)
            for bias in (self.output_bias, self.column_output_bias):
                init.zeros_(bias)
