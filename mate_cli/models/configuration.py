"""The configuration of a model: TAPAS's fields by their Hugging Face names, and the attention pattern."""

from __future__ import annotations

from transformers import PretrainedConfig

from mate_cli.attention import HeadGroup, Pattern, full_pattern, mate_pattern

# Segment, column, row, previous label, column rank, inverse column rank, numeric relation (checklist 2).
TYPE_VOCAB_SIZES = (3, 256, 256, 2, 256, 256, 10)


class MateConfig(PretrainedConfig):
    """What ``config.json`` of a model says.

    Attributes:
        heads: ``mate`` (row heads and column heads, paper section 3), ``full`` (TAPAS), ``row_or_column`` (SAT's
            one mask), ``linformer``, ``table_etc``. MATE adds no parameters (checklist 13).
        row_heads_ratio: share of row heads of ``mate`` (checklist 5).
        linformer_k, linformer_tokens: columns and rows of the projection, K and the longest input.
        table_etc_radius: tokens on either side that a token attends to.
        table_etc_global_size, etc_global_size: global tokens of a document; an even number in TableETC.
        text_only: of the type embeddings only the segment's is there (SAT).
        histogram_row: the input has a row of value counts at the bottom of the table (SAT).
        pooling: what a label or an operator is read from, through the pooler: the first token, [CLS], as in BERT and
            TAPAS, or the mean of the text's tokens (``text``), as in sentence encoders.
        kind: what the model predicts; max_span, span_head: of ``span_reading``, the longest span in pieces and what
            scores it.
        num_aggregation_labels, temperature, init_cell_selection_weights_to_zero: of ``table_qa``, the operators on
            cells (0: none), what token logits are divided by, and how the weights that score cells and columns start.
        mentions: of ``entailment``, a second head tells which tokens of the text stand in the table.
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
    linformer_k: int = 256
    linformer_tokens: int = 2048
    table_etc_radius: int = 84
    table_etc_global_size: int = 256
    etc_global_size: int = 256
    text_only: bool = False
    histogram_row: bool = False
    pooling: str = "first"
    kind: str = "cell_selection"
    max_span: int = 20
    span_head: str = "mlp"
    num_aggregation_labels: int = 0
    temperature: float = 1.0
    init_cell_selection_weights_to_zero: bool = False
    mentions: bool = False

    def pattern(self) -> Pattern:
        """Which tokens each head attends to.

        Raises:
            ValueError: ``heads`` says something else than a pattern, or nothing that is known.
        """
        if self.heads == "mate":
            return mate_pattern(self.num_attention_heads, self.row_heads_ratio)
        if self.heads == "full":
            return full_pattern(self.num_attention_heads)
        if self.heads == "row_or_column":
            return Pattern((HeadGroup("row_or_column", self.num_attention_heads),))
        raise ValueError(f"heads={self.heads!r} is no pattern")
