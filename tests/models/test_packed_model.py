"""What the packed model promises: independence of packing, equal backends, positions, logits."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from mate_cli.attention import Layout, build_plan
from mate_cli.models import model as model_module
from mate_cli.models.cell_selection import MateForCellSelection
from mate_cli.models.dropout import FeatureDropout
from mate_cli.models.embeddings import Embeddings, reset_positions
from mate_cli.models.model import MateModel, mean_by_group
from mate_cli.models.span_reading import MateForSpanReading
from tests.compilers import NATIVE


def packed(padded_tables, config, backend="eager"):
    """The padded tables as the arguments of a cell selector, every body cell numbered."""
    keep = padded_tables["attention_mask"].bool()
    types = padded_tables["token_type_ids"]
    document = keep.nonzero()[:, 0]
    positions = reset_positions(types[..., 1], types[..., 2], config.max_position_embeddings)[keep]
    segment, column, row = types[keep][:, :3].T
    places = torch.stack([document, row, column], 1)
    places_of_cells, number = torch.unique(places[row > 0], dim=0, return_inverse=True)
    cell = torch.full_like(row, -1)
    cell[row > 0] = number
    layout = Layout(*(x.numpy() for x in (document, row, column, segment)))
    return {
        "input_ids": padded_tables["input_ids"][keep],
        "token_types": types[keep],
        "positions": positions,
        "cell": cell,
        "cells": len(places_of_cells),
        "plan": build_plan(layout, config.pattern().kinds, backend),
    }


@pytest.mark.parametrize("heads", ["mate", "full"])
def test_the_backends_agree_through_the_whole_model(small_config, padded_tables, heads):
    config = small_config(heads=heads)
    model = MateForCellSelection(config).double()
    results = {}
    for backend in ("eager", "dense", *NATIVE, "ragged"):
        logits = model(**packed(padded_tables, config, backend))
        model.zero_grad()
        logits.square().sum().backward()
        results[backend] = logits, {n: p.grad for n, p in model.named_parameters() if p.grad is not None}
    logits, grads = results.pop("eager")
    assert len(grads) == len(model.state_dict()) - 2  # all but the pooler's
    for other_logits, other_grads in results.values():
        torch.testing.assert_close(other_logits, logits, atol=1e-10, rtol=1e-10)
        for name, grad in grads.items():
            torch.testing.assert_close(other_grads[name], grad, atol=1e-10, rtol=1e-10)


@pytest.mark.parametrize(
    ("dtype", "autocast", "training", "rate", "low_precision", "dropout"),
    [
        (torch.float32, False, False, 0.1, False, False),
        (torch.float32, True, False, 0.1, True, False),
        (torch.bfloat16, False, False, 0.1, True, False),
        (torch.float32, False, True, 0.1, False, True),
        (torch.float32, False, True, 0.0, False, False),
    ],
)
def test_the_planner_is_told_precision_and_dropout(
    small_config, padded_tables, monkeypatch, dtype, autocast, training, rate, low_precision, dropout
):
    """They decide the backend on a GPU."""
    told = []
    real = model_module.make_planner
    monkeypatch.setattr(model_module, "make_planner", lambda *words, **keys: told.append(keys) or real(*words, **keys))
    model = MateModel(small_config(attention_probs_dropout_prob=rate)).to(dtype).train(training)
    with torch.autocast("cpu", enabled=autocast):
        model(**padded_tables)
    assert told == [{"low_precision": low_precision, "dropout": dropout}]


@pytest.mark.parametrize("head", ["cells", "spans"])
def test_heads_drop_states_in_training_only(small_config, padded_tables, head):
    inputs = packed(padded_tables, small_config())
    if head == "cells":
        model = MateForCellSelection(small_config(hidden_dropout_prob=0.5))
    else:
        model = MateForSpanReading(small_config(hidden_dropout_prob=0.5))
        del inputs["cell"], inputs["cells"]
    for module in model.tapas.modules():
        if isinstance(module, FeatureDropout):
            module.rate = 0.0  # of the encoder: what is left is the head's
    expected = model.eval()(**inputs)
    torch.testing.assert_close(model(**inputs), expected, atol=0, rtol=0)
    assert not torch.allclose(model.train()(**inputs), expected)


def test_an_example_of_padding_alone_changes_nothing(small_config, padded_tables):
    model = MateModel(small_config()).double().eval()
    expected = model(**padded_tables).last_hidden_state[[0, 2]]
    padded_tables["attention_mask"][1] = 0
    output = model(**padded_tables)
    torch.testing.assert_close(output.last_hidden_state[[0, 2]], expected, atol=1e-12, rtol=0)
    assert not output.last_hidden_state[1].any()
    assert not output.pooler_output[1].any()
    padded_tables["attention_mask"][:] = 0
    with pytest.raises(ValueError, match="there is nothing to encode"):
        model(**padded_tables)


def test_cell_logits_are_means_of_token_logits(small_config, padded_tables):
    config = small_config()
    model = MateForCellSelection(config).eval()
    model.output_bias.data.fill_(0.7)
    inputs = packed(padded_tables, config)
    logits = model(**inputs)
    states = model.tapas.encode(*(inputs[n] for n in ("input_ids", "token_types", "positions", "plan")))
    tokens = (states * model.output_weights).sum(1) + 0.7
    for cell in range(inputs["cells"]):
        torch.testing.assert_close(logits[cell], tokens[inputs["cell"] == cell].mean())


def test_mean_by_cell_takes_long_and_interleaved_cells():
    values = torch.randn(3000, dtype=torch.float64, requires_grad=True)
    cell = torch.from_numpy(np.random.default_rng(0).integers(-1, 3, 3000))
    means = mean_by_group(values, cell, 4)
    assert means[3] == 0  # a cell without tokens
    for number in range(3):
        torch.testing.assert_close(means[number], values[cell == number].mean())
    means.sum().backward()
    assert not values.grad[cell == -1].any()


def test_cell_logits_stay_float32_under_autocast(small_config, padded_tables):
    config = small_config()
    model = MateForCellSelection(config).eval()
    inputs = packed(padded_tables, config)
    with torch.autocast("cpu", torch.bfloat16):
        logits = model(**inputs)
    assert logits.dtype == torch.float32
    # A number rounded to bfloat16 has zeros in its last 16 bits.
    assert (logits.detach().numpy().view(np.uint32) & 0xFFFF).any()
    torch.testing.assert_close(logits, model(**inputs), atol=0.15, rtol=0.05)


def test_dropout_falls_in_training_only(small_config, padded_tables):
    config = small_config(hidden_dropout_prob=0.2, attention_probs_dropout_prob=0.2)
    model = MateModel(config).train()
    assert not torch.equal(model(**padded_tables).last_hidden_state, model(**padded_tables).last_hidden_state)
    model.eval()
    assert torch.equal(model(**padded_tables).last_hidden_state, model(**padded_tables).last_hidden_state)


@pytest.mark.parametrize("backend", ["auto", "dense", "native", "ragged", "blocks"])
def test_attention_dropout_is_the_same_in_every_backend(small_config, padded_tables, backend):
    model = MateModel(small_config(attention_probs_dropout_prob=0.3)).train()
    states = []
    for name in ("eager", backend):
        torch.manual_seed(0)
        states.append(model(**padded_tables, backend=name).last_hidden_state)
    torch.testing.assert_close(*states, atol=1e-5, rtol=1e-4)


def test_positions_restart_in_each_cell():
    column = torch.tensor([[0, 0, 0, 1, 1, 2, 1, 1, 1, 2]])
    row = torch.tensor([[0, 0, 0, 0, 0, 0, 1, 1, 1, 1]])
    assert reset_positions(column, row, 512).tolist() == [[0, 1, 2, 0, 1, 0, 0, 1, 2, 0]]
    assert reset_positions(column, row, 2).tolist() == [[0, 1, 1, 0, 1, 0, 0, 1, 1, 0]]


def test_positions_count_down_each_column():
    column = torch.tensor([[0, 0, 0, 1, 1, 2, 1, 1, 1, 2], [0, 1, 2, 3, 1, 2, 3, 1, 2, 3]])
    row = torch.tensor([[0, 0, 0, 0, 0, 0, 1, 1, 1, 1], [0, 0, 0, 0, 1, 1, 1, 2, 2, 2]])
    expected = [[0, 1, 2, 0, 1, 0, 2, 3, 4, 1], [0, 0, 0, 0, 1, 1, 1, 2, 2, 2]]
    assert reset_positions(column, row, 512, per_column=True).tolist() == expected
    assert reset_positions(column, row, 2, per_column=True)[0].tolist() == [0, 1, 0, 0, 1, 0, 0, 1, 0, 1]


def test_positions_do_not_mix_cells_beyond_the_tables():
    """The release numbers cells column * 256 + row, so that row 256 of a column is row 0 of the next."""
    column = torch.tensor([[1, 1, 2, 2]])
    row = torch.tensor([[256, 256, 0, 0]])
    assert reset_positions(column, row, 512).tolist() == [[0, 1, 0, 1]]


def test_8192_tokens_need_no_new_weights(small_config):
    """Positions restart in each cell (paper section 3.2): 40 columns of 204 rows, one token each."""
    model = MateModel(small_config()).eval()
    types = torch.zeros(1, 8192, 7, dtype=torch.long)
    types[0, 32:, 0] = 1
    places = torch.cartesian_prod(torch.arange(204), torch.arange(1, 41))
    types[0, 32:, 2], types[0, 32:, 1] = places.T
    with torch.no_grad():
        states = model(torch.ones(1, 8192, dtype=torch.long), token_type_ids=types).last_hidden_state
    assert states.isfinite().all()


def test_indices_beyond_a_table_take_its_last_row(small_config):
    embeddings = Embeddings(small_config()).eval()
    types = torch.zeros(5, 7, dtype=torch.long)
    types[1, 2], types[2, 2], types[3, 1], types[4, 5] = 15, 300, 16, 99
    ids = torch.full((5,), 7)
    states = embeddings(ids, types, torch.zeros(5, dtype=torch.long), torch.arange(5, dtype=torch.int32))
    assert embeddings.clamped(types) == 3
    assert torch.equal(states[1], states[2])
    assert not torch.equal(states[0], states[1])
