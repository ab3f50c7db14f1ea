"""The mean of the weights of several trainings of one model."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import torch

from mate_cli.encoding.tokenizer import CellTokenizer
from mate_cli.models.configuration import differing_fields, read_config
from mate_cli.models.model import MatePreTrainedModel
from mate_cli.models.weights import load_model
from mate_cli.system.errors import UserError


@torch.no_grad()
def average_with(model: MatePreTrainedModel, folder: Path, others: Sequence[Path]) -> None:
    """Give a model the mean of its weights and those of others, each with the same share.

    Trainings that began with the same weights often have a mean that is better than each of them (Wortsman et al.
    2022, "Model soups"). The mean of trainings from different weights has learned nothing.

    Args:
        model: the model of ``folder``, changed in place; others: model folders.

    Raises:
        UserError: a model cannot be read, or its sizes, task or vocabulary are not those of ``folder``.
    """
    for number, other in enumerate(others, start=2):
        _check_same(folder, other)
        for mean, added in zip(model.parameters(), load_model(other, type(model)).parameters(), strict=True):
            mean.lerp_(added, 1 / number)


def _check_same(folder: Path, other: Path) -> None:
    fields = differing_fields(read_config(folder), read_config(other))
    if CellTokenizer(other).fingerprint != CellTokenizer(folder).fingerprint:
        fields.append("vocabulary")
    if fields:
        raise UserError(
            f"average: {other} differs from {folder} in {', '.join(fields[:3])}; name runs of one task and model"
        )
