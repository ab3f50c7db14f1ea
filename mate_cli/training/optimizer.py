"""The optimizer and learning-rate schedule of BERT (paper appendix A.2; docs/notes.md, note 29)."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection
from typing import Any

import torch
from torch import Tensor, nn

from mate_cli.config.choices import one_for_each
from mate_cli.config.task import DECAYS

_NO_DECAY = ("bias", "LayerNorm")
# So late that 1 - beta ** step rounds to 1, which turns bias correction off.
_LATE_STEP = 1e6


class BertAdamW(torch.optim.AdamW):
    """BERT's Adam: no bias correction, epsilon 1e-6, decoupled weight decay.

    The update is ``p -= lr * (m / (sqrt(v) + eps) + decay * p)``, computed by torch's AdamW (with its fused kernel)
    that starts at a late step. Without bias correction early updates are too large: six times at step 30, twice at
    step 300. BERT's long warm-up hides it; runs of a few hundred steps lose the pre-trained weights and need
    ``bias_correction``.
    """

    def __init__(self, groups: list[dict[str, Any]], lr: float, bias_correction: bool = False) -> None:
        fused = all(p.device.type in ("cpu", "cuda") for group in groups for p in group["params"])
        super().__init__(groups, lr=lr, betas=(0.9, 0.999), eps=1e-6, fused=fused)
        first_step = 0.0 if bias_correction else _LATE_STEP
        # Fused kernels read the step on their device; elsewhere reading it there would block. The moments are made on
        # the CPU for XLA, which would merge equal tensors and compile another program for the first step.
        device = None if fused else "cpu"
        for group in self.param_groups:
            for parameter in group["params"]:
                self.state[parameter] = {
                    "step": torch.tensor(first_step, device=device or parameter.device),
                    "exp_avg": torch.zeros_like(parameter, device=device).to(parameter.device),
                    "exp_avg_sq": torch.zeros_like(parameter, device=device).to(parameter.device),
                }


def parameter_groups(
    model: nn.Module, lr: float, weight_decay: float, new: Collection[str] = (), new_lr: float | None = None
) -> list[dict[str, Any]]:
    """Split the parameters by weight decay (none for biases and LayerNorm) and learning rate.

    Args:
        new: names of parameters without pre-trained values; they learn at ``new_lr`` if that is given.
    """
    groups: dict[tuple[float, float], list[Tensor]] = {}
    for name, parameter in model.named_parameters():
        if not parameter.requires_grad:
            continue
        decay = 0.0 if any(part in name for part in _NO_DECAY) else weight_decay
        rate = new_lr if new_lr is not None and name in new else lr
        groups.setdefault((decay, rate), []).append(parameter)
    return [{"params": params, "weight_decay": decay, "lr": rate} for (decay, rate), params in groups.items()]


def rate_factor(steps: int, warmup: float, decay: str = "linear") -> Callable[[int], float]:
    """Return the factor on the peak learning rate as a function of the step: a linear warm-up, then a decay.

    The warm-up of N steps rises from 1/N to 1; Hugging Face's starts at 0. ``linear`` counts from the first step, as in
    BERT's release: after the warm-up the factor falls from ``1 - warmup`` to 0. ``cosine`` falls from 1 to 0 along half
    a cosine, as in Hugging Face; ``constant`` stays at 1.

    Args:
        steps: optimizer steps of the whole run; warmup: share of them.
        decay: one of ``mate_cli.config.task.DECAYS``.
    """
    warmup_steps = int(steps * warmup)

    def factor(step: int) -> float:
        if step < warmup_steps:
            return (step + 1) / warmup_steps
        return _DECAYS[decay](step, warmup_steps, steps)

    return factor


# From the step, the steps of the warm-up and those of the whole run.
_DECAYS: dict[str, Callable[[int, int, int], float]] = one_for_each(
    DECAYS,
    {
        "linear": lambda step, warmup, steps: max(0.0, 1.0 - step / steps),
        "cosine": lambda step, warmup, steps: (
            0.5 * (1 + math.cos(math.pi * ((step - warmup) / max(1, steps - warmup))))
        ),
        "constant": lambda step, warmup, steps: 1.0,
    },
)
