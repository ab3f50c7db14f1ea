"""The attention backend of a run, and its batches."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from mate_cli.attention import BACKENDS, Buckets, FixedShape, Layout
from mate_cli.attention.autotune import Trial, autotune
from mate_cli.config.model import ModelConfig
from mate_cli.config.paths import cache_folder
from mate_cli.config.task import TaskConfig, active_schedule
from mate_cli.config.train import TrainConfig
from mate_cli.encoding.batch import Collator, layout_of
from mate_cli.encoding.fixed import FixedCollator
from mate_cli.models.configuration import MateConfig
from mate_cli.models.variants import make_planner
from mate_cli.system.errors import UserError
from mate_cli.training.devices import Devices
from mate_cli.training.shapes import ShapesCollator


def check_dropout(config: TrainConfig) -> None:
    """Check that the configured backend has attention dropout if the schedule asks for it.

    Raises:
        UserError: it has none.
    """
    backend, dropout = config.model.attention.backend, active_schedule(config).attention_dropout
    if dropout and backend in BACKENDS and not BACKENDS[backend].has_dropout:
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


def tuned_backend(config: TrainConfig, model: MateConfig, rows: Any, devices: Devices, micro_batch: int) -> str:
    """The fastest backend in a trial on the first encoded ``rows``; remembered in the cache folder."""
    head_dim = model.hidden_size // model.num_attention_heads
    dtype = torch.bfloat16 if devices.low_precision else torch.float32
    memory = cache_folder(config.paths) / "autotune.json"
    dropout = model.attention_probs_dropout_prob
    return autotune(
        Trial(
            typical_layout(rows, micro_batch),
            model.pattern(),
            head_dim,
            dtype,
            devices.device_type,
            dropout,
        ),
        memory,
    )


def typical_layout(rows: Any, documents: int) -> Layout:
    """Return the layout of the first encoded rows, at most ``documents``."""
    return layout_of([rows[number] for number in range(min(len(rows), documents))])


def collator_for(
    model: MateConfig,
    config: ModelConfig,
    backend: str,
    device: str,
    low_precision: bool = False,
    shapes: Sequence[FixedShape] = (),
    masked: int = 0,
) -> Collator:
    """Return the collator that makes batches for a model, with its attention plans.

    Args:
        backend: ``autotune`` means ``auto`` here; ``tuned_backend`` does the trial.
        shapes: of batches, on devices that need fixed ones; masked: most masked tokens of a document then.
    """
    buckets = Buckets(config.bucketed.global_size, config.bucketed.radius)
    backend, dropout = "auto" if backend == "autotune" else backend, model.attention_probs_dropout_prob > 0
    planner = make_planner(model, backend, device, buckets, low_precision, dropout)
    return ShapesCollator(FixedCollator(planner, shape, masked) for shape in shapes) if shapes else Collator(planner)


def most_masked(task: TaskConfig, max_tokens: int) -> int:
    """The most masked tokens of an example."""
    return max(1, round(task.masking.share * max_tokens)) if task.traits.learns_from_corpus else 0
