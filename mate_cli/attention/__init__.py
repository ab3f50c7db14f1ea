"""Attention over packed batches of tables: patterns, plans (one per batch) and one module per backend."""

from __future__ import annotations

from mate_cli.attention.backends import BACKENDS, PatternPlanner, Planner, attend, build_plan
from mate_cli.attention.bucketed import PAPER_BUCKETS, Buckets
from mate_cli.attention.pattern import HeadGroup, Kind, Pattern, allowed, full_pattern, mate_pattern
from mate_cli.attention.plan import FILLER, FixedShape, Layout, Plan, widest_shape

__all__ = [
    "BACKENDS",
    "FILLER",
    "PAPER_BUCKETS",
    "Buckets",
    "FixedShape",
    "HeadGroup",
    "Kind",
    "Layout",
    "Pattern",
    "PatternPlanner",
    "Plan",
    "Planner",
    "allowed",
    "attend",
    "build_plan",
    "full_pattern",
    "mate_pattern",
    "widest_shape",
]
