"""Which attention backend a run computes with, and the batches that go with it."""

from __future__ import annotations

from typing import Any

import torch

from mate_cli.attention import BACKENDS, Buckets, FixedShape
from mate_cli.attention.autotune import autotune
from mate_cli.config.model import ModelConfig
from mate_cli.config.paths import cache_folder
from mate_cli.config.task import active_schedule
from mate_cli.config.train import TrainConfig
from mate_cli.encoding.batch import Collator, layout_of
from mate_cli.encoding.fixed import FixedCollator
from mate_cli.models.configuration import MateConfig
from mate_cli.models.variants import make_planner
from mate_cli.system.errors import UserError
from mate_cli.training.devices import Devices


def training_backend(config: TrainConfig, device: str) -> str:
    """The backend of training as configured, but ``eager`` where ``auto`` must drop attention weights.

    On XLA ``auto`` needs no other: what it takes there can drop them.

    Raises:
        UserError: the schedule asks for dropout on attention weights, and the backend has none.
    """
    backend, dropout = config.model.attention.backend, active_schedule(config).attention_dropout
    is_chosen_later = backend in ("auto", "autotune")
    if not dropout or (device == "xla" and is_chosen_later):
        return backend
    if is_chosen_later:
        return "eager"
    if BACKENDS[backend].has_dropout:
        return backend
    raise UserError(
        f"model.attention.backend={backend} has no attention dropout, and the schedule asks for {dropout}; "
        "take auto, or set the schedule's attention_dropout to 0"
    )


def inference_backend(config: ModelConfig) -> str:
    """The backend of a trained model: ``auto``, but ``bucketed`` where that approximation is part of the model.

    The exact backends give the same result, so the one of training does not matter; it may need a device that is not
    here.
    """
    return "bucketed" if config.attention.backend == "bucketed" else "auto"


def tuned_backend(config: TrainConfig, model: MateConfig, rows: Any, devices: Devices) -> str:
    """The backend that a trial on the first of the encoded ``rows`` finds fastest; remembered in the cache folder."""
    typical = [rows[number] for number in range(min(len(rows), config.hardware.micro_batch))]
    head_dim = model.hidden_size // model.num_attention_heads
    dtype = torch.bfloat16 if devices.low_precision else torch.float32
    memory = cache_folder(config.paths) / "autotune.json"
    return autotune(layout_of(typical), model.pattern(), head_dim, dtype, devices.device_type, memory)


def collator_for(
    model: MateConfig,
    config: ModelConfig,
    backend: str,
    device: str,
    low_precision: bool = False,
    shape: FixedShape | None = None,
    masked: int = 0,
) -> Collator:
    """What makes batches for a model, with the plans of its attention; ``autotune`` without a trial is ``auto``.

    Args:
        shape: of all batches, where the device asks for one.
        masked: how many masked tokens a document has at most, where there is a shape.
    """
    buckets = Buckets(config.bucketed.global_size, config.bucketed.radius)
    chosen = "auto" if backend == "autotune" else backend
    planner = make_planner(model, chosen, device, buckets, low_precision)
    return Collator(planner) if shape is None else FixedCollator(planner, shape, masked)
