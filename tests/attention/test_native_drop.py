"""Dropout of features by the compiled kernel: the bits of PyTorch's operations, which drop where it does not work."""

import pytest
import torch

from mate_cli.attention import dropout
from mate_cli.attention.counting import counting_for
from mate_cli.attention.native.drop import can_drop
from tests.compilers import needs_compiler


def dropped(states, rate, gradient):
    """The states after dropout with one seed, and the gradient that comes through it."""
    torch.manual_seed(5)
    states = states.detach().requires_grad_()
    kept = dropout.drop_features(states, torch.arange(len(states), dtype=torch.int32), rate)
    return kept.detach(), torch.autograd.grad(kept, states, gradient)[0]


def by_pytorch(*arguments):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(dropout, "can_drop", lambda states: False)
        return dropped(*arguments)


@needs_compiler
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("rate", [0.1, 0.5, 0.9])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
def test_the_kernel_gives_the_bits_of_pytorch(dtype, rate, threads):
    states = torch.randn(70, 50).to(dtype)
    gradient = torch.randn(50, 70).to(dtype).t()  # not contiguous
    assert can_drop(states)
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        ours, expected = dropped(states, rate, gradient), by_pytorch(states, rate, gradient)
    finally:
        torch.set_num_threads(before)
    for one, other in zip(ours, expected, strict=True):
        assert torch.equal(one, other)
    assert abs(float((ours[0] == 0).float().mean()) - rate) < 0.05


@needs_compiler
def test_states_that_are_not_contiguous_or_not_finite():
    states = torch.randn(50, 70).t()
    states[3] = torch.nan
    states[4] = torch.inf
    gradient = torch.ones(70, 50)
    for one, other in zip(dropped(states, 0.5, gradient), by_pytorch(states, 0.5, gradient), strict=True):
        torch.testing.assert_close(one, other, rtol=0, atol=0, equal_nan=True)


@needs_compiler
def test_other_numbers_and_tensors_without_values_are_left_to_pytorch():
    assert not can_drop(torch.ones(2, 2, dtype=torch.float16))
    assert not can_drop(torch.ones(2, 2, device="meta"))
    with counting_for("cpu"):
        assert not can_drop(torch.ones(2, 2))


@pytest.mark.usefixtures("nothing_loaded")
def test_without_a_compiler_pytorch_drops(stand_in, capfd):
    states = torch.randn(20, 30)
    assert not can_drop(states)
    ours, expected = dropped(states, 0.5, states), by_pytorch(states, 0.5, states)
    assert torch.equal(ours[0], expected[0])
    assert capfd.readouterr().err == ""
