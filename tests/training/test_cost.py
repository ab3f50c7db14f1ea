"""The estimate of a training's time."""

import pytest
import torch

from mate_cli.training import cost


def test_fast_products_in_bf16_do_not_speed_up_all_else(monkeypatch: pytest.MonkeyPatch) -> None:
    rates = {torch.float32: 1e11, torch.bfloat16: 8e11}
    monkeypatch.setattr(cost, "product_rate", rates.__getitem__)
    full, half = cost.seconds_on_cpu(1e13, "32-true"), cost.seconds_on_cpu(1e13, "bf16-mixed")
    assert half < full < 8 * half
    rates[torch.bfloat16] = 1e20
    assert cost.seconds_on_cpu(1e13, "bf16-mixed") > 0.05 * full


def test_the_time_grows_with_the_work(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cost, "product_rate", lambda dtype: 1e11)
    assert cost.seconds_on_cpu(2e13, "32-true") == pytest.approx(2 * cost.seconds_on_cpu(1e13, "32-true"))
