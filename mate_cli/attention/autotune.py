"""Measure the exact backends on one batch and remember the fastest in a file."""

from __future__ import annotations

import contextlib
import json
import platform
import statistics
import time
from pathlib import Path

import torch
from torch import Tensor

from mate_cli.attention.backends import attend, build_plan
from mate_cli.attention.pattern import Pattern
from mate_cli.attention.plan import Layout, Plan
from mate_cli.system.files import write_json

_ROUNDS = 5


def autotune(layout: Layout, pattern: Pattern, head_dim: int, dtype: torch.dtype, device: str, memory: Path) -> str:
    """Return the name of the exact backend that is fastest, forward and backward, for batches like this one.

    Args:
        layout: a typical batch.
        dtype: dtype of the attention's input.
        device: type of the device.
        memory: JSON file of earlier results. If it cannot be read or written it is ignored: measuring takes seconds.
    """
    key = _key(layout, pattern, head_dim, dtype, device)
    results = _read(memory)
    if results.get(key) not in candidates(pattern, dtype, device):
        seconds = measure(layout, pattern, head_dim, dtype, device)
        results[key] = min(seconds, key=seconds.__getitem__)
        _write(memory, results)
    return results[key]


def candidates(pattern: Pattern, dtype: torch.dtype, device: str) -> list[str]:
    """List the exact backends that can compute a pattern on a device."""
    by_line = "row_or_column" not in pattern.kinds
    if device == "cuda":
        half = dtype in (torch.bfloat16, torch.float16)
        return ["dense", "flex", *(["varlen"] if half and by_line else [])]
    return ["dense", *(["ragged", "blocks"] if by_line else [])]


def measure(layout: Layout, pattern: Pattern, head_dim: int, dtype: torch.dtype, device: str) -> dict[str, float]:
    """Return the median seconds of one layer's attention by backend, in turns, so that other load slows all alike."""
    width = 3 * pattern.heads * head_dim
    qkv = torch.randn(len(layout.document), width, dtype=dtype, device=device, requires_grad=True)
    plans = {name: build_plan(layout, pattern.kinds, name).to(device) for name in candidates(pattern, dtype, device)}
    rounds = [{name: _seconds(qkv, plan, pattern) for name, plan in plans.items()} for _ in range(1 + _ROUNDS)]
    # The first round makes masks and compiles.
    return {name: statistics.median(seconds[name] for seconds in rounds[1:]) for name in plans}


def _seconds(qkv: Tensor, plan: Plan, pattern: Pattern) -> float:
    _wait(qkv)
    started = time.perf_counter()
    attend(qkv, plan, pattern).sum().backward()
    _wait(qkv)
    return time.perf_counter() - started


def _wait(tensor: Tensor) -> None:
    if tensor.is_cuda:
        torch.cuda.synchronize(tensor.device)


def _key(layout: Layout, pattern: Pattern, head_dim: int, dtype: torch.dtype, device: str) -> str:
    """Return what decides the result; lengths count by powers of two."""
    name = (
        torch.cuda.get_device_name() if device == "cuda" else f"{platform.machine()} {torch.get_num_threads()} threads"
    )
    spans = layout.spans()
    tokens = int((spans[:, 1] - spans[:, 0]).mean()) if len(spans) else 0
    groups = "+".join(f"{group.heads} {group.kind}" for group in pattern.groups)
    return ", ".join(
        [torch.__version__, name, groups, f"{head_dim} wide", str(dtype), f"2^{tokens.bit_length()} x {len(spans)}"]
    )


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
