"""The reader: scores spans from the states of their first and last tokens (paper section 4.2).

Shapes: T tokens, H hidden, S spans, L longest span in tokens.
"""

from __future__ import annotations

from typing import ClassVar

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from mate_cli.attention import Plan
from mate_cli.config.choices import one_for_each
from mate_cli.config.task import SPAN_HEADS
from mate_cli.models.configuration import MateConfig
from mate_cli.models.model import MateModel, MatePreTrainedModel


class MateForSpanReading(MatePreTrainedModel):
    """Scores spans of a packed batch by ``config.span_head``: the paper's ``mlp``, or ``linear`` as the release."""

    kind: ClassVar[str] = "span_reading"

    def __init__(self, config: MateConfig) -> None:
        super().__init__(config)
        self.tapas = MateModel(config)
        self.dropout = nn.Dropout(config.hidden_dropout_prob)
        self.spans = _HEADS[config.span_head](config)
        self.post_init()

    def forward(
        self, input_ids: Tensor, token_types: Tensor, positions: Tensor, first: Tensor, last: Tensor, plan: Plan
    ) -> Tensor:
        """Compute the logits of spans.

        Args:
            input_ids, token_types, positions, plan: as in ``MateModel.encode``.
            first, last: int64 ``[S]``, first and last tokens of the spans; ``0 <= last - first < config.max_span``.

        Returns:
            ``[S]``, at least fp32, also under autocast.
        """
        states_TH = self.dropout(self.tapas.encode(input_ids, token_types, positions, plan))
        return self.spans(states_TH, first, last)


class LinearSpans(nn.Module):
    """One linear layer on [start; end], as in the release (docs/notes.md, note 26): a sum over both ends."""

    def __init__(self, config: MateConfig) -> None:
        super().__init__()
        self.output = nn.Linear(2 * config.hidden_size, 1)

    def forward(self, states_TH: Tensor, first_S: Tensor, last_S: Tensor) -> Tensor:
        with torch.autocast(states_TH.device.type, enabled=False):
            states_TH = states_TH.to(torch.promote_types(states_TH.dtype, self.output.weight.dtype))
            start_T, end_T = (states_TH @ self.output.weight.view(2, -1).T).unbind(1)
            return start_T[first_S] + end_T[last_S] + self.output.bias


class MlpSpans(nn.Module):
    """A hidden layer of the encoder's width on [start; end], ReLU, and a linear layer (the paper leaves sizes open).

    The hidden layer is computed by halves: its product with every token as a start and as an end, T x 2H, then the sums
    for all starts, one span length at a time. No [start; end] of 2H numbers is formed for any span.
    """

    def __init__(self, config: MateConfig) -> None:
        super().__init__()
        self.max_span = config.max_span
        self.start = nn.Linear(config.hidden_size, config.hidden_size)
        self.end = nn.Linear(config.hidden_size, config.hidden_size, bias=False)
        self.output = nn.Linear(config.hidden_size, 1)

    def forward(self, states_TH: Tensor, first_S: Tensor, last_S: Tensor) -> Tensor:
        start_TH, end_TH = self.start(states_TH), self.end(states_TH)
        # A softmax compares sums of many terms: in bf16 close scores would become ties.
        with torch.autocast(states_TH.device.type, enabled=False):
            exact = torch.promote_types(start_TH.dtype, self.output.weight.dtype)
            grid_LT = self._grid(start_TH.to(exact), end_TH.to(exact))
            place_S = (last_S - first_S) * len(states_TH) + first_S
            return grid_LT.flatten().index_select(0, place_S) + self.output.bias

    def _grid(self, start_TH: Tensor, end_TH: Tensor) -> Tensor:
        """Return at [l, t] the logit, without bias, of the span of l + 1 tokens from t; 0 beyond the batch."""
        tokens = len(start_TH)
        weight_H = self.output.weight[0]
        lengths = range(min(self.max_span, tokens))
        logits = [torch.relu(start_TH[: tokens - n] + end_TH[n:]) @ weight_H for n in lengths]
        return torch.stack([F.pad(logits_T, (0, n)) for n, logits_T in enumerate(logits)])


_HEADS: dict[str, type[nn.Module]] = one_for_each(SPAN_HEADS, {"mlp": MlpSpans, "linear": LinearSpans})
