"""The configuration of a model: TAPAS's fields by their Hugging Face names, and the attention pattern."""

from __future__ import annotations

from transformers import PretrainedConfig

from mate_cli.attention import Pattern, full_pattern, mate_pattern

# Segment, column, row, previous label, column rank, inverse column rank, numeric relation (checklist 2).
TYPE_VOCAB_SIZES = (3, 256, 256, 2, 256, 256, 10)

PATTERN_FAMILIES = ("mate", "full")


class MateConfig(PretrainedConfig):
    """What ``config.json`` of a model says.

    ``heads`` is ``mate`` (row heads and column heads, paper section 3) or ``full`` (TAPAS);
    ``row_heads_ratio`` is the share of row heads (checklist 5). MATE adds no parameters (checklist 13).
    """

    model_type = "mate"

    vocab_size: int = 30522
    hidden_size: int = 768
    num_hidden_layers: int = 12
    num_attention_heads: int = 12
    intermediate_size: int = 3072
    hidden_act: str = "gelu"
    hidden_dropout_prob: float = 0.0
    attention_probs_dropout_prob: float = 0.0
    max_position_embeddings: int = 512
    type_vocab_sizes: list[int] | tuple[int, ...] = TYPE_VOCAB_SIZES
    initializer_range: float = 0.02
    layer_norm_eps: float = 1e-12
    pad_token_id: int | None = 0
    reset_position_index_per_cell: bool = True
    heads: str = "mate"
    row_heads_ratio: float = 0.5

    def pattern(self) -> Pattern:
        """Which tokens each head attends to.

        Raises:
            ValueError: ``heads`` is none of ``PATTERN_FAMILIES``.
        """
        if self.heads not in PATTERN_FAMILIES:
            raise ValueError(f"heads is {self.heads!r}, not one of {', '.join(PATTERN_FAMILIES)}")
        if self.heads == "full":
            return full_pattern(self.num_attention_heads)
        return mate_pattern(self.num_attention_heads, self.row_heads_ratio)
