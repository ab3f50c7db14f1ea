"""The attention kernel in bf16: what it gives is as good as bf16 can say."""

from __future__ import annotations

import pytest
import torch

from mate_cli.attention.kernel import attend_block

QUERIES, KEYS = 40, 70


def block(*shape):
    return torch.randn(2, 3, *shape, generator=torch.Generator().manual_seed(len(shape) + shape[0])).bfloat16()


def written_out(query, key, value, mask):
    """The definition in float64."""
    scores = query @ key.transpose(-1, -2) / query.shape[-1] ** 0.5
    if mask is not None:
        scores = scores.masked_fill(~mask, -torch.inf) if mask.dtype == torch.bool else scores + mask
    return scores.softmax(-1) @ value


def with_gradients(attend, inputs, weights):
    states = attend(*inputs)
    return states, *torch.autograd.grad(states, inputs, weights.to(states.dtype))


@pytest.mark.parametrize("kind", ["none", "bool", "added"])
def test_a_short_block_is_rounded_once(kind):
    open_keys = torch.rand(2, 1, QUERIES, KEYS, generator=torch.Generator().manual_seed(0)) < 0.6
    masks = {"none": None, "bool": open_keys, "added": torch.zeros(open_keys.shape).masked_fill(~open_keys, -torch.inf)}
    mask = masks[kind]
    inputs = [part.requires_grad_() for part in (block(QUERIES, 16), block(KEYS, 16), block(KEYS, 16))]
    weights = block(QUERIES, 16)
    with torch.autocast("cpu", torch.bfloat16):  # as in training, which hands over what it has in bf16
        found = with_gradients(lambda *qkv: attend_block(*qkv, mask), inputs, weights)
    exact = [part.detach().double().requires_grad_() for part in inputs]
    expected = with_gradients(lambda *qkv: written_out(*qkv, mask), exact, weights)
    for ours, right in zip(found, expected, strict=True):
        assert ours.dtype == torch.bfloat16
        torch.testing.assert_close(ours.double(), right, rtol=2**-8, atol=1e-5)
