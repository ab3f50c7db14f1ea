"""The way that each training of a plan would compute, by the memory of its hardware, without data and devices."""

from __future__ import annotations

import json
from typing import NamedTuple

from mate_cli.config.plain import to_plain
from mate_cli.config.task import active_schedule
from mate_cli.config.train import TrainConfig
from mate_cli.system.errors import UserError
from mate_cli.training.devices import planned_devices
from mate_cli.training.memory import Way
from mate_cli.training.memory_fit import fit_memory, memory_limit, refusal, widest_inputs
from mate_cli.training.starting_model import model_config


class PlannedWay(NamedTuple):
    """
    Attributes:
        way: the way to compute; None if there is none, or the model is unknown.
        refusal: reason why the hardware cannot run the training; None if it can, or its memory is unknown.
    """

    way: Way | None = None
    refusal: str | None = None


_known: dict[str, PlannedWay] = {}


def planned_way(config: TrainConfig) -> PlannedWay:
    """Choose the way to compute a training on inputs as long as its schedule allows; counted once for equal sizes.

    Args:
        config: with the backbone that the chain of trainings starts from.
    """
    key = _sizes(config)
    if key not in _known:
        _known[key] = _planned_way(config)
    return _known[key]


def _planned_way(config: TrainConfig) -> PlannedWay:
    devices, limit = planned_devices(config.hardware), memory_limit(config.hardware)
    try:
        model = model_config(config)
    except UserError:  # weights are missing: the training reports it
        return PlannedWay()
    inputs = widest_inputs(config, devices)
    try:
        fitting = fit_memory(config, model, devices, inputs, limit)
    except UserError as error:  # the batch does not divide
        return PlannedWay(refusal=str(error))
    if fitting.way is None:
        assert limit is not None
        return PlannedWay(refusal=refusal(config, devices, inputs, limit, fitting.tried))
    return PlannedWay(fitting.way)


def _sizes(config: TrainConfig) -> str:
    """Return all that memory depends on."""
    schedule = active_schedule(config)
    sizes = (schedule.batch, schedule.max_tokens, schedule.dropout, schedule.attention_dropout, schedule.mentions)
    task = to_plain(config.task)
    parts = {name: task[name] for name in ("kind", "span", "qa", "masking")}
    groups = (to_plain(group) for group in (config.model, config.hardware, config.backbone))
    return json.dumps([sizes, parts, *groups], sort_keys=True)
