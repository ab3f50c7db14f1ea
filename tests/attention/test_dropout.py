"""Attention dropout: the generator against published vectors, the draws against what chance gives, its effect."""

from __future__ import annotations

import math
from unittest import mock

import numpy as np
import pytest
import torch

from mate_cli.attention import attend, build_plan, ragged
from mate_cli.attention.dropout import Dropout, _attend_dropping, attend_dropping, draw_dropout, threefry, token_words
from tests.attention.layouts import HEAD_DIM, PATTERNS, document, layout


def words(*numbers: int) -> torch.Tensor:
    return torch.from_numpy(np.array(numbers, np.uint32).view(np.int32).copy())


def places(tokens: int) -> torch.Tensor:
    return torch.arange(tokens, dtype=torch.int32)


@pytest.mark.parametrize(
    ("key", "counter", "expected"),
    [
        ((0, 0), (0, 0), (0x6B200159, 0x99BA4EFE)),
        ((0xFFFFFFFF, 0xFFFFFFFF), (0xFFFFFFFF, 0xFFFFFFFF), (0x1CB996FC, 0xBB002BE7)),
        ((0x13198A2E, 0x03707344), (0x243F6A88, 0x85A308D3), (0xC4923A9C, 0x483DF7A0)),
    ],
)
def test_threefry_gives_the_known_answers_of_its_authors(
    key: tuple[int, int], counter: tuple[int, int], expected: tuple[int, int]
) -> None:
    results = threefry(words(*key), words(counter[0]), words(counter[1]))
    assert torch.equal(torch.cat(results), words(*expected))


def draws(rate: float, seed: int = 0, layers: int = 1) -> torch.Tensor:
    """1 where a pair is dropped, ``[layers, 8 heads, 512 queries, 512 keys]``."""
    torch.manual_seed(seed)
    drawn = draw_dropout(rate, layers, 8, places(512))
    return torch.stack([(layer.kept(torch.float32) == 0).float() for layer in drawn])


@pytest.mark.parametrize("rate", [0.01, 0.1, 0.5, 0.9])
def test_shares_of_queries_keys_and_heads_are_those_of_independent_draws(rate: float) -> None:
    dropped = draws(rate, layers=2)
    for kept_dims in ([0], [1], [2], [3], [1, 2], [1, 3]):
        others = [dim for dim in range(4) if dim not in kept_dims]
        shares = dropped.mean(others)
        deviation = math.sqrt(rate * (1 - rate) * shares.numel() / dropped.numel())
        scores = (shares - rate) / deviation
        assert scores.abs().max() < 5
        assert scores.numel() < 100 or 0.85 < scores.std() < 1.15


@pytest.mark.parametrize("rate", [0.1, 0.5])
def test_draws_of_related_pairs_are_uncorrelated(rate: float) -> None:
    centred = draws(rate, layers=2) - rate
    variance = rate * (1 - rate)
    products = {
        "neighbouring keys": centred[..., 1:] * centred[..., :-1],
        "neighbouring queries": centred[..., 1:, :] * centred[..., :-1, :],
        "neighbouring heads": centred[:, 1:] * centred[:, :-1],
        "two layers": centred[:1] * centred[1:],
        "far keys": centred[..., 256:] * centred[..., :-256],
        "query and key exchanged": torch.triu(centred * centred.transpose(-1, -2), 1),
    }
    for name, product in products.items():
        pairs = product.count_nonzero()
        assert abs(product.sum() / variance / pairs.sqrt()) < 5, name
    square = centred[..., 1:, 1:] * centred[..., 1:, :-1] * centred[..., :-1, 1:] * centred[..., :-1, :-1]
    assert abs(square.sum() / variance**2 / math.sqrt(square.numel())) < 5


def test_another_seed_or_layer_drops_others_and_the_same_seed_the_same() -> None:
    assert torch.equal(draws(0.1), draws(0.1))
    both = draws(0.5, layers=2)
    assert torch.equal(draws(0.5)[0], both[0])
    for one, other in ((draws(0.5), draws(0.5, seed=1)), (both[0], both[1])):
        assert 0.48 < (one == other).float().mean() < 0.52


def test_a_token_keeps_its_words_whatever_the_length_of_the_batch() -> None:
    short, long = (token_words(words(3, 4), 2, 4, places(tokens)) for tokens in (5, 9))
    for some, more in zip(short, long, strict=True):
        assert torch.equal(some, more[..., :5])


def test_the_mean_over_many_draws_is_attention_without_dropout() -> None:
    batch = layout([document(4, True, 5, 4, np.random.default_rng(0))], [1])
    pattern, tokens = PATTERNS["1:1"], len(batch.document)
    plan = build_plan(batch, pattern.kinds, "ragged")
    torch.manual_seed(0)
    qkv = torch.randn(tokens, 3 * pattern.heads * HEAD_DIM)
    exact = attend(qkv, plan, pattern)
    results = torch.stack(
        [attend(qkv, plan, pattern, draw_dropout(0.3, 1, pattern.heads, plan.place)[0]) for _ in range(400)]
    )
    spread = results.std(0) / math.sqrt(len(results))
    real = torch.from_numpy(batch.document >= 0)
    scores = ((results.mean(0) - exact) / spread)[real]
    assert scores.abs().max() < 6
    assert 0.8 < scores.std() < 1.2


def test_lines_that_drop_in_parts_give_the_same_as_all_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    tables = [document(3, True, 5, 4, np.random.default_rng(number)) for number in range(3)]
    batch, pattern = layout(tables, [0, 1, 2]), PATTERNS["1:1"]
    plan = build_plan(batch, pattern.kinds, "ragged")
    torch.manual_seed(0)
    qkv = torch.randn(len(batch.document), 3 * pattern.heads * HEAD_DIM, dtype=torch.float64, requires_grad=True)
    (dropout,) = draw_dropout(0.3, 1, pattern.heads, plan.place)

    def results() -> tuple[torch.Tensor, torch.Tensor]:
        states = attend(qkv, plan, pattern, dropout)
        return states, torch.autograd.grad(states.square().sum(), qkv)[0]

    whole = results()
    monkeypatch.setattr(ragged, "_DROPPING_PAIRS", 100)
    with mock.patch.object(ragged, "attend_dropping", wraps=attend_dropping) as parts:
        torch.testing.assert_close(results(), whole, rtol=1e-12, atol=1e-12)
    assert parts.call_count > 4 * len(pattern.kinds)


def test_dropping_equals_probabilities_times_factors() -> None:
    torch.manual_seed(0)
    query, key, value = (torch.randn(2, 3, n, 8, dtype=torch.float64, requires_grad=True) for n in (5, 7, 7))
    mask = torch.rand(2, 1, 5, 7) > 0.3
    mask[..., 0] = True
    heads = draw_dropout(0.4, 2, 3, places(7))
    dropout = Dropout(0.4, torch.stack([d.query[:, :5] for d in heads]), torch.stack([d.key for d in heads]))
    scores = (query @ key.mT / math.sqrt(8)).masked_fill(~mask, -torch.inf)
    expected = (scores.softmax(-1) * dropout.kept(torch.float64)) @ value
    states, log_sum = attend_dropping(query, key, value, mask, dropout)
    torch.testing.assert_close(states, expected)
    torch.testing.assert_close(log_sum, scores.logsumexp(-1))
    weight = torch.randn_like(expected)
    for ours, reference in zip(
        torch.autograd.grad(states, (query, key, value), weight),
        torch.autograd.grad(expected, (query, key, value), weight),
        strict=True,
    ):
        torch.testing.assert_close(ours, reference)


def test_dropping_keeps_no_probabilities_for_the_backward_pass() -> None:
    tokens = 64
    query = torch.randn(1, 2, tokens, 8, requires_grad=True)
    dropout = draw_dropout(0.1, 1, 2, places(tokens))[0]
    blocks = dropout._replace(query=dropout.query[None], key=dropout.key[None])
    largest = []
    for attend_somehow in (attend_dropping, _attend_dropping):
        kept = [0]

        def keep(tensor: torch.Tensor, kept: list[int] = kept) -> torch.Tensor:
            kept.append(tensor.numel())
            return tensor

        with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
            attend_somehow(query, query, query, None, blocks)
        largest.append(max(kept))
    assert largest[0] <= query.numel()
    assert largest[1] >= 2 * tokens**2
