"""The encoder as a Hugging Face model, for packed tokens and padded batches."""

from __future__ import annotations

from typing import Any, ClassVar

import torch
from torch import Tensor, nn
from transformers import PreTrainedModel
from transformers import initialization as init
from transformers.modeling_outputs import BaseModelOutputWithPooling

from mate_cli.attention import Layout, Plan
from mate_cli.models.configuration import MateConfig
from mate_cli.models.embeddings import Embeddings, reset_positions
from mate_cli.models.encoder import Encoder, Pooler
from mate_cli.models.variants import make_planner


class MatePreTrainedModel(PreTrainedModel):
    """Initialisation as in BERT: normal weights, zero biases, unit norms.

    Attributes:
        kind: value of ``task.kind`` that the head is for, kept in ``config.json``; "" without a head.
        unread: beginning of the names of parameters that the head does not read, and that a checkpoint may lack.
    """

    config: MateConfig
    config_class = MateConfig
    base_model_prefix = "tapas"
    kind: ClassVar[str] = ""
    unread: ClassVar[str | None] = None

    def __init__(self, config: MateConfig) -> None:
        super().__init__(config)
        if self.kind:
            config.kind = self.kind

    @torch.no_grad()
    def _init_weights(self, module: nn.Module) -> None:
        # Hugging Face's functions skip tensors that a checkpoint has filled.
        if isinstance(module, nn.Linear | nn.Embedding):
            init.normal_(module.weight, 0.0, self.config.initializer_range)
            if isinstance(module, nn.Linear) and module.bias is not None:
                init.zeros_(module.bias)
        elif isinstance(module, nn.LayerNorm):
            init.ones_(module.weight)
            init.zeros_(module.bias)


class MateModel(MatePreTrainedModel):
    """Embeddings, encoder, pooler, with the parameters of ``transformers.TapasModel`` (paper section 3.2)."""

    def __init__(self, config: MateConfig) -> None:
        super().__init__(config)
        self.embeddings = Embeddings(config)
        self.encoder = Encoder(config)
        self.pooler = Pooler(config)
        self.post_init()

    def encode(self, input_ids: Tensor, token_types: Tensor, positions: Tensor, plan: Plan) -> Tensor:
        """Encode packed tokens as states, float ``[tokens, hidden]``.

        Args:
            input_ids, positions: int64 ``[tokens]``.
            token_types: int64 ``[tokens, 7]``.
        """
        return self.encoder(self.embeddings(input_ids, token_types, positions, plan.place), plan)

    def pool(self, states: Tensor, first: Tensor, text: Tensor) -> Tensor:
        """Pool each document's first state, or the mean state of its text, to float ``[documents, hidden]``.

        Args:
            states: float ``[tokens, hidden]``, result of ``encode``.
            first: int64 ``[documents]``, first token of each document.
            text: int64 ``[tokens]``, document of each text token, -1 for other tokens.
        """
        if self.config.pooling == "first":
            return self.pooler(states[first])
        return self.pooler(mean_by_group(states, text, len(first)))

    def forward(
        self,
        input_ids: Tensor,
        attention_mask: Tensor | None = None,
        token_type_ids: Tensor | None = None,
        position_ids: Tensor | None = None,
        backend: str = "auto",
        **_: Any,
    ) -> BaseModelOutputWithPooling:
        """Encode padded batches in Hugging Face's format; padding is dropped before the encoder.

        Args:
            input_ids, attention_mask, position_ids: ``[batch, tokens]``.
            token_type_ids: ``[batch, tokens, 7]``, with the question (segment 0) before the table.

        Returns:
            ``last_hidden_state`` ``[batch, tokens, hidden]``, zero at padding, and ``pooler_output``
            ``[batch, hidden]``, zero of an example of padding alone.

        Raises:
            ValueError: all examples are padding alone.
        """
        kept = torch.ones_like(input_ids) if attention_mask is None else attention_mask
        if token_type_ids is None:
            token_type_ids = input_ids.new_zeros(*input_ids.shape, len(self.config.type_vocab_sizes))
        if position_ids is None:
            position_ids = self._positions(token_type_ids)
        keep = kept.bool()
        if not keep.any():
            raise ValueError("attention_mask is 0 everywhere: there is nothing to encode")
        plan = self._plan(keep, token_type_ids[keep], backend)
        packed = self.encode(input_ids[keep], token_type_ids[keep], position_ids.expand_as(keep)[keep], plan)
        states = packed.new_zeros(*input_ids.shape, packed.shape[1])
        states[keep] = packed
        first = (keep.sum(1).cumsum(0) - keep.sum(1)).clamp(max=len(packed) - 1)  # the last example may be all padding
        text = torch.where(token_type_ids[keep][:, 0] == 0, keep.nonzero()[:, 0], -1)
        pooled = self.pool(packed, first, text).masked_fill(~keep.any(1, keepdim=True), 0.0)
        return BaseModelOutputWithPooling(last_hidden_state=states, pooler_output=pooled)

    def _positions(self, token_types: Tensor) -> Tensor:
        last = self.config.max_position_embeddings
        if self.config.positions == "sequence":
            return torch.arange(token_types.shape[1], device=token_types.device).expand(token_types.shape[:2])
        per_column = self.config.positions == "column"
        return reset_positions(token_types[..., 1], token_types[..., 2], last, per_column)

    def _plan(self, keep: Tensor, kept_types: Tensor, backend: str) -> Plan:
        segment, column, row = kept_types[:, :3].cpu().numpy().T
        # Numbers without gaps, even if an example is all padding.
        _, document = torch.unique(keep.nonzero()[:, 0], return_inverse=True)
        layout = Layout(document.cpu().numpy(), row, column, segment)
        device = keep.device.type
        low_precision = torch.is_autocast_enabled(device) or self.dtype in (torch.bfloat16, torch.float16)
        dropout = self.training and self.config.attention_probs_dropout_prob > 0
        planner = make_planner(self.config, backend, device, low_precision=low_precision, dropout=dropout)
        return planner(layout).to(keep.device)


def mean_by_group(values: Tensor, group: Tensor, groups: int) -> Tensor:
    """Return the mean over each group's tokens, float ``[groups, ...]``; 0 for a group without tokens.

    Args:
        values: float ``[tokens, ...]``.
        group: int64 ``[tokens]``; tokens of group -1 are left out.
    """
    slot = torch.where(group >= 0, group, groups)
    total = values.new_zeros(groups + 1, *values.shape[1:]).index_add(0, slot, values)
    count = values.new_zeros(groups + 1).index_add(0, slot, values.new_ones(len(values)))
    return (total / count.clamp(min=1).view(-1, *[1] * (values.dim() - 1)))[:groups]
