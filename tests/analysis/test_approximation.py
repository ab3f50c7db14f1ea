"""`mate analyze analysis=approximation`: the network is the theorem's, and depth brings it nearer."""

from __future__ import annotations

import json

import pytest
import torch

from mate_cli.analysis.approximation import (
    FEED_FORWARD,
    HEADS,
    TOKENS,
    VALUES,
    TinyLayer,
    TinyMate,
    fit_error,
    head_masks,
    random_map,
)
from mate_cli.cli.main import main


def test_the_network_is_the_smallest_that_the_theorem_speaks_of():
    layer = TinyLayer()
    assert (HEADS, layer.widen.out_features, FEED_FORWARD) == (3, 4, 4)
    question, rows = [0, 1], {2: {3}, 3: {2}, 4: {5}, 5: {4}}
    columns = {2: {4}, 3: {5}, 4: {2}, 5: {3}}
    for mask, lines in zip(head_masks().tolist(), (rows, rows, columns), strict=True):
        for token, seen in enumerate(mask):
            wanted = set(range(TOKENS)) if token in question else {*question, token, *lines[token]}
            assert {other for other in range(TOKENS) if seen[other]} == wanted


def test_what_a_head_may_not_see_does_not_reach_it():
    """A cell in neither row nor column of another reaches it through the question alone, so in two layers, not one."""
    torch.manual_seed(0)
    inputs = torch.rand(1, TOKENS, VALUES, requires_grad=True)
    for depth, reaches in ((1, False), (2, True)):
        network = TinyMate(depth)
        (gradient,) = torch.autograd.grad(network(inputs)[0, 2].sum(), inputs)
        assert bool(gradient[0, 5].any()) == reaches


def test_a_map_ties_every_number_to_every_other_and_is_the_seeds():
    first, again = (random_map(torch.Generator().manual_seed(3)) for _ in range(2))
    inputs = torch.rand(1, TOKENS, VALUES, requires_grad=True)
    assert torch.equal(first(inputs), again(inputs))
    for output in first(inputs).flatten():
        (gradient,) = torch.autograd.grad(output, inputs, retain_graph=True)
        assert gradient.abs().min() > 1e-6


def test_the_command_prints_and_writes(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("mate_cli.analysis.approximation.fit_error", lambda depth, seed: 1 / (depth + seed))
    words = ["analyze", "analysis=approximation", "analysis.depths=[1,4]", f"to={tmp_path}"]
    assert main(words) == 0
    assert "0.225" in capsys.readouterr().out
    fits = json.loads((tmp_path / "approximation.json").read_text())["fits"]
    assert fits[3] == {"depth": 4, "seed": 1, "error": 0.2}


def test_training_is_the_seeds_and_better_than_a_constant():
    errors = [fit_error(1, seed=0, steps=30) for _ in range(2)]
    assert errors[0] == errors[1] < 1


@pytest.mark.slow
def test_the_error_falls_with_the_depth():
    errors = [fit_error(depth, seed=0) for depth in (1, 2, 4)]
    assert errors == sorted(errors, reverse=True)
    assert errors[2] < 0.8 * errors[0]
