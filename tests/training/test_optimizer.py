"""BERT's Adam against its formula, and the schedule at its corners."""

import pytest
import torch
from torch import nn

from mate_cli.training.optimizer import BertAdamW, linear_schedule, parameter_groups


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
    factor = linear_schedule(100, 0.1)
    assert [factor(step) for step in (0, 4, 9)] == pytest.approx([0.1, 0.5, 1.0])
    assert [factor(step) for step in (10, 50, 100)] == pytest.approx([0.9, 0.5, 0.0])
    assert linear_schedule(10, 0.0)(0) == 1.0
