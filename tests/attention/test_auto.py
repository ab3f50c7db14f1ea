"""The backend that `auto` takes for a batch."""

import numpy as np
import pytest

from mate_cli.attention import PatternPlanner, build_plan
from tests.attention.layouts import document, layout


@pytest.mark.parametrize(
    ("kinds", "rows", "backend"),
    [
        (("row", "column"), 2, "dense"),
        (("row", "column"), 200, "ragged"),
        (("full",), 2, "ragged"),
        (("full", "row_or_column"), 200, "dense"),
    ],
)
def test_auto_takes_ragged_for_large_tables(kinds, rows, backend):
    batch = layout([document(20, True, rows, 6, np.random.default_rng(0))], [0])
    assert build_plan(batch, kinds).backend == backend
    assert build_plan(batch, kinds, device="xla").backend == ("dense" if "row_or_column" in kinds else "blocks")


@pytest.mark.parametrize(
    ("kinds", "rows", "low_precision", "dropout", "backend"),
    [
        (("row", "column"), 20, True, False, "dense"),
        (("row", "column"), 200, True, False, "varlen"),
        (("row", "column"), 200, True, True, "flex"),
        (("row", "column"), 200, False, False, "flex"),
        (("row_or_column",), 200, True, False, "flex"),
        (("full",), 200, True, False, "dense"),
    ],
)
def test_auto_on_cuda(kinds, rows, low_precision, dropout, backend):
    batch = layout([document(20, True, rows, 6, np.random.default_rng(0))], [0])
    planner = PatternPlanner(kinds, device="cuda", low_precision=low_precision, dropout=dropout)
    assert planner(batch).backend == backend
