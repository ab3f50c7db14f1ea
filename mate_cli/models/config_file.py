"""The configuration of a BERT, TAPAS or mate folder, read from its ``config.json``."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

from transformers import TapasConfig

from mate_cli.config.kinds import KINDS
from mate_cli.config.model import POOLINGS, TRAINED_HEADS
from mate_cli.config.task import SPAN_HEADS
from mate_cli.models.configuration import TYPE_VOCAB_SIZES, MateConfig
from mate_cli.models.encoder import ACTIVATIONS
from mate_cli.system.errors import UserError

_SIZES = (
    "vocab_size",
    "hidden_size",
    "num_hidden_layers",
    "num_attention_heads",
    "intermediate_size",
    "max_position_embeddings",
    "linformer_k",
    "linformer_tokens",
    "table_etc_radius",
    "table_etc_global_size",
    "etc_global_size",
    "max_span",
)
_SWITCHES = ("text_only", "histogram_row", "init_cell_selection_weights_to_zero", "mentions")
_CONFIG_FIELDS = (
    *_SIZES,
    *_SWITCHES,
    "hidden_act",
    "type_vocab_sizes",
    "initializer_range",
    "layer_norm_eps",
    "pad_token_id",
    "reset_position_index_per_cell",
    "heads",
    "row_heads_ratio",
    "pooling",
    "kind",
    "span_head",
    "num_aggregation_labels",
    "temperature",
)


def read_config(folder: Path) -> MateConfig:
    """The configuration of a BERT, TAPAS or mate folder; what BERT does not have keeps our default.

    Raises:
        UserError: there is no readable ``config.json``, or it describes no model of this family.
    """
    path = folder / "config.json"
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
        # Hugging Face writes what differs from its own defaults, and those of TAPAS are not all ours.
        stored = {**TapasConfig().to_dict(), **stored}
    fields = {name: stored[name] for name in _CONFIG_FIELDS if name in stored}
    fault = _config_fault(fields)
    if fault:
        raise UserError(f"{path} describes no BERT or TAPAS model: {fault}")
    return MateConfig(**fields)


def _config_fault(fields: dict[str, Any]) -> str | None:
    """What is wrong with the fields of a configuration, if anything is."""
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
            return f"{name} is {fields[name]!r}, known are {', '.join(map(str, known))}"
    labels, temperature = fields.get("num_aggregation_labels", 0), fields.get("temperature", 1.0)
    if not isinstance(labels, int) or labels < 0:
        return f"num_aggregation_labels is {labels!r}"
    if not isinstance(temperature, int | float) or not 0 < temperature < math.inf:
        return f"temperature is {temperature!r}"
    types = fields.get("type_vocab_sizes", TYPE_VOCAB_SIZES)
    if not isinstance(types, list | tuple) or len(types) != len(TYPE_VOCAB_SIZES):
        return f"type_vocab_sizes is {types!r}, not {len(TYPE_VOCAB_SIZES)} sizes"
    return None
