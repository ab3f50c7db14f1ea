"""Run folders without a training, for tests of what is made of their records."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mate_cli.runs.folder import RunFolder


def write_run(
    path: Path,
    config: Mapping[str, Any],
    metrics: Mapping[str, Any] | None = None,
    state: str = "done",
    origin: Mapping[str, Any] | None = None,
    data: str | None = None,
    **facts: Any,
) -> RunFolder:
    """A run folder with the records of a training of ``config``, two steps long."""
    path.mkdir(parents=True)
    folder = RunFolder(path)
    folder.record_start(config, ["mate", "train"], origin or {"backbone": "tiny"}, data)
    folder.set_status(state, step=2, steps=2, mean_tokens=50.0, flops_per_token=1000, **facts)
    for split, own in (metrics or {}).items():
        folder.write_metrics(split, own)
    return folder


def hits(first: float, third: float = 0.5, fifth: float = 0.75) -> dict[str, Any]:
    """What a cell selector's evaluation keeps of a split."""
    return {"questions": 4, "model": {"all": {"questions": 4, "hits@1": first, "hits@3": third, "hits@5": fifth}}}
