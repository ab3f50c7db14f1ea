"""Layers that are computed once more in the backward pass: the same gradients, with less kept for it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from mate_cli.attention import Layout, build_plan
from mate_cli.models.configuration import MateConfig
from mate_cli.models.encoder import Encoder


def gradients(config: MateConfig, backend: str, recompute: bool) -> tuple[dict[str, torch.Tensor], int]:
    """Of all weights, with dropout, and the bytes that autograd kept for the backward pass, each storage once."""
    torch.manual_seed(0)
    encoder = Encoder(config).train()
    encoder.recompute = recompute
    layout = Layout(
        *(
            np.array(ids)
            for ids in ([0] * 12, [0] * 4 + [1, 1, 2, 2, 3, 3, 4, 4], [0] * 4 + [1, 2] * 4, [0] * 4 + [1] * 8)
        )
    )
    kept: dict[int, int] = {}

    def keep(tensor: Any) -> Any:
        kept[tensor.untyped_storage().data_ptr()] = tensor.untyped_storage().nbytes()
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
        states = encoder(torch.randn(12, config.hidden_size), build_plan(layout, config.pattern().kinds, backend))
    weights = {parameter.untyped_storage().data_ptr() for parameter in encoder.parameters()}
    states.square().sum().backward()
    by_name = {name: parameter.grad for name, parameter in encoder.named_parameters() if parameter.grad is not None}
    return by_name, sum(size for place, size in kept.items() if place not in weights)


@pytest.mark.parametrize(
    ("backend", "attention_dropout"),
    [("eager", 0.2), ("dense", 0.2), ("ragged", 0.2), ("native", 0.2), ("native", 0.0)],
)
def test_recomputing_changes_no_gradient_and_keeps_less(
    small_config: Any, backend: str, attention_dropout: float
) -> None:
    config = small_config(num_hidden_layers=6, hidden_dropout_prob=0.2, attention_probs_dropout_prob=attention_dropout)
    expected, all_kept = gradients(config, backend, recompute=False)
    recomputed, kept = gradients(config, backend, recompute=True)
    assert recomputed.keys() == expected.keys()
    assert len(recomputed) == len(list(Encoder(config).parameters()))
    assert all(torch.equal(recomputed[name], expected[name]) for name in expected)
    assert kept < all_kept / 4


def test_nothing_is_recomputed_without_a_backward_pass(small_config: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mate_cli.attention.recompute.checkpoint", None)
    encoder = Encoder(small_config())
    encoder.recompute = True
    plan = build_plan(Layout(*(np.zeros(3, np.int64) for _ in range(4))), small_config().pattern().kinds)
    with torch.no_grad():
        assert encoder(torch.ones(3, 48), plan).shape == (3, 48)
