"""The price of a training by its shape alone: FLOPs, and the time they take at a share of a device's peak.

Inputs are as long as the schedule allows, on a table of six columns, with exact attention; embeddings, heads and the
optimizer are left out. No weights, data or devices are needed.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass

from mate_cli.bench.flops import FLASH_BACKWARD, PEAKS, attention_flops, linear_flops, sparse_products
from mate_cli.bench.pairs import COUNTED_HEADS, full_pairs, needed_pairs
from mate_cli.bench.point import SIZES, Point, Size, documents, packed
from mate_cli.config.hardware import HardwareConfig
from mate_cli.config.model import ModelConfig
from mate_cli.models.configuration import MateConfig
from mate_cli.models.variants import make_planner
from mate_cli.training.devices import GPUS_OF_A_MACHINE
from mate_cli.training.starting_model import choose_attention

# An assumption. The times that the paper states (appendix) come to 23% to 51% of the peak of its 32 TPU v3 cores.
SHARE_OF_PEAK = 0.3
RECOMPUTE = 4 / 3
"""Work of a step that computes its layers again for the backward pass: one forward pass more, a third."""

_GPUS = ("A100", "H100")


@dataclass(frozen=True)
class _Example(Point):
    """A training example for an encoder of any size."""

    dimensions: Size = SIZES["large"]


def example_flops(encoder: MateConfig, model: ModelConfig, tokens: int, full: bool = False) -> float:
    """Count the FLOPs of a training example, forward and backward.

    Args:
        encoder: gives the size, ``model`` the attention.
        full: count full attention in place of the model's.
    """
    size = Size(encoder.hidden_size, encoder.num_attention_heads, encoder.intermediate_size)
    example = _Example("", encoder.num_hidden_layers, "grid", tokens, 1, "training", "bf16", "cpu", dimensions=size)
    layout, chosen = packed(documents(example)), copy(encoder)
    choose_attention(chosen, model, tokens)
    if full:
        attention = attention_flops(example, size.heads * full_pairs(layout), FLASH_BACKWARD)
    elif chosen.heads in COUNTED_HEADS:
        attention = attention_flops(example, needed_pairs(chosen.pattern(), layout), FLASH_BACKWARD)
    else:
        products = sparse_products(make_planner(chosen, "auto", "cpu")(layout), chosen, example)
        attention = sum(product.forward * (1 + product.backward) for product in products)
    return linear_flops(example, tokens) + attention


def device_peaks(hardware: HardwareConfig) -> Sequence[tuple[str, int, float]]:
    """Return name, number and total FLOP/s in bf16 of a profile's devices; of several GPUs for a GPU profile.

    Empty for processors and for chips without a data sheet here, as a profile of your own may name them.
    """
    if hardware.accelerator == "gpu":
        number = (hardware.devices or GPUS_OF_A_MACHINE) * hardware.nodes
        return [(gpu, number, number * PEAKS[gpu, "bf16"]) for gpu in _GPUS]
    if hardware.accelerator == "tpu":
        chip, number = f"TPU {hardware.name.partition('_')[2].split('_')[0]}", (hardware.devices or 1) * hardware.nodes
        peak = PEAKS.get((chip, "bf16"))
        return [] if peak is None else [(chip, number, number * peak)]
    return []
