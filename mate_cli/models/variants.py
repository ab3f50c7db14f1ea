"""The registry of self-attentions by the name in ``MateConfig.heads``; the encoder around them is the same for all."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import nn

from mate_cli.attention import BACKENDS, PAPER_BUCKETS, Buckets, PatternPlanner, Planner
from mate_cli.attention.global_local import GlobalLocalPlanner
from mate_cli.attention.linformer import LinformerPlanner
from mate_cli.attention.lsh import LshPlanner
from mate_cli.attention.native.build import check_loadable, is_loadable
from mate_cli.attention.relative import relative_plan
from mate_cli.attention.table_etc import TableEtcPlanner
from mate_cli.config.choices import one_for_each
from mate_cli.config.model import HEADS
from mate_cli.models.configuration import MateConfig
from mate_cli.models.self_attention import (
    BigBirdAttention,
    EtcAttention,
    GlobalStates,
    LinformerAttention,
    PatternAttention,
    ReformerAttention,
    TableEtcAttention,
    TransformerXLAttention,
)
from mate_cli.system.errors import UserError

ADDED_PARAMETERS = ("seq_projection", "relative_keys", "memory")
"""Modules that variants add to TAPAS; only checkpoints of ``mate`` have them."""

_NATIVE_HEADS = ("mate", "full", "row_or_column", "table_etc")


class Variant(NamedTuple):
    """
    Attributes:
        attention: layer with ``forward(states, plan) -> states``.
        planner: makes its planner, told whether the compiled kernel works; None for ``PatternPlanner``, which
            ``config.pattern()`` and the backend define.
        memory: makes a module that gives the states of tokens appended to the batch.
    """

    attention: Callable[[MateConfig], nn.Module]
    planner: Callable[[MateConfig, bool], Planner] | None = None
    memory: Callable[[MateConfig], nn.Module] | None = None


VARIANTS = one_for_each(
    HEADS,
    {
        "mate": Variant(PatternAttention),
        "full": Variant(PatternAttention),
        "row_or_column": Variant(PatternAttention),
        "linformer": Variant(LinformerAttention, lambda config, _: LinformerPlanner(config.linformer_tokens)),
        "table_etc": Variant(
            TableEtcAttention,
            lambda config, native: TableEtcPlanner(config.table_etc_radius, config.table_etc_global_size, native),
            GlobalStates,
        ),
        # For mate bench only: mate_cli.config.model.BENCH_HEADS. BigBird's authors draw 3 random blocks for each block.
        "etc": Variant(EtcAttention, lambda config, _: GlobalLocalPlanner(config.etc_global_size)),
        "bigbird": Variant(BigBirdAttention, lambda *_: GlobalLocalPlanner(random_blocks=3)),
        "reformer": Variant(ReformerAttention, lambda *_: LshPlanner()),
        "transformer_xl": Variant(TransformerXLAttention, lambda *_: relative_plan),
    },
)


def make_planner(
    config: MateConfig,
    backend: str = "auto",
    device: str = "cpu",
    buckets: Buckets = PAPER_BUCKETS,
    low_precision: bool = False,
    dropout: bool = False,
) -> Planner:
    """Make the planner of a model's attention; ``PatternPlanner`` explains the arguments.

    Builds the kernel of ``native`` where that is chosen or may be.

    Raises:
        UserError: the backend cannot run on the device, or here.
    """
    kernel = (torch.bfloat16 if low_precision else torch.float32, config.hidden_size // config.num_attention_heads)
    native = backend == "auto" and device == "cpu" and config.heads in _NATIVE_HEADS and is_loadable(*kernel)
    planner = VARIANTS[config.heads].planner
    if planner is not None:
        return planner(config, native)
    if backend in BACKENDS and BACKENDS[backend].needs_gpu and device != "cuda":
        raise UserError(f"model.attention.backend={backend} needs a GPU, and the device is {device}; take auto")
    if device == "xla" and backend in BACKENDS and not BACKENDS[backend].fixed_shapes:
        raise UserError(f"model.attention.backend={backend} makes XLA compile again for each batch; take auto")
    if device != "cpu" and backend in BACKENDS and BACKENDS[backend].needs_cpu:
        raise UserError(f"model.attention.backend={backend} needs a CPU, and the device is {device}; take auto")
    kinds = config.pattern().kinds
    if backend == "native":
        check_loadable(*kernel)
    return PatternPlanner(kinds, backend, device, buckets, low_precision, dropout, native)
