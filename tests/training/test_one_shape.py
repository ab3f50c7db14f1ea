"""Every kind of task on batches of one shape, as XLA devices need them: the same as on packed ones, in float64."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor
from torch._subclasses.fake_tensor import DynamicOutputShapeException, FakeTensorMode

from mate_cli.attention import widest_shape
from mate_cli.config.kinds import KINDS
from mate_cli.config.paths import PathsConfig
from mate_cli.config.task import active_schedule
from mate_cli.encoding.batch import Batch
from mate_cli.encoding.encode import rows_that_fit
from mate_cli.encoding.tokenizer import CellTokenizer
from mate_cli.kinds.registry import task_of
from mate_cli.models.dropout import FeatureDropout
from mate_cli.models.encoder import Encoder
from mate_cli.models.model import MatePreTrainedModel
from mate_cli.tables.data_folder import data_folder
from mate_cli.tables.hybridqa import read_split
from mate_cli.tables.reading import reading_examples, training_examples
from mate_cli.tables.table import Example
from mate_cli.tasks.task import Task
from mate_cli.training.backend import collator_for
from mate_cli.training.splits import encoding_options
from mate_cli.training.starting_model import starting_model
from tests.training.test_every_model import SILENT, composed
from tests.training.test_table_tasks import EIGHT

READER = ("task=sample_reader", "schedule=smoke")
TASKS = {
    "cells": ("task=sample", "schedule=smoke"),
    "sqa": ("task=sqa", "schedule=laptop"),
    "wtq": ("task=wtq", "schedule=laptop"),
    "tabfact": ("task=tabfact", "schedule=laptop"),
    "reader": READER,
    "linear reader": (*READER, "task.span.head=linear"),
    "reader of all cells": (*READER, "task.span.together=true", "task.span.noisy_cells=full"),
}
Prepared = tuple[Task, MatePreTrainedModel, Batch, Batch]


def test_every_kind_is_here() -> None:
    """But pre-training, whose batches are no examples of a split."""
    kinds = {composed(*words).task.kind for words in TASKS.values()}
    assert kinds == set(KINDS) - {"masked_language"}


@pytest.fixture(scope="module")
def sample(cache: Any) -> Sequence[Example]:
    folder = data_folder(composed("task=sample").task, None, PathsConfig(cache=str(cache)))
    return [example for example in read_split(folder, "train").examples if example.candidates][:4]


@pytest.fixture(params=TASKS, scope="module")
def prepared(request: pytest.FixtureRequest, sample: Sequence[Example]) -> Prepared:
    """The task, a model in float64, three or more examples as a packed batch, and those with filler as a fixed one."""
    config = composed(*TASKS[request.param], "backbone=tiny")
    task, tokens = task_of(config), 192
    torch.manual_seed(0)
    model, vocabulary, _ = starting_model(config, task, SILENT)
    active_schedule(config).max_tokens = tokens
    options = encoding_options(config, task, model.config)
    examples = _examples(request.param, sample, task)
    rows = rows_that_fit(examples, CellTokenizer(vocabulary), options)
    assert len(rows) >= 3
    packed = collator_for(model.config, config.model, "dense", "cpu")(rows)
    shape = widest_shape(len(rows) + 1, tokens)
    fixed = collator_for(model.config, config.model, "auto", "xla", shapes=[shape])(rows)
    return task, model.double().eval(), packed, fixed


def _examples(name: str, sample: Sequence[Example], task: Any) -> Sequence[Example]:
    if name in EIGHT:
        return EIGHT[name]
    if name == "cells":
        return sample
    read: Callable[[Example], list[Example]] = reading_examples
    if name == "reader of all cells":
        read = lambda example: training_examples(example, task.cells)  # noqa: E731
    return [reading for example in sample for reading in read(example)]


def of_batch(task: Task, model: MatePreTrainedModel, batch: Batch) -> tuple[Tensor, dict[str, Tensor], Any]:
    """Losses, the gradients of their sum, and predictions."""
    model.zero_grad()
    losses = task.losses(task.logits(model, batch), batch)
    losses.sum().backward()
    gradients = {name: p.grad.clone() for name, p in model.named_parameters() if p.grad is not None}
    with torch.no_grad():
        return losses.detach(), gradients, task.predict(model, batch)


def test_losses_gradients_and_predictions_are_those_of_packed_batches(prepared: Prepared) -> None:
    task, model, packed, fixed = prepared
    losses, gradients, predictions = of_batch(task, model, packed)
    losses_fixed, gradients_fixed, predictions_fixed = of_batch(task, model, fixed)
    assert losses.any()
    torch.testing.assert_close(losses_fixed[: len(losses)], losses, rtol=0, atol=1e-9)
    assert not losses_fixed[len(losses) :].any()
    assert gradients_fixed.keys() == gradients.keys()
    for name, gradient in gradients.items():
        torch.testing.assert_close(gradients_fixed[name], gradient, rtol=0, atol=1e-9, msg=name)
    assert list(map(_rounded, predictions_fixed)) == list(map(_rounded, predictions))


def test_dropout_takes_the_same_features_and_pairs_as_in_packed_batches(prepared: Prepared) -> None:
    task, model, packed, fixed = prepared
    model = copy.deepcopy(model).train()
    for module in model.modules():
        if isinstance(module, FeatureDropout):
            module.rate = 0.2
        if isinstance(module, Encoder):
            module._dropout = 0.2
    results = []
    for batch in (packed, fixed):
        torch.manual_seed(0)
        results.append(of_batch(task, model, batch)[:2])
    (losses, gradients), (losses_fixed, gradients_fixed) = results
    torch.testing.assert_close(losses_fixed[: len(losses)], losses, rtol=0, atol=1e-9)
    for name, gradient in gradients.items():
        torch.testing.assert_close(gradients_fixed[name], gradient, rtol=0, atol=1e-9, msg=name)
    assert not torch.allclose(losses, of_batch(task, model.eval(), packed)[0])


def _rounded(value: Any) -> Any:
    """A prediction as plain values, its numbers to six places."""
    if isinstance(value, float):
        return round(value, 6)
    if isinstance(value, tuple):
        return tuple(map(_rounded, value))
    return [_rounded(getattr(value, name)) for name in value.__slots__] if hasattr(value, "__slots__") else value


def test_no_shape_depends_on_the_values(prepared: Prepared) -> None:
    """Fake tensors have a shape and no values."""
    task, model, _, fixed = prepared
    with FakeTensorMode(allow_non_fake_inputs=True) as mode:
        batch, model = _fake(fixed, mode), copy.deepcopy(model)
        losses = task.losses(task.logits(model, batch), batch)
        losses.sum().backward()
        assert losses.shape == fixed.label.shape
        with pytest.raises(DynamicOutputShapeException):
            batch.cell[batch.cell >= 0]


def _fake(batch: Batch, mode: FakeTensorMode) -> Batch:
    tensors: dict[str, Any] = {name: value for name, value in vars(batch).items() if isinstance(value, Tensor)}
    fakes = {name: mode.from_tensor(value) for name, value in tensors.items()}
    return replace(batch, plan=batch.plan.mapped(mode.from_tensor), **fakes)
