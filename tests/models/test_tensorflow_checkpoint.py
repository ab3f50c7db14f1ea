"""A checkpoint that TensorFlow wrote (``tensorflow_checkpoint/write.py``), read without it."""

from __future__ import annotations

import shutil
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from transformers import (
    TapasConfig,
    TapasForMaskedLM,
    TapasForQuestionAnswering,
    TapasForSequenceClassification,
    TapasModel,
)

from mate_cli.kinds.registry import kind_named
from mate_cli.models.checkpoint import read_tensors
from mate_cli.models.configuration import read_config
from mate_cli.models.tensorflow_checkpoint import read_checkpoint
from mate_cli.models.weights import load_weights
from mate_cli.system.errors import UserError
from tests.models.tensorflow_checkpoint.write import CONFIG, TYPES, values, variables

FOLDER = Path(__file__).parent / "tensorflow_checkpoint"
INDEX = FOLDER / "model.ckpt.index"


def written(name: str) -> np.ndarray:
    """What TensorFlow was given, in float32."""
    return np.array(values()[name], dtype=np.float32).reshape(variables()[name])


@pytest.mark.parametrize(
    ("name", "ours", "turned"),
    [
        ("bert/embeddings/word_embeddings", "bert.embeddings.word_embeddings.weight", False),
        ("bert/embeddings/token_type_embeddings_6", "bert.embeddings.token_type_embeddings_6.weight", False),
        ("bert/embeddings/LayerNorm/gamma", "bert.embeddings.LayerNorm.gamma", False),
        ("bert/encoder/layer_0/attention/self/query/kernel", "bert.encoder.layer.0.attention.self.query.weight", True),
        ("bert/encoder/layer_0/intermediate/dense/kernel", "bert.encoder.layer.0.intermediate.dense.weight", True),
        ("bert/pooler/dense/bias", "bert.pooler.dense.bias", False),
        ("output_weights", "output_weights", False),
        ("output_bias", "output_bias", False),
        ("output_weights_agg", "aggregation_classifier.weight", False),
        ("output_bias_cls", "classifier.bias", False),
        ("cls/predictions/output_bias", "cls.predictions.bias", False),
    ],
)
def test_values_are_those_that_were_written(name: str, ours: str, turned: bool) -> None:
    expected = written(name)
    np.testing.assert_array_equal(read_checkpoint(INDEX)[ours].numpy(), expected.T if turned else expected)


@pytest.mark.parametrize(
    ("model_class", "fields"),
    [
        (TapasModel, {}),
        (TapasForQuestionAnswering, {"num_aggregation_labels": 4}),
        (TapasForSequenceClassification, {"num_labels": 2}),
        (TapasForMaskedLM, {}),
    ],
)
def test_each_class_of_hugging_face_finds_its_tensors(model_class, fields) -> None:
    sizes = {name: value for name, value in CONFIG.items() if name != "type_vocab_size"}
    model = model_class(TapasConfig(**sizes, type_vocab_sizes=TYPES, **fields))
    read = {name.replace("gamma", "weight").replace("beta", "bias"): t for name, t in read_checkpoint(INDEX).items()}
    read |= {name.replace("bert.", "tapas.", 1): tensor for name, tensor in read.items() if name.startswith("bert.")}
    read |= {name.removeprefix("tapas."): tensor for name, tensor in read.items() if name.startswith("tapas.")}
    for name, tensor in model.state_dict().items():
        if not name.endswith(("position_ids", "cls.predictions.decoder.weight", "cls.predictions.decoder.bias")):
            assert read[name].shape == tensor.shape, name


def test_the_optimizer_and_the_step_are_left_out() -> None:
    assert not [name for name in read_checkpoint(INDEX) if "adam" in name or "step" in name or "seq_relation" in name]


@pytest.mark.parametrize("kind", ["cell_selection", "table_qa", "entailment"])
def test_a_training_can_start_from_it(kind: str) -> None:
    config = read_config(FOLDER)
    assert (config.hidden_size, list(config.type_vocab_sizes)) == (4, TYPES)
    config.num_aggregation_labels = 4
    model = kind_named(kind).model(config)
    report = load_weights(model, FOLDER)
    assert not [name for name in report.new if name.startswith("tapas.")]
    state = model.state_dict()
    key = "tapas.encoder.layer.0.attention.self.key.weight"
    np.testing.assert_array_equal(state[key], written("bert/encoder/layer_0/attention/self/key/kernel").T)
    if kind == "table_qa":
        assert not report.new
        np.testing.assert_array_equal(state["aggregation_classifier.weight"], written("output_weights_agg"))


@pytest.fixture
def copy(tmp_path):
    return Path(shutil.copytree(FOLDER, tmp_path / "tapas", ignore=shutil.ignore_patterns("*.py", "__pycache__")))


@settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_a_damaged_index_is_one_line_or_read(copy, data) -> None:
    content = bytearray(INDEX.read_bytes())
    for _ in range(data.draw(st.integers(1, 3))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    (copy / INDEX.name).write_bytes(content[: data.draw(st.integers(0, len(content)))])
    with suppress(UserError):  # and no other error
        read_tensors(copy)


def test_what_is_missing_or_too_much_is_said(copy) -> None:
    data = copy / "model.ckpt.data-00000-of-00001"
    data.write_bytes(data.read_bytes()[:100])
    with pytest.raises(UserError, match="is not whole"):
        read_tensors(copy)
    data.unlink()
    with pytest.raises(UserError, match="data-00000-of-00001"):
        read_tensors(copy)
    shutil.copy(INDEX, copy / "other.ckpt.index")
    with pytest.raises(UserError, match="holds 2 checkpoints of TensorFlow"):
        read_tensors(copy)
