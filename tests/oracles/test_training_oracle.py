"""The objective and the optimizer against golden vectors."""

import json
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest
import torch
from torch import nn

from mate_cli.tasks.cell_selection import cell_loss
from mate_cli.tasks.grouped import log_softmax_by_group
from mate_cli.training.optimizer import BertAdamW, parameter_groups

ORACLES = Path(__file__).resolve().parents[3] / "shared" / "oracles"
pytestmark = pytest.mark.oracles


@pytest.fixture(scope="module")
def mml():
    return np.load(ORACLES / "p_mml_paper_reference_NOT_UPSTREAM.npz")


def packed_cells(mml):
    """The present cells of all examples as (logits, document, candidate, grid index)."""
    present = mml["cell_present"]
    document, grid = np.nonzero(present)
    logits = torch.tensor(mml["cell_logits_rows16_cols8"][present], requires_grad=True)
    candidate = torch.tensor(mml["cell_is_candidate"][present])
    return logits, torch.tensor(document), candidate, (document, grid)


def test_cell_softmax(mml):
    logits, document, _, place = packed_cells(mml)
    p = log_softmax_by_group(logits, document, len(mml["has_candidate"])).exp().detach()
    np.testing.assert_allclose(p, mml["cell_probs"][place], atol=1e-12)


@pytest.mark.parametrize(
    ("objective", "expected"), [("mml", "soft_em_loss_per_example"), ("hard_em", "hard_em_loss_per_example")]
)
def test_loss(mml, objective, expected):
    logits, document, candidate, _ = packed_cells(mml)
    loss, scorable = cell_loss(logits, document, candidate, len(mml["has_candidate"]), objective)
    np.testing.assert_allclose(loss.detach(), mml[expected], atol=1e-10)
    np.testing.assert_array_equal(scorable, mml["has_candidate"])


def test_mml_gradient(mml):
    logits, document, candidate, place = packed_cells(mml)
    cell_loss(logits, document, candidate, len(mml["has_candidate"]))[0].sum().backward()
    np.testing.assert_allclose(logits.grad, mml["grad_soft_em_wrt_cell_logits"][place], atol=1e-10)


class Variables(nn.Module):
    """The release's variables under names of ours that decide on weight decay alike."""

    NAMES: ClassVar = {
        "bert/x/kernel": "x_weight",
        "bert/x/bias": "x_bias",
        "bert/LayerNorm/gamma": "LayerNorm_weight",
        "output_weights": "output_weights",
        "output_bias": "output_bias",
        "bert/embeddings/word_embeddings": "word_embeddings",
        "rel/relative_bias_table": "relative_bias_table",
    }

    def __init__(self, initial):
        super().__init__()
        for upstream, ours in self.NAMES.items():
            setattr(self, ours, nn.Parameter(torch.tensor(initial[f"init/{upstream}"])))


@pytest.mark.parametrize("tag", ["plain", "clip10", "clip_small", "accum2"])
def test_optimizer_steps(tag):
    vectors = np.load(ORACLES / "k_optimizer.npz")
    meta = json.loads((ORACLES / "k_optimizer_meta.json").read_text())[tag]
    model = Variables(vectors)
    optimizer = BertAdamW(parameter_groups(model, meta["lr"], weight_decay=0.01), meta["lr"])
    update = 0
    for call in range(meta["steps"]):
        accumulate_clipped(model, vectors, f"{tag}/grad{call}/", meta)
        if (call + 1) % meta["accum"] == 0:
            # The oracle's two paths read the step before or after counting it (docs/notes.md, note 29).
            rate = release_rate(update + (meta["accum"] == 1), meta)
            take_step(model, optimizer, rate, meta["clip"])
            update += 1
        for upstream, ours in Variables.NAMES.items():
            value = getattr(model, ours).detach()
            np.testing.assert_allclose(value, vectors[f"{tag}/after{call}/{upstream}"], rtol=2e-5, atol=2e-6)


def release_rate(step, meta):
    if step < meta["warm"]:
        return meta["lr"] * step / meta["warm"]
    return meta["lr"] * (1 - step / meta["nsteps"])


def accumulate_clipped(model, vectors, prefix, meta):
    """Add one call's gradients as the release does: clipped to norm 1, divided by the number of calls."""
    gradients = {ours: torch.tensor(vectors[prefix + up]) for up, ours in Variables.NAMES.items()}
    norm = torch.sqrt(sum((g.double() ** 2).sum() for g in gradients.values()))
    for ours, gradient in gradients.items():
        parameter = getattr(model, ours)
        share = (gradient / max(norm.item(), 1.0) / meta["accum"]).float()
        parameter.grad = share if parameter.grad is None else parameter.grad + share


def take_step(model, optimizer, rate, clip):
    if clip is not None:
        nn.utils.clip_grad_value_(model.parameters(), clip)
    for group in optimizer.param_groups:
        group["lr"] = rate
    optimizer.step()
    optimizer.zero_grad()
