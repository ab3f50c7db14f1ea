"""Dropout of hidden states: its shares, its gradient, and the same draws in a packed and in a padded batch."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from mate_cli.attention.dropout import drop_features
from mate_cli.attention.plan import Layout
from mate_cli.models.dropout import FeatureDropout


def places(tokens: int) -> torch.Tensor:
    return torch.arange(tokens, dtype=torch.int32)


def layout_of(document: list[int]) -> Layout:
    number = np.array(document)
    return Layout(number, np.zeros_like(number), np.zeros_like(number), np.zeros_like(number))


@pytest.mark.parametrize("rate", [0.1, 0.5])
def test_tokens_and_features_are_dropped_as_often_as_by_independent_draws(rate: float) -> None:
    torch.manual_seed(0)
    dropped = (drop_features(torch.ones(2048, 384), places(2048), rate) == 0).float()
    for dim in (0, 1):
        shares = dropped.mean(dim)
        scores = (shares - rate) / math.sqrt(rate * (1 - rate) / dropped.shape[dim])
        assert scores.abs().max() < 5
        assert 0.85 < scores.std() < 1.15
    centred = (dropped - rate) / math.sqrt(rate * (1 - rate))
    for shift in (1, 2, 7):
        for neighbour in (centred.roll(shift, 0), centred.roll(shift, 1)):
            assert abs(float((centred * neighbour).mean())) < 5 / math.sqrt(dropped.numel())


def test_what_is_kept_is_scaled_and_so_is_its_gradient() -> None:
    torch.manual_seed(0)
    states = torch.rand(50, 16, dtype=torch.float64) + 1
    states.requires_grad_()
    output = drop_features(states, places(50), 0.25)
    factor = torch.where(output == 0, 0.0, 1 / 0.75)
    torch.testing.assert_close(output, states * factor)
    weight = torch.randn_like(output)
    (gradient,) = torch.autograd.grad(output, states, weight)
    torch.testing.assert_close(gradient, weight * factor)


def test_each_call_drops_others_and_a_seed_the_same() -> None:
    torch.manual_seed(3)
    first, second = (drop_features(torch.ones(64, 32), places(64), 0.5) for _ in range(2))
    torch.manual_seed(3)
    assert torch.equal(drop_features(torch.ones(64, 32), places(64), 0.5), first)
    assert 0.45 < (first == second).float().mean() < 0.55


def test_a_token_loses_the_same_features_packed_and_padded() -> None:
    packed, padded = layout_of([0, 0, 0, 1, 1]), layout_of([0, 0, 0, -1, 1, 1, -1, -1])
    dropped = []
    for batch in (packed, padded):
        torch.manual_seed(1)
        kept = drop_features(torch.ones(len(batch.document), 64), batch.place(), 0.5)
        dropped.append(kept[torch.from_numpy(batch.document >= 0)])
    assert torch.equal(*dropped)


def test_nothing_is_dropped_outside_of_training_or_at_rate_zero() -> None:
    states = torch.randn(4, 8)
    assert FeatureDropout(0.0)(states, places(4)) is states
    assert FeatureDropout(0.5).eval()(states, places(4)) is states
    assert (FeatureDropout(0.5)(states, places(4)) == 0).any()
