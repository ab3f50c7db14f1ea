"""Estimate the cost of a training from a run of the same settings, else an upper limit from its configuration."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from mate_cli.config.task import active_schedule
from mate_cli.config.train import TrainConfig
from mate_cli.reproduction.ledger import Ledger
from mate_cli.reproduction.memory import planned_way
from mate_cli.reproduction.price import RECOMPUTE, SHARE_OF_PEAK, device_peaks, example_flops
from mate_cli.reproduction.steps import Step, Training
from mate_cli.system.errors import UserError
from mate_cli.tables.formats import FORMATS
from mate_cli.training.cost import seconds_on_cpu
from mate_cli.training.devices import resolve_devices
from mate_cli.training.starting_model import encoding_model

_HEADS = {".tsv": 1, ".csv": 1}
"""Lines before the first question; a file of JSON lines has none."""


@dataclass(frozen=True)
class Estimate:
    """
    Attributes:
        seconds, flops: None if unknown.
        at_most: they are limits for inputs of full length, not the cost of a run of the same settings.
        device, devices: name and number of the accelerators that the time is for, at ``SHARE_OF_PEAK``; "" and 1 for
            this machine.
    """

    seconds: float | None = None
    flops: float | None = None
    at_most: bool = False
    device: str = ""
    devices: int = 1


def estimate(step: Step, ledger: Ledger) -> Estimate:
    """Estimate the cost of a training; other steps take little time beside it and have no estimate.

    A run of the same settings gives its cost, otherwise the shape of model and schedule gives a limit: for the profile
    of ``hardware=``, which need not be here.
    """
    if not isinstance(step, Training):
        return Estimate()
    like = ledger.like(step)
    if like is not None:
        return Estimate(like.status.get("seconds"), like.flops)
    config = ledger.sized_config(step)
    try:
        flops = _most_flops(config)
        if flops is None:
            return Estimate()
        for device, number, peak in device_peaks(config.hardware):
            return Estimate(flops / (SHARE_OF_PEAK * peak), flops, True, device, number)
        devices = resolve_devices(config.hardware)
    except UserError:  # weights or devices are missing: the training reports it
        return Estimate()
    on_cpu = devices.accelerator == "cpu"
    return Estimate(_cpu_rate(devices.precision) * flops if on_cpu else None, flops, at_most=True)


def _most_flops(config: TrainConfig) -> float | None:
    """Return the FLOPs of a training on inputs of full length; None if the number of examples is unknown.

    Raises:
        UserError: the size of the encoder is unknown.
    """
    schedule = active_schedule(config)
    steps = schedule.steps
    if steps is None:
        questions = _questions(config.task.format, config.data_dir)
        if questions is None:
            return None
        steps = math.ceil((schedule.epochs or 0) * questions / schedule.batch)
    _, encoder = encoding_model(config.backbone, config.model, schedule.max_tokens)
    way = planned_way(config).way
    again = RECOMPUTE if way is not None and way.recompute else 1
    return again * example_flops(encoder, config.model, schedule.max_tokens) * steps * schedule.batch


@cache
def _questions(data_format: str, data_dir: str | None) -> int | None:
    """Estimate the number of training questions from their file alone; None if it does not tell."""
    if data_format not in FORMATS or data_dir is None:
        return None
    try:
        file = FORMATS[data_format].LAYOUT.question_file(Path(data_dir), "train")
        text = file.read_text(encoding="utf-8")
        plain = json.loads(text) if file.suffix == ".json" else text.splitlines()[_HEADS.get(file.suffix, 0) :]
    except (UserError, KeyError, OSError, ValueError):
        return None
    if isinstance(plain, dict):  # TabFact's: table -> statements, labels, caption
        return sum(len(entry[0]) for entry in plain.values())
    return len(plain)


@cache
def _cpu_rate(precision: str) -> float:
    """Return the seconds per FLOP."""
    return seconds_on_cpu(1.0, precision)
