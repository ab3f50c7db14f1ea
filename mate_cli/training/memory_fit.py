"""The way to compute a training on given hardware: attention, recompute and micro-batch that fit its memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from mate_cli.attention import FixedShape, widest_shape
from mate_cli.attention.backends import cheapest_on_xla
from mate_cli.config.hardware import HardwareConfig
from mate_cli.config.task import active_schedule
from mate_cli.config.train import TrainConfig
from mate_cli.encoding.row_fields import row_field
from mate_cli.models.configuration import MateConfig
from mate_cli.system.errors import UserError
from mate_cli.system.memory import GIB
from mate_cli.training.devices import Devices, accumulation
from mate_cli.training.memory import LargestInputs, MemoryLine, Way, memory_line

SHARE = 0.9
"""Share of a device's memory for tensors; the rest is for the runtime, and for gaps between them."""

# Exact attention with fixed shapes for heads by lines; by the bytes they keep without attention dropout, eager first.
_ON_XLA = ("blocks", "dense", "eager")


@dataclass(frozen=True)
class Tried:
    """A backend, with or without recompute, and its memory by the micro-batch."""

    backend: str
    recompute: bool
    line: MemoryLine
    largest: int


@dataclass(frozen=True)
class MemoryFit:
    """
    Attributes:
        way: the way to compute; None if nothing fits.
        tried: what was counted on the way to it, in that order.
    """

    way: Way | None
    tried: tuple[Tried, ...]


def memory_limit(hardware: HardwareConfig) -> float | None:
    """Return the bytes of a device that tensors may take; None if its memory is unknown.

    A GPU that is here says it itself; that of processors is shared with other programs.
    """
    if hardware.memory is not None:
        return SHARE * hardware.memory * GIB
    if hardware.accelerator in ("auto", "gpu") and torch.cuda.is_available():
        return float(SHARE * torch.cuda.get_device_properties(0).total_memory)
    return None


def inputs_of(rows: Any, max_tokens: int, shapes: Sequence[FixedShape]) -> LargestInputs:
    """Return the largest inputs of encoded rows.

    Args:
        rows: training rows; a stream's are as long as ``max_tokens``.
        shapes: of batches, on devices that need fixed ones; the last holds the others.
    """
    if shapes:
        return LargestInputs(shapes[-1].tokens, shapes[-1])
    return LargestInputs(int(row_field(rows, "length").max()) if hasattr(rows, "select_columns") else max_tokens)


def widest_inputs(config: TrainConfig, devices: Devices) -> LargestInputs:
    """Return the largest inputs that a schedule allows, for a count without data."""
    tokens = active_schedule(config).max_tokens
    return LargestInputs(tokens, widest_shape(1, tokens) if devices.device_type == "xla" else None)


def fit_memory(
    config: TrainConfig, model: MateConfig, devices: Devices, inputs: LargestInputs, limit: float | None
) -> MemoryFit:
    """Choose what the configuration leaves open: the cheapest way that fits.

    On XLA devices ``auto`` takes the attention that should be fastest, or another exact one if that alone fits.
    Computing layers again costs a third more, more than another attention, so it comes last. A pass has as many
    examples as fit and divide the batch.

    Args:
        limit: bytes of a device for tensors; None: whatever is asked for fits, and nothing is counted.

    Raises:
        UserError: the batch does not divide among the devices.
    """
    hardware, schedule = config.hardware, active_schedule(config)
    asked, _ = accumulation(schedule.batch, hardware.micro_batch or schedule.batch, devices.world_size)
    share = schedule.batch // devices.world_size
    tried: list[Tried] = []
    for recompute in (False, True) if hardware.recompute is None else (hardware.recompute,):
        for backend in _backends(config, model, devices, inputs):
            if limit is None:
                return MemoryFit(Way(backend, recompute, asked), ())
            line = memory_line(config, model, devices, inputs, backend, recompute)
            largest = min(line.largest(limit), share)
            tried.append(Tried(backend, recompute, line, largest))
            if largest >= (asked if hardware.micro_batch else 1):
                micro_batch, _ = accumulation(schedule.batch, hardware.micro_batch or largest, devices.world_size)
                return MemoryFit(Way(backend, recompute, micro_batch), tuple(tried))
    return MemoryFit(None, tuple(tried))


def fitting_way(
    config: TrainConfig, model: MateConfig, devices: Devices, inputs: LargestInputs, limit: float | None
) -> Way:
    """Choose a way as ``fit_memory``.

    Raises:
        UserError: the batch does not divide among the devices, or no way fits, with the largest micro-batch that does.
    """
    fitting = fit_memory(config, model, devices, inputs, limit)
    if fitting.way is None:
        assert limit is not None
        raise UserError(refusal(config, devices, inputs, limit, fitting.tried))
    return fitting.way


def refusal(
    config: TrainConfig, devices: Devices, inputs: LargestInputs, limit: float, tried: tuple[Tried, ...]
) -> str:
    """Say in one line that a schedule does not fit, and the largest batch that does."""
    batch, hardware = active_schedule(config).batch, config.hardware
    best = max(tried, key=lambda way: way.largest)
    examples, _ = accumulation(batch, hardware.micro_batch or 1, devices.world_size)
    needed = min(way.line.at(examples).total for way in tried)
    what = f"{examples} example{'s' * (examples > 1)} of {inputs.tokens:,} tokens"
    says = (
        f"{what} on a device need {needed / GIB:.3g} GiB, and of the {limit / SHARE / GIB:.3g} GiB of "
        f"hardware={hardware.name} {limit / GIB:.3g} are for them: "
    )
    if best.largest:
        fits, _ = accumulation(batch, best.largest, devices.world_size)
        return f"{says}at most {fits} fit{'s' * (fits == 1)}; set hardware.micro_batch={fits}"
    others = [] if any(way.recompute for way in tried) else ["hardware.recompute=true"]
    if devices.device_type != "xla" and devices.world_size > 1 and devices.strategy != "fsdp":
        others.append("hardware=gpu_fsdp")
    return f"{says}not one fits; lower max_tokens, or take {', '.join([*others, 'devices with more memory'])}"


def _backends(config: TrainConfig, model: MateConfig, devices: Devices, inputs: LargestInputs) -> Iterator[str]:
    """Yield the backends that may compute, in the order of preference."""
    chosen = config.model.attention.backend
    if devices.device_type != "xla" or chosen not in ("auto", "autotune") or model.heads not in ("mate", "full"):
        yield chosen
        return
    assert inputs.shape is not None
    first = cheapest_on_xla(model.pattern().kinds, inputs.shape)
    yield first
    yield from (backend for backend in _ON_XLA if backend != first)
