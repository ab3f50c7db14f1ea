"""TableETC on the compiled kernel: its global tokens are what the question is to lines, its tokens are one line."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch
from torch import Tensor

from mate_cli.attention.dropout import Dropout
from mate_cli.attention.native.attend import attend_native
from mate_cli.attention.native.plan import NativePlan, Tokens, padding_of, plan_lines
from mate_cli.attention.pattern import full_pattern
from mate_cli.attention.plan import Layout


@dataclass(frozen=True)
class NativeTableEtcPlan(NativePlan):
    """Plan of the tokens and, behind them, the global tokens.

    Attributes:
        slots: int64 ``[global tokens]``, see ``mate_cli.attention.table_etc.TableEtcPlan``.
    """

    backend: ClassVar[str] = "native"
    slots: Tensor


def native_table_etc_plan(
    layout: Layout, token_globals: np.ndarray, document: np.ndarray, slots: np.ndarray, radius: int
) -> NativeTableEtcPlan:
    """Plan windows of ``radius`` tokens either way and the global tokens.

    Args:
        token_globals: ``[tokens, 2]``, see ``mate_cli.attention.table_etc.globals_of_tokens``.
        document, slots: ``[global tokens]``, by document.
    """
    inside = np.flatnonzero(layout.document >= 0)
    tokens = Tokens(
        number=np.r_[inside, len(layout.document) + np.arange(len(slots))],
        document=np.r_[layout.document[inside], document],
        line=np.r_[np.zeros(len(inside), int), np.full(len(slots), -1)],
    )
    cells = np.concatenate([token_globals, np.stack([slots, slots], axis=1)])
    group = plan_lines(tokens, len(layout.spans()), cells, radius)
    return NativeTableEtcPlan(layout.place(), ("full",), (group,), padding_of(layout), torch.from_numpy(slots))


def attend_native_table_etc(
    qkv: Tensor, relative: Tensor, plan: NativeTableEtcPlan, heads: int, dropout: float = 0.0
) -> Tensor:
    """See ``mate_cli.attention.table_etc.attend_table_etc``."""
    dropped = _draw_dropout(dropout, heads, len(qkv)) if dropout else None
    return attend_native(qkv, plan, full_pattern(heads), dropped, relative)


def _draw_dropout(rate: float, heads: int, tokens: int) -> Dropout:
    query, key = torch.randint(-(2**31), 2**31, (2, heads, tokens), dtype=torch.int32)
    return Dropout(rate, query, key)
