"""The heads of SQA, WikiTableQuestions and TabFact against Hugging Face's TAPAS: names, logits, losses, gradients."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from transformers import TapasConfig, TapasForQuestionAnswering, TapasForSequenceClassification

from mate_cli.encoding.batch import Batch
from mate_cli.models.configuration import MateConfig, read_config
from mate_cli.models.embeddings import reset_positions
from mate_cli.models.entailment import MateForSequenceClassification
from mate_cli.models.table_qa import MateForTableQuestionAnswering
from mate_cli.models.weights import load_weights
from mate_cli.tasks.entailment import EntailmentTask
from mate_cli.tasks.table_qa import TableQA, cell_probabilities
from mate_cli.tasks.weak_supervision import WeakSupervision
from tests.models.test_against_huggingface import SHARED_FIELDS
from tests.tasks.packed_tables import on_tokens, padded_batch

Config = Callable[..., MateConfig]
LABELS = torch.tensor([1, 0, 1])


@pytest.fixture(autouse=True)
def seeded() -> None:
    torch.manual_seed(1)


@pytest.fixture
def supervision(padded_tables: dict[str, Tensor]) -> dict[str, Tensor]:
    """For three tables what Hugging Face's loss takes: cells and no number, both, a number alone."""
    random = np.random.default_rng(4)
    _, column, row = padded_tables["token_type_ids"][..., :3].unbind(-1)
    values = torch.zeros(row.shape)
    scale = torch.ones(row.shape)
    for number, own in enumerate(row):
        for place in {(int(r), int(c)) for r, c in zip(own, column[number], strict=True) if r}:
            tokens = (own == place[0]) & (column[number] == place[1])
            values[number, tokens] = float(random.choice([2.0, 5.5, 7.0, np.nan]))
            scale[number, tokens] = tokens.sum()
    values[row == 0] = torch.nan
    labels = torch.zeros_like(row)
    labels[0] = (column[0] == 2) & (row[0] >= 3) | (column[0] == 1) & (row[0] == 1)
    labels[1] = (column[1] == 5) & (row[1] == 2)
    answers = torch.tensor([torch.nan, 6.0, 3.0])
    return {"labels": labels, "float_answer": answers, "numeric_values": values, "numeric_values_scale": scale}


def batch_of(padded_tables: dict[str, Tensor], supervision: dict[str, Tensor], config: MateConfig) -> Batch:
    types = padded_tables["token_type_ids"]
    position = reset_positions(types[..., 1], types[..., 2], config.max_position_embeddings)
    return padded_batch(
        types.numpy(),
        padded_tables["attention_mask"].numpy(),
        supervision["labels"].numpy(),
        supervision["numeric_values"].numpy(),
        input_ids=padded_tables["input_ids"].numpy(),
        position=position.numpy(),
        answer_value=supervision["float_answer"].numpy(),
        label=LABELS.numpy(),
    )


def twins(model: nn.Module, theirs: type[Any], **options: Any) -> Any:
    """Hugging Face's model with the same random weights; their names and shapes are the same."""
    for parameter in model.parameters():
        if parameter.dim() < 2:  # biases and norms, which start as zeros and ones, and the vectors of the heads
            parameter.data += 0.2 * torch.randn_like(parameter)
    fields = {name: getattr(model.config, name) for name in SHARED_FIELDS}
    twin = theirs(TapasConfig(**fields, **options, attn_implementation="eager")).eval()
    twin.load_state_dict(model.state_dict())
    return twin


def compare_gradients(ours: nn.Module, theirs: nn.Module) -> None:
    expected = dict(theirs.named_parameters())
    for name, parameter in ours.named_parameters():
        if parameter.grad is None:  # the pooler, where nothing is computed
            assert expected[name].grad is None, name
        else:
            torch.testing.assert_close(parameter.grad, expected[name].grad, atol=1e-4, rtol=1e-3, msg=name)


@pytest.mark.parametrize("weak", [None, WeakSupervision(0.9, 2.0, 300.0), WeakSupervision(0.0, 0.12, 0.3)])
@pytest.mark.parametrize("temperature", [1.0, 0.2])
def test_question_answering(
    small_config: Config,
    padded_tables: dict[str, Tensor],
    supervision: dict[str, Tensor],
    weak: WeakSupervision | None,
    temperature: float,
) -> None:
    config, task = small_config(heads="full"), TableQA(temperature, weak=weak)
    task.prepare_model(config)
    model = MateForTableQuestionAnswering(config).eval()
    options: dict[str, Any] = {"temperature": temperature}
    if weak is None:
        supervision["labels"][2] = padded_tables["token_type_ids"][2, :, 2] == 4  # theirs cannot do without
        given = {"labels": supervision["labels"]}
    else:
        given = supervision
        options |= {"num_aggregation_labels": 4, "use_answer_as_supervision": True}
        options |= {"cell_selection_preference": weak.cell_select_pref, "huber_loss_delta": weak.huber_delta}
        options |= {"answer_loss_cutoff": weak.answer_loss_cutoff}
    twin = twins(model, TapasForQuestionAnswering, **options)
    theirs = twin(**padded_tables, **given)
    batch = batch_of(padded_tables, supervision, config)
    logits = task.logits(model, batch)
    if weak is not None:
        torch.testing.assert_close(logits.operators, theirs.logits_aggregation, atol=1e-5, rtol=1e-5)
    compare_cells(logits, theirs.logits.detach(), batch, padded_tables["attention_mask"])
    loss = task.losses(logits, batch).mean()
    torch.testing.assert_close(loss, theirs.loss, atol=1e-4, rtol=1e-5)
    loss.backward()
    theirs.loss.backward()
    compare_gradients(model, twin)


def compare_cells(logits: Any, theirs: Tensor, batch: Batch, mask: Tensor) -> None:
    """Theirs are lowered by 10,000 outside the column of their choice, where ours have no probability."""
    cells = len(batch.cell_document)
    ours = on_tokens(logits.places[:cells].detach().numpy(), batch, mask.numpy())
    probability = on_tokens(cell_probabilities(logits, batch).detach().numpy(), batch, mask.numpy())
    in_body = on_tokens(np.ones(cells), batch, mask.numpy()) > 0
    chosen = in_body & (theirs.numpy() > -9000)
    np.testing.assert_allclose(ours[chosen], theirs.numpy()[chosen], atol=1e-5, rtol=1e-5)
    np.testing.assert_allclose(probability[in_body], theirs.sigmoid().numpy()[in_body], atol=1e-5)
    assert chosen.any()
    assert not chosen[in_body].all()


def test_sequence_classification(
    small_config: Config, padded_tables: dict[str, Tensor], supervision: dict[str, Tensor]
) -> None:
    config, task = small_config(heads="full"), EntailmentTask()
    task.prepare_model(config)
    model = MateForSequenceClassification(config).eval()
    twin = twins(model, TapasForSequenceClassification)
    theirs = twin(**padded_tables, labels=LABELS)
    batch = batch_of(padded_tables, supervision, config)
    logits = task.logits(model, batch)
    torch.testing.assert_close(logits.labels, theirs.logits, atol=1e-5, rtol=1e-5)
    loss = task.losses(logits, batch).mean()
    torch.testing.assert_close(loss, theirs.loss, atol=1e-4, rtol=1e-5)
    loss.backward()
    theirs.loss.backward()
    compare_gradients(model, twin)


@pytest.mark.parametrize(
    ("ours", "theirs", "options"),
    [
        (MateForTableQuestionAnswering, TapasForQuestionAnswering, {}),
        (MateForTableQuestionAnswering, TapasForQuestionAnswering, {"num_aggregation_labels": 4, "temperature": 0.3}),
        (MateForSequenceClassification, TapasForSequenceClassification, {}),
    ],
)
def test_a_folder_of_theirs_fills_ours(
    small_config: Config, tmp_path: Path, ours: type[Any], theirs: type[Any], options: dict[str, Any]
) -> None:
    fields = {name: getattr(small_config(), name) for name in SHARED_FIELDS}
    twin = theirs(TapasConfig(**fields, **options))
    twin.save_pretrained(tmp_path)
    model = ours(read_config(tmp_path))
    report = load_weights(model, tmp_path)
    assert (report.new, report.unused) == ((), ())
    for name, tensor in twin.state_dict().items():
        assert torch.equal(model.state_dict()[name], tensor), name
    assert model.config.temperature == options.get("temperature", 1.0)
