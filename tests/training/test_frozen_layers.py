"""Trainings that keep the embeddings and the first layers of the model they start from."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from mate_cli.models.encoder import Encoder
from mate_cli.system.errors import UserError
from mate_cli.training.cost import training_flops
from mate_cli.training.starting_model import freeze_layers
from tests.config.test_config import train_config
from tests.training.conftest import TINY, train_once
from tests.training.made_runs import QUIET

EMBEDDINGS, LAYER = "tapas.embeddings.", "tapas.encoder.layer."


def tiny_model():
    from mate_cli.kinds.registry import task_of
    from mate_cli.training.starting_model import starting_model

    config = train_config("task=tabfact", "backbone=tiny")
    model, _, new = starting_model(config, task_of(config), QUIET)
    return model, new


@pytest.fixture(scope="module")
def runs(tmp_path_factory, cache) -> Path:
    folder = train_once(tmp_path_factory, cache, *TINY, "name=first")
    parent = [f"backbone.path={folder}/runs/sample/first", "backbone=run", *TINY[1:]]
    frozen = ["task.schedules.smoke.frozen_layers=1", "task.schedules.smoke.weight_decay=0.1", "name=second"]
    return train_once(tmp_path_factory, cache, *parent, *frozen, f"paths.runs={folder}/runs") and folder / "runs/sample"


def test_frozen_tensors_keep_every_bit_and_all_others_learn(runs: Path) -> None:
    first, second = (load_file(runs / name / "best" / "model.safetensors") for name in ("first", "second"))
    changed = {name for name, tensor in first.items() if not torch.equal(tensor, second[name])}
    frozen = {name for name in first if name.startswith((EMBEDDINGS, f"{LAYER}0."))}
    assert frozen
    assert not changed & frozen
    learning = {name for name in first if name.startswith((f"{LAYER}1.", "output_weights"))}
    without_gradient = {name for name in learning if name.endswith("key.bias")}  # it cancels in the softmax
    assert learning - without_gradient <= changed


def test_gradients_above_the_frozen_layers_are_those_of_a_full_training() -> None:
    torch.manual_seed(0)
    model, _ = tiny_model()
    encoder = model.eval().get_submodule("tapas.encoder")
    assert isinstance(encoder, Encoder)
    last = encoder.layer[-1].output.dense.weight
    states = torch.randn(5, model.config.hidden_size)

    def gradient() -> torch.Tensor:
        model.zero_grad()
        passed = states
        for layer in encoder.layer:
            passed = layer.output(layer.intermediate(passed), passed, torch.zeros(5))
        passed.square().sum().backward()
        return last.grad.clone()

    whole = gradient()
    freeze_layers(model, len(encoder.layer) - 1, frozenset())
    assert torch.equal(gradient(), whole)
    assert encoder.layer[0].output.dense.weight.grad is None


def test_flops_leave_out_the_gradients_of_frozen_weights() -> None:
    model, _ = tiny_model()
    whole = training_flops(model)
    freeze_layers(model, 1, frozenset())
    layer = model.get_submodule("tapas.encoder.layer.0")
    linear = sum(module.weight.numel() for module in layer.modules() if isinstance(module, torch.nn.Linear))
    assert whole - training_flops(model) == 4 * linear


def test_weights_that_were_never_trained_cannot_be_frozen() -> None:
    model, new = tiny_model()
    with pytest.raises(UserError, match=r"never trained .*backbone=mate_minilm"):
        freeze_layers(model, 1, new)


def test_no_more_layers_than_there_are() -> None:
    model, _ = tiny_model()
    with pytest.raises(UserError, match="frozen_layers=99 is more than the 2 layers"):
        freeze_layers(model, 99, frozenset())
    assert all(parameter.requires_grad for parameter in model.parameters())
