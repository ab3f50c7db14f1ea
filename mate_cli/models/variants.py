"""The kinds of self-attention by the name in ``MateConfig.heads``, each with the planner of its batches.

A variant is an attention class with ``forward(states, plan) -> states`` and the function that makes its planner;
the encoder around it is the same for all.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from torch import nn

from mate_cli.attention import BACKENDS, PAPER_BUCKETS, Buckets, PatternPlanner, Planner
from mate_cli.attention.global_local import GlobalLocalPlanner
from mate_cli.attention.linformer import LinformerPlanner
from mate_cli.attention.lsh import LshPlanner
from mate_cli.attention.relative import relative_plan
from mate_cli.attention.table_etc import TableEtcPlanner
from mate_cli.models.bigbird import RANDOM_BLOCKS, BigBirdAttention
from mate_cli.models.configuration import MateConfig
from mate_cli.models.etc import EtcAttention
from mate_cli.models.linformer import LinformerAttention
from mate_cli.models.pattern_attention import PatternAttention
from mate_cli.models.reformer import ReformerAttention
from mate_cli.models.table_etc import GlobalStates, TableEtcAttention
from mate_cli.models.transformer_xl import TransformerXLAttention
from mate_cli.system.errors import UserError

ADDED_PARAMETERS = ("seq_projection", "relative_keys", "memory")
"""Modules that variants have and TAPAS has not: no checkpoint but our own can fill them."""


class Variant(NamedTuple):
    """
    Attributes:
        planner: ``planner(config, backend, device, buckets, low_precision)``, see ``PatternPlanner``; variants of
            their own pattern ignore all but the first.
        memory: makes what gives the states of tokens that the encoder has behind those of the batch.
    """

    attention: Callable[[MateConfig], nn.Module]
    planner: Callable[[MateConfig, str, str, Buckets, bool], Planner]
    memory: Callable[[MateConfig], nn.Module] | None = None


def _by_pattern(config: MateConfig, backend: str, device: str, buckets: Buckets, low_precision: bool) -> Planner:
    if backend in BACKENDS and BACKENDS[backend].needs_gpu and device != "cuda":
        raise UserError(f"model.attention.backend={backend} needs a GPU, and this is {device}; take auto")
    if device == "xla" and backend in BACKENDS and not BACKENDS[backend].fixed_shapes:
        raise UserError(f"model.attention.backend={backend} makes xla compile anew for each batch; take auto")
    return PatternPlanner(config.pattern().kinds, backend, device, buckets, low_precision)


def _table_etc(config: MateConfig, *_: object) -> Planner:
    return TableEtcPlanner(config.table_etc_radius, config.table_etc_global_size)


VARIANTS: dict[str, Variant] = {
    "mate": Variant(PatternAttention, _by_pattern),
    "full": Variant(PatternAttention, _by_pattern),
    "row_or_column": Variant(PatternAttention, _by_pattern),
    "linformer": Variant(LinformerAttention, lambda config, *_: LinformerPlanner(config.linformer_tokens)),
    "table_etc": Variant(TableEtcAttention, _table_etc, GlobalStates),
    # For mate bench only: mate_cli.config.model.BENCH_HEADS.
    "etc": Variant(EtcAttention, lambda config, *_: GlobalLocalPlanner(config.etc_global_size)),
    "bigbird": Variant(BigBirdAttention, lambda *_: GlobalLocalPlanner(random_blocks=RANDOM_BLOCKS)),
    "reformer": Variant(ReformerAttention, lambda *_: LshPlanner()),
    "transformer_xl": Variant(TransformerXLAttention, lambda *_: relative_plan),
}


def make_planner(
    config: MateConfig,
    backend: str = "auto",
    device: str = "cpu",
    buckets: Buckets = PAPER_BUCKETS,
    low_precision: bool = False,
) -> Planner:
    """What turns the layout of a batch into the plan that the model's attention takes.

    Args:
        backend: a key of ``mate_cli.attention.BACKENDS``, or ``auto``.
        device: type of the device that will compute.
        buckets: global size and radius of ``bucketed``.
        low_precision: whether the model computes in bfloat16 or float16.

    Raises:
        UserError: the backend cannot run on the device.
    """
    return VARIANTS[config.heads].planner(config, backend, device, buckets, low_precision)
