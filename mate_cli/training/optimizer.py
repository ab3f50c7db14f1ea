"""The optimizer and learning-rate schedule of BERT (checklist 36, 121; spec-upstream 6.4)."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection
from typing import Any

import torch
from torch import Tensor, nn

_NO_DECAY = ("bias", "LayerNorm")
# Far enough along that 1 - beta ** step is 1 to the last digit: Adam without bias correction.
_LATE_STEP = 1e6


class BertAdamW(torch.optim.AdamW):
    """Adam as BERT has it: no bias correction, epsilon 1e-6, weight decay decoupled from the gradient.

    It is torch's AdamW (with its fused kernel) told from the start that the bias has died out, which leaves
    ``p -= lr * (m / (sqrt(v) + eps) + decay * p)``. The price: steps are longer than ``lr`` says, six times at
    step 30 and twice at step 300. BERT's long warm-up hides it; a run of a few hundred steps is thrown off
    the pretrained weights by it and needs ``bias_correction``.
    """

    def __init__(self, groups: list[dict[str, Any]], lr: float, bias_correction: bool = False) -> None:
        fused = all(p.device.type in ("cpu", "cuda") for group in groups for p in group["params"])
        super().__init__(groups, lr=lr, betas=(0.9, 0.999), eps=1e-6, fused=fused)
        first_step = 0.0 if bias_correction else _LATE_STEP
        # Fused kernels read all of it on their device. Elsewhere reading the step there would make that wait; and XLA
        # keeps but one of equal tensors that it makes itself, so that the first step would be a program of its own.
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
        new: names of parameters that no checkpoint filled; they learn at ``new_lr`` where that is given.
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
    """The factor on the peak learning rate at each step: a linear warm-up, then a decay.

    The N warm-up steps rise from 1/N to 1, where Hugging Face's start at 0. ``linear`` has run since the first step
    when the warm-up ends, as in BERT's release: the factor falls from ``1 - warmup`` to 0. ``cosine`` falls from 1 to 0
    along half a cosine, as Hugging Face's; ``constant`` stays at 1.

    Args:
        steps: optimizer steps of the whole run; warmup: their share that warms up.
        decay: one of ``mate_cli.config.task.DECAYS``.
    """
    warmup_steps = int(steps * warmup)

    def factor(step: int) -> float:
        if step < warmup_steps:
            return (step + 1) / warmup_steps
        if decay == "constant":
            return 1.0
        if decay == "cosine":
            done = (step - warmup_steps) / max(1, steps - warmup_steps)
            return 0.5 * (1.0 + math.cos(math.pi * done))
        return max(0.0, 1.0 - step / steps)

    return factor
