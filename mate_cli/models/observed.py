"""Look at the attention of an encoder while it computes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from torch import Tensor

from mate_cli.config.model import ModelConfig
from mate_cli.models.model import MateModel, MatePreTrainedModel
from mate_cli.models.self_attention import PatternAttention

_WITHOUT_PROBABILITIES = {
    "linformer": "attends to projections of the input, not to its tokens",
    "table_etc": "attends to global tokens that are not in the input",
    "bucketed": "attends in buckets, which give no probabilities",
}


def reason_unobservable(model: ModelConfig) -> str | None:
    """Say why the attention of a model cannot be looked at; None if it can."""
    return _WITHOUT_PROBABILITIES.get(model.heads) or _WITHOUT_PROBABILITIES.get(model.attention.backend)


def attention_layers(model: MatePreTrainedModel) -> list[PatternAttention]:
    """Return the attention of each layer of a model whose heads follow a pattern (``MateConfig.pattern``)."""
    encoder = model.base_model
    assert isinstance(encoder, MateModel)
    return [module for module in encoder.encoder.modules() if isinstance(module, PatternAttention)]


@contextmanager
def observed(layers: Sequence[PatternAttention], look: Callable[[int, Sequence[Tensor]], None]) -> Iterator[None]:
    """Call ``look`` with the number of each layer before it computes, and its attention to each document.

    The attention to a document of ``n`` tokens is ``[heads, n, n]``, from each token of the second dimension to those
    of the third. The batches need plans of the backend ``eager``.
    """
    numbers = {id(layer): number for number, layer in enumerate(layers)}

    def before(layer: PatternAttention, inputs: tuple[Tensor, Any]) -> None:
        look(numbers[id(layer)], layer.probabilities(*inputs))

    hooks = [layer.register_forward_pre_hook(before) for layer in layers]
    try:
        yield
    finally:
        for hook in hooks:
            hook.remove()
