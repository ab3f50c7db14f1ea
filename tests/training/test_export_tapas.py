"""Exports of dense models, loaded by Hugging Face's TAPAS with equal outputs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import transformers
from safetensors.torch import load_file
from torch import Tensor
from transformers import AutoModel, AutoModelForMaskedLM

from mate_cli.models.masked_language import MateForMaskedLM
from mate_cli.models.model import MateModel
from tests.models.conftest import table_ids
from tests.training.exports import exported
from tests.training.made_runs import make_run

QA, LABELS = "TapasForQuestionAnswering", "TapasForSequenceClassification"
OPERATORS = {0: "NONE", 1: "SUM", 2: "AVERAGE", 3: "COUNT"}


def tables() -> dict[str, Tensor]:
    """Two tables of one length, the second padded."""
    random = np.random.default_rng(2)
    (ids, types), (short_ids, short_types) = (table_ids(random, *shape) for shape in ((6, 4, 3), (3, 2, 2)))
    pad = len(ids) - len(short_ids)
    return {
        "input_ids": torch.from_numpy(np.stack([ids, np.pad(short_ids, (0, pad))])),
        "token_type_ids": torch.from_numpy(np.stack([types, np.pad(short_types, ((0, pad), (0, 0)))])),
        "attention_mask": torch.tensor([[1] * len(ids), [1] * len(short_ids) + [0] * pad]),
    }


@pytest.mark.parametrize(
    ("task", "name", "told"),
    [
        ("sample", "TapasModel", {"reset_position_index_per_cell": True}),
        ("sample_reader", "TapasModel", {"reset_position_index_per_cell": False}),
        ("sqa", QA, {"select_one_column": True, "allow_empty_column_selection": False, "temperature": 1.0}),
        ("wtq", QA, {"aggregation_labels": OPERATORS, "no_aggregation_label_index": 0, "temperature": 0.0352513}),
        ("tabfact", LABELS, {"id2label": {0: "refuted", 1: "entailed"}}),
    ],
)
def test_a_dense_model_is_a_tapas(task: str, name: str, told: dict[str, Any], bert: Path, tmp_path: Path) -> None:
    """Tensors bit for bit; outputs to 1e-6, though BERT's first position was moved when it was read."""
    words = (f"task={task}", "model=tapas", "backbone=folder", f"backbone.path={bert}")
    to = exported(make_run(tmp_path / "run", *words), tmp_path / "to")
    stored, theirs = load_file(to / "model.safetensors"), getattr(transformers, name).from_pretrained(to)
    assert f"transformers.{name}.from_pretrained" in (to / "README.md").read_text()
    prefix = "tapas." if name == "TapasModel" else ""
    shared = {n: tensor for n, tensor in theirs.state_dict().items() if prefix + n in stored}
    assert all(torch.equal(tensor, stored[prefix + n]) for n, tensor in shared.items())
    assert shared.keys() == theirs.state_dict().keys()
    assert {field: getattr(theirs.config, field) for field in told} == told
    ours, batch = AutoModel.from_pretrained(to).double(), tables()
    assert type(ours) is MateModel
    with torch.no_grad():
        own, found = ours(**batch), theirs.double()(**batch)
        compare(name, own, found, {n: tensor.double() for n, tensor in stored.items()}, batch, ours.config.temperature)


def test_a_fifth_operator_is_one_of_tapas_too(bert: Path, tmp_path: Path) -> None:
    words = ("task=wtq", "task.qa.difference=true", "model=tapas", "backbone=folder", f"backbone.path={bert}")
    to = exported(make_run(tmp_path / "run", *words), tmp_path / "to")
    theirs = transformers.TapasForQuestionAnswering.from_pretrained(to)
    assert theirs.config.aggregation_labels == {**OPERATORS, 4: "DIFFERENCE"}
    stored = load_file(to / "model.safetensors")["aggregation_classifier.weight"]
    assert torch.equal(theirs.aggregation_classifier.weight, stored)
    assert len(stored) == 5


def test_positions_down_columns_are_none_of_tapas(bert: Path, tmp_path: Path) -> None:
    words = ("task=sqa", "model=tapas", "model.positions=column", "backbone=folder", f"backbone.path={bert}")
    to = exported(make_run(tmp_path / "run", *words), tmp_path / "to")
    assert "TapasForQuestionAnswering" not in (to / "README.md").read_text()
    assert AutoModel.from_pretrained(to).config.positions == "column"


def test_a_dense_pre_trained_model_is_a_tapas(bert: Path, tmp_path: Path) -> None:
    """Its output weights are the word embeddings there too; logits at masked words to 1e-6."""
    words = ("task=mlm", "model=tapas", "backbone=folder", f"backbone.path={bert}")
    to = exported(make_run(tmp_path / "run", *words), tmp_path / "to")
    theirs, ours = (kind.from_pretrained(to).double() for kind in (transformers.TapasForMaskedLM, AutoModelForMaskedLM))
    assert type(ours) is MateForMaskedLM
    batch = tables()
    with torch.no_grad():
        states = ours.tapas(**batch).last_hidden_state[0, :4]
        own = ours.cls["predictions"](states, ours.tapas.embeddings.word_embeddings.weight)
        same(own, theirs(**batch).logits[0, :4])


def compare(
    name: str, own: Any, found: Any, stored: dict[str, Tensor], batch: dict[str, Tensor], temperature: float
) -> None:
    """Their outputs with what our heads' tensors make of our encoder's states."""
    real = batch["attention_mask"].bool()
    if name == "TapasModel":
        same(own.last_hidden_state[real], found.last_hidden_state[real])
        same(own.pooler_output, found.pooler_output)
    elif name == LABELS:
        same(own.pooler_output @ stored["classifier.weight"].T + stored["classifier.bias"], found.logits)
    else:
        logits = (own.last_hidden_state @ stored["output_weights"] + stored["output_bias"]) / temperature
        same_cells(logits, found.logits, batch)
    if name == QA and found.logits_aggregation is not None:
        weight, bias = stored["aggregation_classifier.weight"], stored["aggregation_classifier.bias"]
        same(own.pooler_output @ weight.T + bias, found.logits_aggregation)


def same_cells(logits: Tensor, found: Tensor, batch: dict[str, Tensor]) -> None:
    """In the column that they choose their logits are the means of ours over each cell."""
    chosen = found > -5000
    assert chosen.any(1).all()
    for row in range(len(found)):
        places = batch["token_type_ids"][row, :, 1:3]
        cells = (places[:, None] == places[None]).all(-1).to(logits.dtype)
        means = cells @ logits[row] / cells.sum(1)
        same(means[chosen[row]], found[row, chosen[row]])


def same(ours: Tensor, theirs: Tensor) -> None:
    torch.testing.assert_close(ours, theirs, atol=1e-6, rtol=0)
