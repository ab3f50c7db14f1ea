"""Contenders of a bench: the models of ``conf/model`` and three references.

``limit`` is the encoder without attention, the lower bound of every sparse attention. ``hf_tapas`` is Hugging Face's
TAPAS on padded batches. ``dense_sdpa`` is full attention by PyTorch's fused kernel without a mask. All are encoders
alone, from states to states, without embeddings and heads.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple, Protocol, cast

import torch
from torch import Tensor, nn

from mate_cli.attention import BACKENDS, Buckets, Layout, Plan, Planner
from mate_cli.bench.flops import FLASH_BACKWARD, KEPT_BACKWARD, Product, sparse_products
from mate_cli.bench.pairs import COUNTED_HEADS, computed_pairs, full_pairs, needed_pairs
from mate_cli.bench.point import Point, packed
from mate_cli.config.bench import DTYPES as DTYPE_NAMES
from mate_cli.config.catalogue import typed_options
from mate_cli.config.choices import one_for_each
from mate_cli.config.model import AttentionConfig, ModelConfig
from mate_cli.config.rules import unknown_name
from mate_cli.models.configuration import MateConfig
from mate_cli.models.encoder import Encoder, Layer
from mate_cli.models.self_attention import PatternAttention
from mate_cli.models.variants import VARIANTS, make_planner
from mate_cli.runs.folder import load_run_config
from mate_cli.system.errors import UserError
from mate_cli.training.starting_model import choose_attention

DTYPES = one_for_each(DTYPE_NAMES, {"fp32": torch.float32, "bf16": torch.bfloat16})

# Attention kernels do fewer FLOPs a second than matrix products (measured at 2048 and 8192 tokens on a CPU).
_FUSED_SLOWNESS, _EAGER_SLOWNESS = 1.5, 6.0


class Inputs(NamedTuple):
    """
    Attributes:
        states: float ``[tokens, hidden]``, or padded ``[batch, tokens, hidden]``.
        argument: the encoder's second argument, a plan or a mask.
        pairs: pairs of queries and keys that a layer computes, summed over the heads; None if not counted by pairs.
        needed: pairs that the pattern needs; None like ``pairs``.
        quadratic_bytes: estimated bytes kept for pairs.
        plan_seconds: time to make ``argument``, once per batch.
        products: the matrix products besides the linear layers, if ``pairs`` is None.
    """

    states: Tensor
    argument: Any
    pairs: int | None
    needed: int | None
    quadratic_bytes: int
    plan_seconds: float
    products: Sequence[Product] = ()


class Contender(Protocol):
    """A maker of encoders and their inputs."""

    @property
    def backward(self) -> float:
        """FLOPs of the pairs in the backward pass over those in the forward pass."""
        ...

    @property
    def slowness(self) -> float:
        """Estimated time of a FLOP in the attention over that of one in a matrix product."""
        ...

    def encoder(self, point: Point) -> nn.Module: ...

    def inputs(self, point: Point, tables: list[Layout]) -> Inputs: ...


@dataclass(frozen=True)
class Model:
    """An option of ``conf/model``, or a variant without one."""

    config: ModelConfig

    @property
    def slowness(self) -> float:
        return _EAGER_SLOWNESS if self.config.attention.backend == "eager" else _FUSED_SLOWNESS

    @property
    def backward(self) -> float:
        return KEPT_BACKWARD if self.config.attention.backend == "eager" else FLASH_BACKWARD

    def encoder(self, point: Point) -> nn.Module:
        return Encoder(self._mate_config(point))

    def inputs(self, point: Point, tables: list[Layout]) -> Inputs:
        layout, config, planner = packed(tables), self._mate_config(point), self.planner(point)
        started = time.perf_counter()
        plan = planner(layout).to(point.device)
        seconds = time.perf_counter() - started
        states = _states(point, len(layout.document))
        kept = _kept_bytes(plan.backend, config, point) * full_pairs(layout)
        if config.heads not in COUNTED_HEADS:
            return Inputs(states, plan, None, None, kept, seconds, sparse_products(plan, config, point))
        pairs = computed_pairs(plan, config.pattern(), layout)
        return Inputs(states, plan, pairs, needed_pairs(config.pattern(), layout), kept, seconds)

    def planner(self, point: Point) -> Planner:
        """Make the planner, as a training does."""
        buckets = Buckets(self.config.bucketed.global_size, self.config.bucketed.radius)
        low_precision, drops = point.dtype != "fp32", point.dropout > 0
        backend = self.config.attention.backend
        return make_planner(self._mate_config(point), backend, point.device, buckets, low_precision, drops)

    def _mate_config(self, point: Point) -> MateConfig:
        config = _mate_config(point)
        choose_attention(config, self.config, point.length)
        return config


@dataclass(frozen=True)
class Limit:
    """The encoder with all of its linear layers and without attention."""

    backward: float = 0.0
    slowness: float = 0.0

    def encoder(self, point: Point) -> nn.Module:
        config = _mate_config(point)
        config.heads = "full"
        encoder = Encoder(config)
        for layer in encoder.layer:
            cast(Layer, layer).attention.self = _Values(config)
        return encoder

    def inputs(self, point: Point, tables: list[Layout]) -> Inputs:
        layout = packed(tables)
        return Inputs(_states(point, len(layout.document)), Plan(layout.place()), 0, 0, 0, 0.0)


class _Values(PatternAttention):
    """Return the values of all heads: computes query, key and value, and no attention."""

    def forward(self, states_TH: Tensor, plan: Any, dropout: Any = None) -> Tensor:
        return self.qkv(states_TH).chunk(3, dim=1)[2]


@dataclass(frozen=True)
class HuggingFaceTapas:
    """Hugging Face's TAPAS: eager attention over all pairs of the padded batch."""

    backward: float = KEPT_BACKWARD
    slowness: float = _EAGER_SLOWNESS

    def encoder(self, point: Point) -> nn.Module:
        return _Tapas(point)

    def inputs(self, point: Point, tables: list[Layout]) -> Inputs:
        started = time.perf_counter()
        lengths = torch.tensor([len(table.document) for table in tables], device=point.device)
        longest = int(lengths.max())
        is_padding = torch.arange(longest, device=point.device) >= lengths[:, None]
        dtype = DTYPES[point.dtype]
        mask = torch.zeros(is_padding.shape, dtype=dtype, device=point.device)
        mask = mask.masked_fill_(is_padding, torch.finfo(dtype).min)[:, None, None]
        seconds = time.perf_counter() - started
        pairs, heads = len(tables) * longest**2, point.dimensions.heads
        needed, states = heads * full_pairs(packed(tables)), _states(point, len(tables), longest)
        kept = _eager_bytes(point, DTYPES[point.dtype].itemsize)
        return Inputs(states, mask, heads * pairs, needed, kept * pairs, seconds)


class _Tapas(nn.Module):
    def __init__(self, point: Point) -> None:
        super().__init__()
        from transformers import TapasConfig
        from transformers.models.tapas.modeling_tapas import TapasEncoder

        hidden, heads, intermediate = point.dimensions
        config = TapasConfig(
            hidden_size=hidden,
            num_hidden_layers=point.layers,
            num_attention_heads=heads,
            intermediate_size=intermediate,
            hidden_dropout_prob=0.0,
            attention_probs_dropout_prob=point.dropout,
        )
        self.encoder = TapasEncoder(config)

    def forward(self, states: Tensor, mask: Tensor) -> Tensor:
        return cast(Tensor, self.encoder(states, attention_mask=mask).last_hidden_state)


REFERENCES: dict[str, Contender] = {
    "limit": Limit(),
    "hf_tapas": HuggingFaceTapas(),
    "dense_sdpa": Model(ModelConfig(name="dense_sdpa", heads="full", attention=AttentionConfig(backend="dense"))),
}


def contenders() -> dict[str, Contender]:
    """Return all contenders by name: references, options of ``conf/model``, variants without one."""
    options = typed_options("model", ModelConfig)
    without = set(VARIANTS) - {option.heads for option in options.values()}
    options |= {name: ModelConfig(name=name, heads=name) for name in sorted(without)}
    return REFERENCES | {name: Model(option) for name, option in options.items()}


def contender(name: str) -> Contender:
    """Return the contender of that name; ``MODEL@BACKEND`` is a model with another backend, a folder that of a run.

    Raises:
        UserError: there is no such model, run or backend.
    """
    known = contenders()
    base, at, backend = name.partition("@")
    if base in known:
        model = known[base]
    elif Path(base).is_dir():
        model = Model(load_run_config(base).model)
    else:
        raise UserError(unknown_name("model", base, ["all", *known]))
    if not at:
        return model
    if not isinstance(model, Model) or backend not in BACKENDS:
        raise UserError(f"models: {name}: {unknown_name('backend', backend, BACKENDS)}")
    return Model(replace(model.config, name=name, attention=AttentionConfig(backend=backend)))


def _mate_config(point: Point) -> MateConfig:
    hidden, heads, intermediate = point.dimensions
    return MateConfig(
        hidden_size=hidden,
        num_hidden_layers=point.layers,
        num_attention_heads=heads,
        intermediate_size=intermediate,
        attention_probs_dropout_prob=point.dropout,
    )


def _states(point: Point, *shape: int) -> Tensor:
    generator = torch.Generator().manual_seed(point.seed)
    states = torch.randn(*shape, point.dimensions.hidden, generator=generator)
    return states.to(point.device, DTYPES[point.dtype]).requires_grad_(point.is_training)


def _kept_bytes(backend: str, config: MateConfig, point: Point) -> int:
    """Return the bytes kept for each pair of tokens of a document."""
    if backend == "eager":
        return _eager_bytes(point, max(DTYPES[point.dtype].itemsize, torch.float32.itemsize))  # in fp32 at least
    if backend == "dense" and config.heads != "full":
        return len(config.pattern().groups) * (DTYPES[point.dtype].itemsize + 1)
    return 0


def _eager_bytes(point: Point, itemsize: int) -> int:
    """Count scores and probabilities of one layer at a time; training keeps the probabilities of all layers."""
    kept = 1 + point.layers if point.is_training else 2
    return kept * point.dimensions.heads * itemsize
