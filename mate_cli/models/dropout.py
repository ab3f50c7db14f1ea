"""Dropout of hidden states."""

from __future__ import annotations

from torch import Tensor, nn
from torch.nn import functional as F

from mate_cli.attention.dropout import drop_features


class FeatureDropout(nn.Module):
    """Drop features of the tokens in training; the same ones on every device but CUDA, which has its own kernel."""

    def __init__(self, rate: float) -> None:
        super().__init__()
        self.rate = rate

    def forward(self, states_TH: Tensor, place_T: Tensor) -> Tensor:
        if not (self.training and self.rate):
            return states_TH
        if states_TH.device.type == "cuda":
            return F.dropout(states_TH, self.rate)
        return drop_features(states_TH, place_T, self.rate)

    def extra_repr(self) -> str:
        return f"rate={self.rate}"
