"""TAPAS from Hugging Face into our models and back, and files that are no weights."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor
from transformers import (
    AutoModel,
    AutoModelForSequenceClassification,
    AutoModelForTableQuestionAnswering,
    BertConfig,
    BertModel,
    TapasConfig,
    TapasForQuestionAnswering,
    TapasForSequenceClassification,
    TapasModel,
)

from mate_cli.kinds.registry import kind_named
from mate_cli.models.cell_selection import MateForCellSelection
from mate_cli.models.checkpoint import read_tensors
from mate_cli.models.configuration import read_config
from mate_cli.models.model import MateModel, MatePreTrainedModel
from mate_cli.models.weights import LoadReport, load_weights, save_model
from mate_cli.system.errors import UserError
from tests.models.conftest import SMALL

HF = {"attn_implementation": "eager"}


def into_ours(folder: Path, kind: str, heads: str = "full") -> tuple[MatePreTrainedModel, LoadReport]:
    config = read_config(folder)
    config.heads = heads
    model = kind_named(kind).model(config).eval()
    return model, load_weights(model, folder)


@pytest.mark.parametrize("old_format", [False, True], ids=["safetensors", "bin"])
@pytest.mark.parametrize(
    ("theirs", "kind", "auto", "options"),
    [
        (TapasForQuestionAnswering, "table_qa", AutoModelForTableQuestionAnswering, {"num_aggregation_labels": 4}),
        (TapasForSequenceClassification, "entailment", AutoModelForSequenceClassification, {}),
    ],
)
def test_tapas_comes_back_bit_for_bit(
    theirs: Any, kind: str, auto: Any, options: dict[str, Any], old_format: bool, tmp_path: Path,
    padded_tables: dict[str, Tensor],
) -> None:  # fmt: skip
    torch.manual_seed(2)
    first = theirs(TapasConfig(**SMALL, **options, temperature=0.3, **HF)).eval()
    first.save_pretrained(tmp_path / "tapas")
    if old_format:
        (tmp_path / "tapas" / "model.safetensors").unlink()
        torch.save(first.state_dict(), tmp_path / "tapas" / "pytorch_model.bin")
    ours, report = into_ours(tmp_path / "tapas", kind)
    assert (report.new, report.unused) == ((), ())
    save_model(ours, tmp_path / "ours", tmp_path)
    last = theirs.from_pretrained(tmp_path / "ours", **HF)
    assert last.state_dict().keys() == first.state_dict().keys()
    assert all(torch.equal(tensor, last.state_dict()[name]) for name, tensor in first.state_dict().items())
    with torch.no_grad():
        before, after = first(**padded_tables), last(**padded_tables)
        assert torch.equal(before.logits, after.logits)
        states = ours.get_submodule("tapas").double()(**padded_tables)
        expected = first.tapas.double()(**padded_tables)
    real = padded_tables["attention_mask"].bool()
    torch.testing.assert_close(states.last_hidden_state[real], expected.last_hidden_state[real], atol=1e-6, rtol=0)
    torch.testing.assert_close(states.pooler_output, expected.pooler_output, atol=1e-6, rtol=0)
    again = auto.from_pretrained(tmp_path / "ours")
    assert type(again) is type(ours)
    assert again.config.temperature == 0.3


def test_a_tapas_without_a_head_comes_back_too(tmp_path: Path) -> None:
    torch.manual_seed(2)
    first = TapasModel(TapasConfig(**SMALL))
    first.save_pretrained(tmp_path / "tapas")
    ours, report = into_ours(tmp_path / "tapas", "cell_selection")
    assert set(report.new) == {"output_weights", "output_bias"}
    save_model(ours, tmp_path / "ours", tmp_path)
    for kind in (TapasModel, AutoModel):
        last = kind.from_pretrained(tmp_path / "ours")
        assert all(torch.equal(tensor, last.state_dict()[name]) for name, tensor in first.state_dict().items())
    assert isinstance(last, MateModel)


def test_bert_is_made_ready_for_tables_once(tmp_path: Path) -> None:
    """Our own checkpoint has seven type tables already: reading it again changes nothing."""
    sizes = {name: size for name, size in SMALL.items() if name != "type_vocab_sizes"}
    BertModel(BertConfig(**{**sizes, "vocab_size": 120})).save_pretrained(tmp_path / "bert")
    first, report = into_ours(tmp_path / "bert", "cell_selection", "mate")
    types = {f"tapas.embeddings.token_type_embeddings_{number}.weight" for number in range(1, 7)}
    assert set(report.new) == types | {"output_weights", "output_bias"}
    assert report.unused == ()
    save_model(first, tmp_path / "ours", tmp_path)
    second, report = into_ours(tmp_path / "ours", "cell_selection", "mate")
    assert (report.new, report.unused) == ((), ())
    assert all(torch.equal(tensor, first.state_dict()[name]) for name, tensor in second.state_dict().items())


def test_a_shape_that_does_not_fit_names_both_sides(tmp_path: Path) -> None:
    TapasForSequenceClassification(TapasConfig(**SMALL, num_labels=3)).save_pretrained(tmp_path)
    with pytest.raises(UserError, match=r"classifier.weight is \(3, 48\) there and \(2, 48\) in the model"):
        into_ours(tmp_path, "entailment")


class Trap:
    """Unpickled, it makes a file."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        return open, (str(self.path), "w")


@pytest.mark.parametrize("name", ["pytorch_model.bin", "model.safetensors"])
@pytest.mark.parametrize("write", ["torch", "pickle"])
def test_a_pickle_that_would_run_code_is_refused(tmp_path: Path, name: str, write: str) -> None:
    sprung, tensors = tmp_path / "sprung", MateForCellSelection(read_config(small(tmp_path))).state_dict()
    harmful = {**tensors, "harm": Trap(sprung)}
    with (tmp_path / name).open("wb") as file:
        torch.save(harmful, file) if write == "torch" else pickle.dump(harmful, file)
    with pytest.raises(UserError, match="cannot load weights from") as caught:
        read_tensors(tmp_path)
    assert "\n" not in str(caught.value)
    assert "weights_only" not in str(caught.value)  # no advice to read it all the same
    assert not sprung.exists()
    pickle.loads(pickle.dumps(Trap(sprung))).close()  # the trap is one
    assert sprung.exists()


def small(folder: Path) -> Path:
    TapasConfig(**SMALL).save_pretrained(folder)
    return folder
