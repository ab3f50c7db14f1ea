"""Our pattern against the masks of the authors' code (oracle a)."""

from pathlib import Path

import numpy as np
import pytest
import torch

from mate_cli.attention import allowed

ORACLE = Path(__file__).resolve().parents[3] / "shared" / "oracles" / "a_attention_masks.npz"
pytestmark = pytest.mark.oracles


@pytest.fixture(scope="module")
def vectors():
    return np.load(ORACLE)


def real_pairs(vectors, mask, table):
    """The mask of one table over its real tokens."""
    real = vectors["input_mask"][table] == 1
    return torch.from_numpy(mask[real][:, real] == 1)


def pattern_of(vectors, table, kind):
    real = vectors["input_mask"][table] == 1
    ids = (vectors[f"{name}_ids"][table][real] for name in ("row", "column", "segment"))
    return allowed(kind, *(torch.from_numpy(x) for x in ids))


@pytest.mark.parametrize("table", range(7))
def test_row_and_column_heads(vectors, table):
    settings = vectors["settings_bucket_header"]
    (unrestricted,) = np.flatnonzero(settings[:, 0] == 0)[:1]
    for head, kind in enumerate(("row", "column")):
        mask = real_pairs(vectors, vectors[f"headwise_mask_{unrestricted}"][table, head], table)
        assert torch.equal(pattern_of(vectors, table, kind), mask)


@pytest.mark.parametrize("table", range(7))
def test_one_mask_for_all_heads(vectors, table):
    mask = real_pairs(vectors, vectors["sat_mask"][table], table)
    assert torch.equal(pattern_of(vectors, table, "row_or_column"), mask)
