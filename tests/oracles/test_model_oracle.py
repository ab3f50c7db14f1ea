"""The encoder against the release's own outputs (oracle e): embeddings, positions, layers, pooler."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from mate_cli.models.configuration import MateConfig
from mate_cli.models.model import MateModel

ORACLES = Path(__file__).resolve().parents[3] / "shared" / "oracles"
pytestmark = pytest.mark.oracles

TOKEN_TYPES = (
    "segment_ids",
    "column_ids",
    "row_ids",
    "prev_label_ids",
    "column_ranks",
    "inv_column_ranks",
    "numeric_relations",
)
SIZES = {
    "vocab_size": 60,
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 64,
    "type_vocab_sizes": [3, 12, 12, 2, 12, 12, 10],
    "hidden_act": "gelu_new",  # the release approximates GELU by tanh
}
VARIANTS = {
    "full": {"heads": "full", "reset_position_index_per_cell": False},
    "full_reset": {"heads": "full"},
    "full_reset_maxpos8": {"heads": "full", "max_position_embeddings": 8},
    "headwise_reset": {},
    "headwise_ratio03": {"row_heads_ratio": 0.3, "reset_position_index_per_cell": False},
}


@pytest.fixture(scope="module")
def weights():
    return np.load(ORACLES / "e_model_weights.npz")


@pytest.fixture(scope="module")
def io():
    return np.load(ORACLES / "e_model_io.npz")


def model_of(weights, max_position_embeddings=64, **changes):
    """A model filled from TensorFlow's variables: kernels are [in, out] there, norms have gamma and beta."""
    config = MateConfig(**SIZES, **changes, max_position_embeddings=max_position_embeddings)
    model = MateModel(config).eval()
    suffix = "" if max_position_embeddings == 64 else f"@pos{max_position_embeddings}"
    state = {}
    for name in model.state_dict():
        variable = "bert/" + name.replace("encoder.layer.", "encoder.layer_").replace(".", "/")
        if "embeddings/position" in variable:
            state[name] = torch.tensor(weights[variable.removesuffix("/weight") + suffix])
        elif "_embeddings" in variable:
            state[name] = torch.tensor(weights[variable.removesuffix("/weight")])
        elif "LayerNorm" in variable:
            variable = variable.replace("/weight", "/gamma").replace("/bias", "/beta")
            state[name] = torch.tensor(weights[variable])
        elif "seq_projection" in variable:
            state[name] = torch.tensor(weights[variable.replace("seq_projection/weight", "proj_seq_length/kernel")])
        elif variable.endswith("/weight"):
            state[name] = torch.tensor(weights[variable.replace("/weight", "/kernel")].T)
        else:
            state[name] = torch.tensor(weights[variable])
    model.load_state_dict(state)
    return model


def inputs_of(io):
    types = np.stack([io[f"in_{name}"] for name in TOKEN_TYPES], -1)
    return {
        "input_ids": torch.tensor(io["in_input_ids"]).long(),
        "attention_mask": torch.tensor(io["in_input_mask"]),
        "token_type_ids": torch.tensor(types).long(),
    }


def assert_real_tokens_equal(ours, expected, io, atol=1e-5):
    """Padding is left out: the release lets it see all real keys, ours is zero (docs/notes.md, note 13)."""
    real = io["in_input_mask"] == 1
    np.testing.assert_allclose(ours.detach().numpy()[real], expected[real], atol=atol, rtol=1e-5)


@pytest.mark.parametrize("backend", ["eager", "dense", "native", "ragged"])
@pytest.mark.parametrize("variant", VARIANTS)
def test_encoder(weights, io, variant, backend):
    model = model_of(weights, **VARIANTS[variant])
    output = model(**inputs_of(io), backend=backend)
    assert_real_tokens_equal(output.last_hidden_state, io[f"{variant}__sequence_output"], io)
    pooled = output.pooler_output.detach().numpy()
    np.testing.assert_allclose(pooled, io[f"{variant}__pooled_output"], atol=1e-5)


@pytest.mark.parametrize("variant", ["full", "full_reset", "full_reset_maxpos8"])
def test_embeddings_and_first_layer(weights, io, variant):
    model = model_of(weights, **VARIANTS[variant])
    keep = inputs_of(io)["attention_mask"].bool()
    seen = {}
    for name, module in (("embedding_output", model.embeddings), ("layer0", model.encoder.layer[0])):
        module.register_forward_hook(lambda _, __, output, name=name: seen.update({name: output}))
    model(**inputs_of(io))
    for name, states in seen.items():
        padded = torch.zeros(*keep.shape, 32)
        padded[keep] = states
        assert_real_tokens_equal(padded, io[f"{variant}__{name}"], io)
    assert set(seen) == {"embedding_output", "layer0"}


@pytest.mark.parametrize("backend", ["eager", "dense"])
def test_row_or_column_heads(weights, io, backend):
    """The release's same_colum_or_row, which SAT uses."""
    output = model_of(weights, heads="row_or_column")(**inputs_of(io), backend=backend)
    assert_real_tokens_equal(output.last_hidden_state, io["sat_reset__sequence_output"], io)


def test_linformer(weights, io):
    model = model_of(weights, heads="linformer", linformer_tokens=48, linformer_k=10)
    output = model(**inputs_of(io))
    assert_real_tokens_equal(output.last_hidden_state, io["linformer_k10__sequence_output"], io)
    pooled = output.pooler_output.detach().numpy()
    np.testing.assert_allclose(pooled, io["linformer_k10__pooled_output"], atol=1e-5)
