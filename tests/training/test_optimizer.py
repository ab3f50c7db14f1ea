"""BERT's Adam against its formula, and the learning rate's decay against the schedules of transformers."""

import pytest
import torch
from torch import nn
from transformers import (
    get_constant_schedule_with_warmup,
    get_cosine_schedule_with_warmup,
    get_linear_schedule_with_warmup,
)

from mate_cli.config.task import DECAYS
from mate_cli.training.optimizer import BertAdamW, parameter_groups, rate_factor


def test_update_is_adam_without_bias_correction():
    torch.manual_seed(0)
    parameter = nn.Parameter(torch.randn(5))
    expected, m, v = parameter.detach().clone().double(), torch.zeros(5), torch.zeros(5)
    optimizer = BertAdamW([{"params": [parameter], "weight_decay": 0.01}], lr=0.1)
    for _ in range(4):
        gradient = torch.randn(5)
        parameter.grad = gradient.clone()
        optimizer.step()
        m, v = 0.9 * m + 0.1 * gradient, 0.999 * v + 0.001 * gradient**2
        expected -= 0.1 * (m / (v.sqrt() + 1e-6) + 0.01 * expected)
        torch.testing.assert_close(parameter.detach(), expected.float(), rtol=1e-5, atol=1e-6)


def test_with_bias_correction_the_update_is_that_of_torch():
    torch.manual_seed(0)
    ours = nn.Parameter(torch.randn(5))
    theirs = nn.Parameter(ours.detach().clone())
    corrected = BertAdamW([{"params": [ours], "weight_decay": 0.01}], lr=0.1, bias_correction=True)
    adam = torch.optim.AdamW([theirs], lr=0.1, weight_decay=0.01, eps=1e-6)
    for _ in range(4):
        ours.grad = torch.randn(5)
        theirs.grad = ours.grad.clone()
        corrected.step()
        adam.step()
        torch.testing.assert_close(ours, theirs)


def test_biases_and_norms_do_not_decay_and_new_parameters_learn_at_their_rate():
    model = nn.Sequential()
    model.add_module("dense", nn.Linear(2, 2))
    model.add_module("LayerNorm", nn.LayerNorm(2))
    model.add_module("head", nn.Linear(2, 1, bias=False))
    groups = parameter_groups(model, 1e-4, 0.01, new={"head.weight"}, new_lr=5e-4)
    names = {id(parameter): name for name, parameter in model.named_parameters()}
    settings = {names[id(p)]: (g["weight_decay"], g["lr"]) for g in groups for p in g["params"]}
    assert settings == {
        "dense.weight": (0.01, 1e-4),
        "dense.bias": (0.0, 1e-4),
        "LayerNorm.weight": (0.0, 1e-4),
        "LayerNorm.bias": (0.0, 1e-4),
        "head.weight": (0.01, 5e-4),
    }


def test_schedule_rises_from_one_nth_and_falls_to_zero():
    factor = rate_factor(100, 0.1)
    assert [factor(step) for step in (0, 4, 9)] == pytest.approx([0.1, 0.5, 1.0])
    assert [factor(step) for step in (10, 50, 100)] == pytest.approx([0.9, 0.5, 0.0])
    assert rate_factor(10, 0.0)(0) == 1.0


THEIRS = {
    "linear": get_linear_schedule_with_warmup,
    "cosine": get_cosine_schedule_with_warmup,
    "constant": lambda optimizer, warmup, steps: get_constant_schedule_with_warmup(optimizer, warmup),
}


def test_every_decay_is_compared():
    assert set(THEIRS) == set(DECAYS)


@pytest.mark.parametrize(("decay", "warmup"), [("linear", 0), ("cosine", 0), ("cosine", 30), ("constant", 30)])
def test_the_rate_is_that_of_transformers_but_for_the_first_step_of_the_warmup(decay, warmup):
    """Their warm-up starts at 0, ours at 1/N; their linear decay begins when the warm-up ends, BERT's at step 0."""
    optimizer = torch.optim.SGD([nn.Parameter(torch.zeros(1))], lr=1.0)
    theirs = THEIRS[decay](optimizer, warmup, 100).lr_lambdas[0]
    ours = rate_factor(100, warmup / 100, decay)
    assert [ours(step) for step in range(warmup)] == pytest.approx([theirs(step + 1) for step in range(warmup)])
    assert [ours(step) for step in range(warmup, 101)] == pytest.approx([theirs(step) for step in range(warmup, 101)])


@pytest.mark.parametrize("decay", DECAYS)
def test_a_run_that_is_all_warmup_has_a_rate_at_each_step(decay):
    factor = rate_factor(4, 1.0, decay)
    assert [factor(step) for step in range(4)] == [0.25, 0.5, 0.75, 1.0]
    assert 0 <= factor(4) <= 1  # the scheduler asks for the step after the last one
