"""Estimate the cost of a training from a run of the same settings, else an upper limit from its configuration."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from mate_cli.config.task import active_schedule
from mate_cli.config.train import TrainConfig
from mate_cli.models.configuration import MateConfig, read_config
from mate_cli.reproduction.ledger import Ledger
from mate_cli.reproduction.steps import Step, Training
from mate_cli.system.errors import UserError
from mate_cli.tables.formats import FORMATS
from mate_cli.training.cost import seconds_on_cpu
from mate_cli.training.devices import resolve_devices
from mate_cli.training.starting_model import encoding_model, weights_folder


@dataclass(frozen=True)
class Estimate:
    """
    Attributes:
        seconds, flops: None if unknown.
        at_most: they are limits for inputs of full length, not the cost of a run of the same settings.
    """

    seconds: float | None = None
    flops: float | None = None
    at_most: bool = False


def estimate(step: Step, ledger: Ledger) -> Estimate:
    """Estimate the cost of a training; other steps take little time beside it and have no estimate."""
    if not isinstance(step, Training):
        return Estimate()
    like = ledger.like(step)
    if like is not None:
        return Estimate(like.status.get("seconds"), like.flops)
    config = ledger.training_config(step)
    first = step
    while first.parent is not None:
        first = first.parent
    try:
        flops = _most_flops(config, ledger.training_config(first))
        devices = resolve_devices(config.hardware)
    except UserError:  # weights or devices are missing: the training reports it
        return Estimate()
    if flops is None or devices.accelerator != "cpu":
        return Estimate(None, flops, at_most=True)
    return Estimate(_cpu_rate(devices.precision) * flops, flops, at_most=True)


def _most_flops(config: TrainConfig, first: TrainConfig) -> float | None:
    """Return the FLOPs of a training on inputs of full length; None if the number of examples is unknown.

    Args:
        first: first training of the chain, whose backbone is the encoder of all.

    Raises:
        UserError: the weights are missing.
    """
    schedule, backbone = active_schedule(config), first.backbone
    if backbone.source == "random":
        encoder = encoding_model(backbone, config.model, schedule.max_tokens)[1]
    else:
        encoder = read_config(weights_folder(backbone))
    steps = schedule.steps
    if steps is None:
        questions = _questions(config.task.format, config.data_dir)
        steps = None if questions is None else math.ceil((schedule.epochs or 0) * questions / schedule.batch)
    return None if steps is None else float(_flops_per_token(encoder)) * steps * schedule.batch * schedule.max_tokens


def _flops_per_token(encoder: MateConfig) -> int:
    """Count 6 FLOPs for each weight of the encoder's linear layers (``training.cost.training_flops``), not heads."""
    width = encoder.hidden_size
    layer = 4 * width**2 + 2 * width * encoder.intermediate_size
    return 6 * (encoder.num_hidden_layers * layer + width**2)


@cache
def _questions(data_format: str, data_dir: str | None) -> int | None:
    """Estimate the number of training questions from their file alone; None if it does not tell."""
    if data_format not in FORMATS or data_dir is None:
        return None
    try:
        file = FORMATS[data_format].LAYOUT.question_file(Path(data_dir), "train")
        text = file.read_text(encoding="utf-8")
        plain = json.loads(text) if file.suffix == ".json" else text.splitlines()[1:]
    except (UserError, KeyError, OSError, ValueError):
        return None
    if isinstance(plain, dict):  # TabFact's: table -> statements, labels, caption
        return sum(len(entry[0]) for entry in plain.values())
    return len(plain)


@cache
def _cpu_rate(precision: str) -> float:
    """Return the seconds per FLOP."""
    return seconds_on_cpu(1.0, precision)
