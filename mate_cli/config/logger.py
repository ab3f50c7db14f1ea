"""Where training curves go."""

from __future__ import annotations

from dataclasses import dataclass

from omegaconf import MISSING

from mate_cli.config.rules import key

LOGGERS = ("csv", "tensorboard", "wandb")


@dataclass
class LoggerConfig:
    """Where the curves go (metrics.csv is always written)."""

    name: str = key(MISSING, "name of the option", choices=LOGGERS)
    project: str = key("mate", "wandb: name of the project", text=True)
    group: str | None = key(None, "wandb: group of runs; null: those that differ by nothing but the seed", text=True)
