"""The memory of a training before it starts, for hardware that need not be here."""

from __future__ import annotations

import os
from dataclasses import dataclass

from rich.console import Console

from mate_cli.config.task import active_schedule
from mate_cli.config.train import TrainConfig
from mate_cli.kinds.registry import task_of
from mate_cli.models.configuration import MateConfig
from mate_cli.training.backend import check_dropout
from mate_cli.training.devices import Devices, planned_devices
from mate_cli.training.memory import LargestInputs, MemoryLine, Way, memory_line
from mate_cli.training.memory_fit import SHARE, fit_memory, inputs_of, memory_limit, refusal, widest_inputs
from mate_cli.training.rows import open_rows
from mate_cli.training.shapes import fixed_classes
from mate_cli.training.splits import encoding_options
from mate_cli.training.starting_model import encoding_model, model_config


@dataclass(frozen=True)
class MemoryPlan:
    """
    Attributes:
        limit: bytes of a device for tensors; None if its memory is unknown.
        way: the way to compute; of a refused training, the one that comes nearest, with the micro-batch asked for.
        lines: its memory without and with recompute.
        refusal: reason why nothing fits; None if the way does.
        has_data: the inputs are those of the data; otherwise the largest that the schedule allows.
    """

    config: TrainConfig
    devices: Devices
    inputs: LargestInputs
    limit: float | None
    way: Way
    lines: dict[bool, MemoryLine]
    refusal: str | None
    has_data: bool


def plan_memory(config: TrainConfig, console: Console) -> MemoryPlan:
    """Count the memory of a training, and choose what its configuration leaves open.

    The data is read, and encoded where it is not cached, if its folder is given.

    Raises:
        UserError: the batch does not divide, the data or the vocabulary is broken or missing, other mistakes.
    """
    devices, model = planned_devices(config.hardware), model_config(config)
    check_dropout(config)
    has_data = config.data_dir is not None and not config.task.traits.learns_from_corpus
    has_data |= config.task.format == "sample"
    inputs = _inputs_of_data(config, model, devices, console) if has_data else widest_inputs(config, devices)
    limit = memory_limit(config.hardware)
    if limit is None and devices.accelerator == "cpu":
        limit = SHARE * os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    fitting = fit_memory(config, model, devices, inputs, limit)
    way, reason = fitting.way, None
    lines = {tried.recompute: tried.line for tried in fitting.tried if way and tried.backend == way.backend}
    if way is None:
        assert limit is not None
        best = max(fitting.tried, key=lambda tried: tried.line.largest(limit))
        asked = min(config.hardware.micro_batch or 1, active_schedule(config).batch // devices.world_size)
        way, reason = Way(best.backend, best.recompute, asked), refusal(config, devices, inputs, limit, fitting.tried)
    for recompute in (False, True):
        if recompute not in lines:
            lines[recompute] = memory_line(config, model, devices, inputs, way.backend, recompute)
    return MemoryPlan(config, devices, inputs, limit, way, lines, reason, has_data)


def _inputs_of_data(config: TrainConfig, model: MateConfig, devices: Devices, console: Console) -> LargestInputs:
    task, schedule = task_of(config), active_schedule(config)
    vocabulary, _ = encoding_model(config.backbone, config.model, schedule.max_tokens)
    options = encoding_options(config, task, model)
    rows = open_rows(config, task, options, vocabulary, console)
    on_xla = devices.device_type == "xla"
    shapes = fixed_classes(rows, schedule.batch, 1, 1, options.max_tokens, borders=()).shapes if on_xla else ()
    return inputs_of(rows.train, options.max_tokens, shapes)
