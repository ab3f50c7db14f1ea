"""Measure the exact backends on one batch and remember the fastest in a file."""

from __future__ import annotations

import contextlib
import json
import statistics
import time
from pathlib import Path
from typing import NamedTuple

import torch
from torch import Tensor

from mate_cli.attention.backends import attend, build_plan
from mate_cli.attention.dropout import Dropout, draw_dropout
from mate_cli.attention.native.build import is_loadable
from mate_cli.attention.pattern import Pattern
from mate_cli.attention.plan import Layout, Plan
from mate_cli.system.files import write_json
from mate_cli.system.processor import processor_name
from mate_cli.system.products import processor_instructions

_ROUNDS = 5


class Trial(NamedTuple):
    """What decides the fastest backend.

    Attributes:
        layout: a typical batch.
        head_dim: width of a head.
        dtype: dtype of the attention's input; device: type of the device.
        dropout: share of attention probabilities to drop.
    """

    layout: Layout
    pattern: Pattern
    head_dim: int
    dtype: torch.dtype
    device: str
    dropout: float = 0.0


def autotune(trial: Trial, memory: Path) -> str:
    """Return the name of the exact backend that is fastest, forward and backward, for batches like the trial's.

    Args:
        memory: JSON file of earlier results. If it cannot be read or written it is ignored: measuring takes seconds.
    """
    key = _key(trial)
    results = _read(memory)
    if results.get(key) not in candidates(trial):
        seconds = measure(trial)
        results[key] = min(seconds, key=seconds.__getitem__)
        _write(memory, results)
    return results[key]


def candidates(trial: Trial) -> list[str]:
    """List the exact backends that can compute a trial."""
    by_line = "row_or_column" not in trial.pattern.kinds
    if trial.device == "cuda":
        half = trial.dtype in (torch.bfloat16, torch.float16)
        return ["dense", "flex", *(["varlen"] if half and by_line and not trial.dropout else [])]
    has_native = trial.device == "cpu" and is_loadable(trial.dtype, trial.head_dim)
    return ["dense", *(["native"] if has_native else []), *(["ragged", "blocks"] if by_line else [])]


def measure(trial: Trial) -> dict[str, float]:
    """Return the median seconds of one layer's attention by backend, in turns, so that other load slows all alike."""
    layout, pattern, heads = trial.layout, trial.pattern, trial.pattern.heads
    place, width, device = layout.place().to(trial.device), 3 * heads * trial.head_dim, torch.device(trial.device)
    qkv = torch.randn(len(place), width, dtype=trial.dtype, device=device, requires_grad=True)
    dropout = draw_dropout(trial.dropout, 1, heads, place)[0] if trial.dropout else None
    plans = {name: build_plan(layout, pattern.kinds, name).to(device) for name in candidates(trial)}
    rounds = [{name: _seconds(qkv, plan, pattern, dropout) for name, plan in plans.items()} for _ in range(1 + _ROUNDS)]
    # The first round makes masks and compiles.
    return {name: statistics.median(seconds[name] for seconds in rounds[1:]) for name in plans}


def _seconds(qkv: Tensor, plan: Plan, pattern: Pattern, dropout: Dropout | None) -> float:
    _wait(qkv)
    started = time.perf_counter()
    attend(qkv, plan, pattern, dropout).sum().backward()
    _wait(qkv)
    return time.perf_counter() - started


def _wait(tensor: Tensor) -> None:
    if tensor.is_cuda:
        torch.cuda.synchronize(tensor.device)


def _key(trial: Trial) -> str:
    """Return what decides the result; lengths count by powers of two."""
    spans = trial.layout.spans()
    tokens = int((spans[:, 1] - spans[:, 0]).mean()) if len(spans) else 0
    return ", ".join(
        [
            torch.__version__,
            _device_name(trial.device),
            "+".join(f"{group.heads} {group.kind}" for group in trial.pattern.groups),
            f"{trial.head_dim} wide",
            str(trial.dtype),
            f"2^{tokens.bit_length()} x {len(spans)}",
            *(["dropout"] if trial.dropout else []),
        ]
    )


def _device_name(device: str) -> str:
    if device == "cuda":
        return torch.cuda.get_device_name()
    return f"{processor_name()}, {processor_instructions()}, {torch.get_num_threads()} threads"


def _read(memory: Path) -> dict[str, str]:
    try:
        results = json.loads(memory.read_text())
    except (OSError, ValueError):
        return {}
    return results if isinstance(results, dict) else {}


def _write(memory: Path, results: dict[str, str]) -> None:
    with contextlib.suppress(OSError):
        memory.parent.mkdir(parents=True, exist_ok=True)
        write_json(memory, dict(sorted(results.items())))
