"""The configuration of a model: TAPAS's fields by their Hugging Face names, the attention pattern, ``config.json``."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from torch import Tensor
from torch.nn import functional as F
from transformers import PretrainedConfig, TapasConfig

from mate_cli.attention import HeadGroup, Pattern, full_pattern, mate_pattern
from mate_cli.config.kinds import KINDS
from mate_cli.config.model import POOLINGS, TRAINED_HEADS, Positions
from mate_cli.config.task import SPAN_HEADS
from mate_cli.system.errors import UserError

ACTIVATIONS: dict[str, Callable[[Tensor], Tensor]] = {
    "gelu": F.gelu,
    "gelu_new": partial(F.gelu, approximate="tanh"),
    "gelu_pytorch_tanh": partial(F.gelu, approximate="tanh"),
}

# Segment, column, row, previous label, column rank, inverse column rank, numeric relation (docs/notes.md, note 4).
TYPE_VOCAB_SIZES = (3, 256, 256, 2, 256, 256, 10)


class MateConfig(PretrainedConfig):
    """The fields of a model's ``config.json``.

    Attributes:
        heads: ``mate`` (row heads and column heads, paper section 3), ``full`` (TAPAS), ``row_or_column`` (SAT),
            ``linformer``, ``table_etc``.
        row_heads_ratio: share of row heads of ``mate``.
        linformer_k, linformer_tokens: columns and rows of the projection: K and the longest input.
        table_etc_radius: number of tokens either way that a token attends to.
        table_etc_global_size, etc_global_size: global tokens of a document; an even number for TableETC.
        text_only: of the type embeddings keep the segment alone (SAT).
        histogram_row: append a row of value counts to the table (SAT).
        pooling: input of the pooler, from which labels and operators are predicted: ``first`` for [CLS], as in BERT and
            TAPAS, or ``text`` for the mean of the text's tokens, as in sentence encoders.
        kind: kind of task of the head.
        max_span, span_head: longest span in pieces and its scorer (``span_reading``).
        num_aggregation_labels, temperature, init_cell_selection_weights_to_zero: number of operators on cells (0 for
            none), divisor of token logits, initial weights of cells and columns (``table_qa``).
        allow_empty_column_selection: choose no column, and with it no cell, where the question has a higher logit than
            every column (``table_qa``; TAPAS for WikiSQL with known operators).
        mentions: add a head that predicts which text tokens occur in the table (``entailment``).
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
    reset_position_index_per_column: bool = False
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
    allow_empty_column_selection: bool = False
    mentions: bool = False

    @property
    def positions(self) -> Positions:
        """Where the positions of tokens restart."""
        if self.reset_position_index_per_cell:
            return "cell"
        return "column" if self.reset_position_index_per_column else "sequence"

    def pattern(self) -> Pattern:
        """Return the tokens that each head attends to.

        Raises:
            ValueError: ``heads`` does not name a pattern.
        """
        if self.heads == "mate":
            return mate_pattern(self.num_attention_heads, self.row_heads_ratio)
        if self.heads == "full":
            return full_pattern(self.num_attention_heads)
        if self.heads == "row_or_column":
            return Pattern((HeadGroup("row_or_column", self.num_attention_heads),))
        raise ValueError(f"heads={self.heads!r} is no pattern")


# Dropout follows from the schedule, not from the checkpoint.
_FIELDS = {name: kind for name, kind in MateConfig.__annotations__.items() if not name.endswith("_dropout_prob")}
_SIZES = [name for name, kind in _FIELDS.items() if kind == "int" and name != "num_aggregation_labels"]
_NUMBERS = [name for name, kind in _FIELDS.items() if kind == "float"]
_SWITCHES = [name for name, kind in _FIELDS.items() if kind == "bool"]


def read_config(folder: Path) -> MateConfig:
    """Read the configuration of a BERT, TAPAS or mate folder; fields that it lacks keep their defaults.

    Raises:
        UserError: there is no readable ``config.json``, or it describes no model of this family.
    """
    names = ("config.json", "bert_config.json")  # the second one in the releases for TensorFlow
    path = next((folder / name for name in names if (folder / name).is_file()), folder / names[0])
    try:
        stored = json.loads(path.read_text())
    except OSError as error:
        reason = f"{path.name} cannot be read ({error.strerror})"
        raise UserError(f"{folder} is no model folder: {reason}") from error
    except ValueError as error:
        raise UserError(f"{path} is not valid JSON ({error}); fetch the model again") from error
    if not isinstance(stored, dict):
        raise UserError(f"{path} holds no configuration; fetch the model again")
    if stored.get("model_type") == "tapas":
        # Hugging Face writes the fields that differ from its defaults, and our defaults differ from those.
        stored = {**TapasConfig().to_dict(), "heads": "full", "kind": _kind_of_tapas(stored), **stored}
    if isinstance(types := stored.get("type_vocab_size"), list):  # TAPAS's name of it in TensorFlow
        stored = {"type_vocab_sizes": types, **stored}
    fields = {name: stored[name] for name in _FIELDS if name in stored}
    fault = _config_fault(fields)
    if fault:
        raise UserError(f"{path} describes no BERT or TAPAS model: {fault}")
    return MateConfig(**fields)


def differing_fields(one: MateConfig, other: MateConfig) -> list[str]:
    """Names of the fields in which two models differ; those of training alone, as dropout, are not among them."""
    training = () if "linformer" in (one.heads, other.heads) else ("linformer_tokens",)
    names = [name for name in _FIELDS if name not in training]
    return [name for name in names if _plain(getattr(one, name)) != _plain(getattr(other, name))]


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value


def _kind_of_tapas(stored: dict[str, Any]) -> str:
    """The kind of task of Hugging Face's class; that of our default for an encoder alone."""
    kinds = {traits.tapas_class: kind for kind, traits in reversed(KINDS.items())}
    return next((kinds[name] for name in stored.get("architectures") or () if name in kinds), MateConfig.kind)


def _config_fault(fields: dict[str, Any]) -> str | None:
    """Return what is wrong with the fields of a configuration, or None."""
    sizes = {name: fields.get(name, getattr(MateConfig, name)) for name in _SIZES}
    for name, size in sizes.items():
        if not isinstance(size, int) or size < 1:
            return f"{name} is {size!r}"
    if sizes["hidden_size"] % sizes["num_attention_heads"]:
        return "hidden_size is no multiple of num_attention_heads"
    if sizes["table_etc_global_size"] % 2:
        return "table_etc_global_size is odd"
    choices: dict[str, tuple[Any, ...]] = {"hidden_act": tuple(ACTIVATIONS), "heads": TRAINED_HEADS}
    choices |= {"pooling": POOLINGS, "kind": tuple(KINDS), "span_head": SPAN_HEADS}
    choices |= dict.fromkeys(_SWITCHES, (False, True))
    for name, known in choices.items():
        if fields.get(name, known[0]) not in known:
            return f"{name} is {fields[name]!r}, not one of {', '.join(map(str, known))}"
    labels = fields.get("num_aggregation_labels", 0)
    if not isinstance(labels, int) or labels < 0:
        return f"num_aggregation_labels is {labels!r}"
    for name in _NUMBERS:
        value = fields.get(name, getattr(MateConfig, name))
        if not isinstance(value, int | float) or not 0 <= value < math.inf:
            return f"{name} is {value!r}"
    if fields.get("temperature", 1.0) == 0:
        return "temperature is 0"
    if fields.get("row_heads_ratio", 0.0) > 1:
        return f"row_heads_ratio is {fields['row_heads_ratio']!r}"
    types = fields.get("type_vocab_sizes", TYPE_VOCAB_SIZES)
    is_sizes = isinstance(types, list | tuple) and all(isinstance(size, int) and size > 0 for size in types)
    if not is_sizes or len(types) != len(TYPE_VOCAB_SIZES):
        return f"type_vocab_sizes is {types!r}, not {len(TYPE_VOCAB_SIZES)} sizes"
    return None
