"""The reader: scores spans from the states of their first and last tokens (paper section 4.2).

Shapes: T tokens, H hidden, L longest span in tokens. All spans have a logit, at ``[l, t]`` that of the span of l + 1
tokens from token t, also those that no cell contains: so shapes follow from T alone.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from mate_cli.attention import Plan
from mate_cli.config.choices import one_for_each
from mate_cli.config.task import SPAN_HEADS
from mate_cli.models.configuration import MateConfig
from mate_cli.models.dropout import FeatureDropout
from mate_cli.models.model import MateModel, MatePreTrainedModel


class MateForSpanReading(MatePreTrainedModel):
    """Scores spans of a packed batch by ``config.span_head``: the paper's ``mlp``, or ``linear`` as the release."""

    kind: ClassVar[str] = "span_reading"

    def __init__(self, config: MateConfig) -> None:
        super().__init__(config)
        self.tapas = MateModel(config)
        self.dropout = FeatureDropout(config.hidden_dropout_prob)
        self.spans = _HEADS[config.span_head](config)
        self.post_init()

    def forward(self, input_ids: Tensor, token_types: Tensor, positions: Tensor, plan: Plan) -> Tensor:
        """Compute the logits of spans of up to ``config.max_span`` tokens.

        Args:
            input_ids, token_types, positions, plan: as in ``MateModel.encode``.

        Returns:
            ``[L, T]``, at least fp32, also under autocast; any finite number where a span ends beyond the batch.
        """
        return self.spans(self.dropout(self.tapas.encode(input_ids, token_types, positions, plan), plan.place))


class LinearSpans(nn.Module):
    """One linear layer on [start; end], as in the release (docs/notes.md, note 26): a sum over both ends."""

    def __init__(self, config: MateConfig) -> None:
        super().__init__()
        self.max_span = config.max_span
        self.output = nn.Linear(2 * config.hidden_size, 1)

    def forward(self, states_TH: Tensor) -> Tensor:
        with torch.autocast(states_TH.device.type, enabled=False):
            states_TH = states_TH.to(torch.promote_types(states_TH.dtype, self.output.weight.dtype))
            start_T, end_T = (states_TH @ self.output.weight.view(2, -1).T).unbind(1)
            return by_length(torch.add, start_T, end_T, self.max_span) + self.output.bias


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

    def forward(self, states_TH: Tensor) -> Tensor:
        start_TH, end_TH = self.start(states_TH), self.end(states_TH)
        # A softmax compares sums of many terms: in bf16 close scores would become ties.
        with torch.autocast(states_TH.device.type, enabled=False):
            exact = torch.promote_types(start_TH.dtype, self.output.weight.dtype)
            return by_length(self._score, start_TH.to(exact), end_TH.to(exact), self.max_span) + self.output.bias

    def _score(self, start_TH: Tensor, end_TH: Tensor) -> Tensor:
        return torch.relu(start_TH + end_TH) @ self.output.weight[0]


def by_length(score: Callable[[Tensor, Tensor], Tensor], start: Tensor, end: Tensor, max_span: int) -> Tensor:
    """Score all spans, one length at a time, ``[L, T]``; 0 where a span ends beyond the batch.

    Args:
        score: from ``[spans, ...]`` of first tokens and ``[spans, ...]`` of last ones to ``[spans]``.
        start, end: float ``[T, ...]``.
    """
    tokens = len(start)
    lengths = range(min(max_span, tokens))
    return torch.stack([F.pad(score(start[: tokens - n], end[n:]), (0, n)) for n in lengths])


_HEADS: dict[str, type[nn.Module]] = one_for_each(SPAN_HEADS, {"mlp": MlpSpans, "linear": LinearSpans})
