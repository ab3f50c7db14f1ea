"""The head of masked language modelling against Hugging Face's TAPAS: names, logits, loss, gradients."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from torch import Tensor
from torch.nn import functional as F
from transformers import TapasConfig, TapasForMaskedLM

from mate_cli.models.configuration import MateConfig, read_config
from mate_cli.models.embeddings import reset_positions
from mate_cli.models.masked_language import MateForMaskedLM
from mate_cli.models.weights import load_weights, save_model
from tests.models.test_against_huggingface import SHARED_FIELDS

Config = Callable[..., MateConfig]


@pytest.fixture
def model(small_config: Config) -> MateForMaskedLM:
    torch.manual_seed(1)
    model = MateForMaskedLM(small_config(heads="full", kind="masked_language")).eval()
    for parameter in model.parameters():
        if parameter.dim() < 2:  # biases and norms, which start as zeros and ones
            parameter.data += 0.2 * torch.randn_like(parameter)
    return model


def theirs_of(model: MateForMaskedLM) -> TapasForMaskedLM:
    """Hugging Face's model with the same weights; it has no pooler, and a second name for what is tied."""
    fields = {name: getattr(model.config, name) for name in SHARED_FIELDS}
    twin = TapasForMaskedLM(TapasConfig(**fields, attn_implementation="eager")).eval()
    report = twin.load_state_dict(model.state_dict(), strict=False)
    assert set(report.missing_keys) <= {"cls.predictions.decoder.weight", "cls.predictions.decoder.bias"}
    assert all(name.startswith("tapas.pooler.") for name in report.unexpected_keys)
    twin.tie_weights()
    return twin


def test_logits_loss_and_gradients_are_theirs(model: MateForMaskedLM, padded_tables: dict[str, Tensor]) -> None:
    twin, keep = theirs_of(model), padded_tables["attention_mask"].bool()
    masked = (torch.rand(keep.shape) < 0.3) & keep
    labels = torch.where(masked, torch.randint(90, keep.shape), -100)
    expected = twin(**padded_tables, labels=labels)
    types = padded_tables["token_type_ids"]
    logits = model(
        input_ids=padded_tables["input_ids"][keep],
        token_types=types[keep],
        positions=reset_positions(types[..., 1], types[..., 2], model.config.max_position_embeddings)[keep],
        masked=masked[keep].nonzero().squeeze(1),
        plan=model.tapas._plan(keep, types[keep], "auto"),
    )
    torch.testing.assert_close(logits, expected.logits[masked], atol=1e-5, rtol=1e-5)
    loss = F.cross_entropy(logits, labels[masked])
    torch.testing.assert_close(loss, expected.loss, atol=1e-4, rtol=1e-5)
    loss.backward()
    expected.loss.backward()
    gradients = {name: p.grad for name, p in model.named_parameters() if not name.startswith("tapas.pooler.")}
    for name, parameter in twin.named_parameters():
        torch.testing.assert_close(gradients.pop(name), parameter.grad, atol=1e-4, rtol=1e-3, msg=name)
    assert not gradients


def test_a_folder_of_theirs_fills_ours_but_the_pooler(model: MateForMaskedLM, tmp_path: Path) -> None:
    twin = theirs_of(model)
    twin.save_pretrained(tmp_path)
    ours = MateForMaskedLM(read_config(tmp_path))
    report = load_weights(ours, tmp_path)
    assert report.new == ("tapas.pooler.dense.bias", "tapas.pooler.dense.weight")
    for name, tensor in model.state_dict().items():
        assert name in report.new or torch.equal(ours.state_dict()[name], tensor), name


def test_the_tied_weights_are_in_our_file_once(model: MateForMaskedLM, tmp_path: Path) -> None:
    vocabulary = tmp_path / "vocabulary"
    vocabulary.mkdir()
    (vocabulary / "vocab.txt").write_text("[PAD]\n")
    save_model(model, tmp_path / "model", vocabulary)
    again = MateForMaskedLM(read_config(tmp_path / "model"))
    report = load_weights(again, tmp_path / "model")
    assert (report.new, report.unused) == ((), ())
    assert [name for name in report.matched if name.startswith("cls.")] == [
        "cls.predictions.bias",
        "cls.predictions.transform.LayerNorm.bias",
        "cls.predictions.transform.LayerNorm.weight",
        "cls.predictions.transform.dense.bias",
        "cls.predictions.transform.dense.weight",
    ]
