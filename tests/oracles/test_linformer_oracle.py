"""Linformer's attention layer against the release's own outputs (oracle c)."""

from pathlib import Path

import numpy as np
import pytest
import torch

from mate_cli.attention import Layout
from mate_cli.attention.linformer import LinformerPlanner, attend_linformer

ORACLE = Path(__file__).resolve().parents[3] / "shared" / "oracles" / "c_linformer_and_soft_mask_attention.npz"
HEADS, TEMPERATURE = 3, 1.3
pytestmark = pytest.mark.oracles


@pytest.fixture(scope="module")
def vectors():
    return np.load(ORACLE)


def product(vectors, name, states):
    kernel, bias = (vectors[f"w:{name}/{part}"] for part in ("kernel", "bias"))
    return states @ kernel.reshape(len(kernel), -1) + bias.reshape(-1)


def test_attention_layer(vectors):
    keep = vectors["input_mask"] == 1
    assert (np.diff(keep.astype(int), axis=1) <= 0).all()  # padding is on the right, as the packed form needs it
    states = vectors["input_tensor"][keep]
    # Ours has no temperature: the query is divided by it instead.
    query = product(vectors, "query", states) / TEMPERATURE
    qkv = np.concatenate([query, product(vectors, "key", states), product(vectors, "value", states)], axis=1)
    document = np.nonzero(keep)[0]
    zeros = np.zeros_like(document)
    projection = torch.tensor(vectors["w:proj_seq_length/kernel"])
    plan = LinformerPlanner(len(projection))(Layout(document, zeros, zeros, zeros))
    output = attend_linformer(torch.tensor(qkv), projection, plan, HEADS)
    expected = vectors["context_temp1_3"][keep].reshape(len(states), -1)
    np.testing.assert_allclose(output.numpy(), expected, atol=1e-5, rtol=1e-5)
