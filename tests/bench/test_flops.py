"""Counted FLOPs against the formula, and the pairs of the formula against the definition."""

from __future__ import annotations

import pytest
import torch

from mate_cli.attention import BACKENDS, allowed, build_plan
from mate_cli.attention.pattern import HeadGroup, Pattern
from mate_cli.bench.contenders import contender
from mate_cli.bench.flops import counted_flops
from mate_cli.bench.pairs import computed_pairs, kind_pairs
from mate_cli.bench.point import Point, documents, packed
from mate_cli.bench.work import make_work
from mate_cli.models import variants

NAMES = ["limit", "hf_tapas", "dense_sdpa", "tapas", "mate", "mate_dense", "mate_bucketed", "mate_rows"]
SPARSE = ["linformer", "table_etc", "etc", "bigbird", "reformer", "transformer_xl"]


def point(**changes: object) -> Point:
    plain = {"size": "tiny", "layers": 2, "layout": "grid", "length": 300, "batch": 1, "mode": "forward"}
    return Point(**{**plain, "dtype": "fp32", "device": "cpu", **changes})  # type: ignore[arg-type]


@pytest.mark.parametrize("mode", ["forward", "training"])
@pytest.mark.parametrize("name", [*NAMES, *SPARSE, "sat", "mate@eager", "mate@blocks", "mate@ragged"])
def test_the_formula_is_what_the_counter_counts(name: str, mode: str) -> None:
    work = make_work(contender(name), point(mode=mode, layout="mixed", batch=3))
    assert counted_flops(work) == pytest.approx(work.flops(), rel=0.01)


@pytest.mark.parametrize("mode", ["forward", "training"])
def test_the_formula_without_the_kernel(mode: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(variants, "is_loadable", lambda *_: False)
    work = make_work(contender("table_etc"), point(mode=mode, layout="mixed", batch=3))
    assert counted_flops(work) == pytest.approx(work.flops(), rel=0.01)


def test_the_counter_counts_a_product() -> None:
    left, right = torch.ones(3, 5), torch.ones(5, 7)
    assert counted_flops(lambda: left.mm(right).sum()) == 2 * 3 * 5 * 7


@pytest.mark.parametrize("kind", ["full", "row", "column", "row_or_column"])
def test_needed_pairs_are_those_of_the_definition(kind: str) -> None:
    tables = documents(point(layout="mixed", batch=3))
    expected = sum(
        int(allowed(kind, *(torch.from_numpy(ids) for ids in (t.row, t.column, t.segment))).sum())  # type: ignore[arg-type]
        for t in tables
    )
    assert kind_pairs(kind, packed(tables)) == expected  # type: ignore[arg-type]


@pytest.mark.parametrize("backend", BACKENDS)
def test_no_backend_computes_less_than_its_pattern_needs(backend: str) -> None:
    layout = packed(documents(point(layout="mixed", batch=3)))
    pattern = Pattern((HeadGroup("row", 2), HeadGroup("column", 1)))
    needed = 2 * kind_pairs("row", layout) + kind_pairs("column", layout)
    computed = computed_pairs(build_plan(layout, pattern.kinds, backend), pattern, layout)
    assert backend == "bucketed" or computed >= needed
    assert backend not in ("varlen", "native") or computed == needed


def test_mate_needs_a_small_part_of_the_pairs() -> None:
    layout = packed(documents(point(length=2048)))
    mate, full = (kind_pairs("row", layout) + kind_pairs("column", layout)) / 2, kind_pairs("full", layout)
    assert mate < 0.12 * full
