"""Ablations: the runs they apply to."""

from __future__ import annotations

from dataclasses import dataclass

from mate_cli.config.kinds import KINDS
from mate_cli.config.model import HEADS
from mate_cli.config.rules import key


@dataclass
class AblationConfig:
    """What is taken away, or tried instead; the option changes keys of other groups."""

    name: str = key("none", "name of the option")
    heads: str | None = key(None, "model.heads that it is about; null: any", choices=HEADS)
    parent_heads: str | None = key(None, "model.heads that the run of backbone.path has; null: any", choices=HEADS)
    parent_kind: str | None = key(None, "task.kind that the run of backbone.path has; null: any", choices=tuple(KINDS))
