"""What labels and operators are read from: the first state or the mean of the text's, and what pools it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import torch
from torch import Tensor
from transformers import BertConfig, BertModel, TapasConfig, TapasForSequenceClassification

from mate_cli.models.configuration import MateConfig, read_config
from mate_cli.models.entailment import MateForSequenceClassification
from mate_cli.models.model import MateModel
from mate_cli.models.weights import LoadReport, load_model, load_weights, save_model
from tests.models.test_weights import SIZES

Config = Callable[..., MateConfig]
POOLER = "tapas.pooler.dense.weight"


def test_a_text_is_pooled_by_the_mean_of_its_own_states(small_config: Config, padded_tables: dict[str, Tensor]) -> None:
    model = MateModel(small_config(pooling="text")).eval()
    output = model(**padded_tables)
    in_text = padded_tables["attention_mask"].bool() & (padded_tables["token_type_ids"][..., 0] == 0)
    means = [states[is_text].mean(0) for states, is_text in zip(output.last_hidden_state, in_text, strict=True)]
    torch.testing.assert_close(output.pooler_output, model.pooler(torch.stack(means)))
    assert not torch.allclose(output.pooler_output, model.pooler(output.last_hidden_state[:, 0]), atol=1e-3)


def test_an_example_that_is_all_padding_leaves_the_others_alone(
    small_config: Config, padded_tables: dict[str, Tensor]
) -> None:
    for pooling in ("first", "text"):
        model = MateModel(small_config(pooling=pooling)).eval()
        expected = model(**padded_tables).pooler_output
        mask = padded_tables["attention_mask"].clone()
        mask[-1] = 0
        pooled = model(**padded_tables | {"attention_mask": mask}).pooler_output
        torch.testing.assert_close(pooled[:-1], expected[:-1])
        assert pooled.isfinite().all()


def filled(folder: Path, pooling: str) -> tuple[MateForSequenceClassification, LoadReport]:
    config = read_config(folder)
    config.pooling = pooling
    model = MateForSequenceClassification(config)
    return model, load_weights(model, folder)


def test_a_pooler_made_for_the_first_state_does_not_pool_the_text(tmp_path: Path) -> None:
    bert = BertModel(BertConfig(**SIZES))
    bert.save_pretrained(tmp_path)
    first, _ = filled(tmp_path, "first")
    text, report = filled(tmp_path, "text")
    assert torch.equal(first.get_parameter(POOLER), bert.pooler.dense.weight)
    assert torch.equal(text.get_parameter(POOLER), torch.eye(SIZES["hidden_size"]))
    assert not text.tapas.pooler.dense.bias.any()
    assert POOLER in report.matched  # it is no random start, and learns as slowly as the encoder


def test_a_pooler_made_for_the_text_goes_on(tmp_path: Path) -> None:
    """From a run to the next one, and from a run to its predictions."""
    TapasForSequenceClassification(TapasConfig(**SIZES)).save_pretrained(tmp_path / "tapas")
    (tmp_path / "tapas" / "vocab.txt").write_text("[PAD]\n")
    model, _ = filled(tmp_path / "tapas", "text")
    torch.nn.init.normal_(model.get_parameter(POOLER))
    save_model(model, tmp_path / "run", tmp_path / "tapas")
    for again in (filled(tmp_path / "run", "text")[0], load_model(tmp_path / "run", MateForSequenceClassification)):
        assert again.config.pooling == "text"
        assert torch.equal(again.get_parameter(POOLER), model.get_parameter(POOLER))
