"""Training on XLA devices, on torch-xla's processor: as on the CPU, with few compilations and no operation on it."""

from __future__ import annotations

import pytest
import torch

from mate_cli.attention import widest_shape
from mate_cli.config import ScheduleConfig, active_schedule
from mate_cli.encoding.encode import encode, row_of
from mate_cli.encoding.tokenizer import CellTokenizer
from mate_cli.tasks.cell_selection import CellSelection
from mate_cli.training.backend import collator_for
from mate_cli.training.module import TaskModule
from mate_cli.training.splits import encoding_options
from mate_cli.training.starting_model import starting_model
from tests.training.test_every_model import MODELS, SILENT, composed, eight  # noqa: F401
from tests.training.xla_runs import train

torch_xla = pytest.importorskip("torch_xla")
pytestmark = [pytest.mark.xla, pytest.mark.timeout(1200)]


@pytest.fixture(autouse=True, scope="module")
def device_before_the_first_gradient():
    """PyTorch counts devices when it first computes a gradient, and knows of none that come later."""
    torch.zeros(1, device="xla")


@pytest.mark.parametrize("name", MODELS)
def test_scores_and_gradients_are_those_of_the_cpu(name, eight):  # noqa: F811
    config = composed("backbone=tiny", f"model={name}", "schedule=laptop")
    model, vocabulary, _ = starting_model(config, active_schedule(config), SILENT)
    options = encoding_options(config.task, ScheduleConfig(max_tokens=128), model.config)
    encoded = encode(eight[:3], CellTokenizer(vocabulary), options)
    rows = [row_of(example, own.features) for example, own in zip(eight[:3], encoded, strict=True)]
    backend, results = config.model.attention.backend, []
    for device, shape in (("cpu", None), ("xla", widest_shape(4, 128))):
        batch = collator_for(model.config, config.model, backend, device, shape=shape)(rows).to(device)
        module = TaskModule(model, CellSelection()).to(device)
        module.zero_grad()
        logits = module(batch)
        module.task.losses(logits, batch).sum().backward()
        gradients = {key: own.grad.cpu() for key, own in model.named_parameters() if own.grad is not None}
        results.append((logits.detach().cpu()[: len(batch.on_host().cell_document)], gradients))
    (logits, gradients), (logits_xla, gradients_xla) = results
    torch.testing.assert_close(logits_xla, logits, rtol=0, atol=1e-5)
    assert gradients.keys() == gradients_xla.keys()
    for key, own in gradients.items():
        torch.testing.assert_close(gradients_xla[key], own, rtol=0, atol=1e-5, msg=key)


@pytest.mark.parametrize("name", MODELS)
def test_ten_steps_compile_twice_and_leave_nothing_to_the_cpu(name, tmp_path, cache):
    _, counts = train(tmp_path, cache, f"model={name}", "task.schedules.smoke.steps=10")
    print(f"\n{name}: {counts.compilations} {counts.at_end} {counts.fallbacks}")
    assert len(counts.compilations) == 10
    assert counts.compilations[-1] <= 2
    assert counts.fallbacks == {}


def test_accumulating_compiles_four_times(tmp_path, cache):
    words = ("task.schedules.smoke.steps=5", "hardware.micro_batch=1")
    _, counts = train(tmp_path, cache, *words)
    assert len(counts.compilations) == 20
    assert counts.compilations[-1] <= 4
    assert counts.fallbacks == {}
