"""Which settings make a run: its name, and whether two runs are the same."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from mate_cli.config.plain import to_plain
from mate_cli.config.train import TrainConfig

# Keys that decide where a run is written and how it is told, not what comes out.
NOT_HASHED = ("paths", "logger", "resume", "name", "overwrite")


# Settings that say where and how a run is carried out, not what it computes.
_CIRCUMSTANCES = {"resume", "overwrite", "paths", "logger", "name"}


def run_path(config: TrainConfig) -> Path:
    """The run folder: ``name``, or else model, ablation, backbone, seed and a hash of all that changes the result."""
    parts = [*_choices(config), f"s{config.seed}", config_hash(config)[:8]]
    return Path(config.paths.runs) / config.task.name / (config.name or "-".join(parts))


def run_group(config: TrainConfig) -> str:
    """A name for all runs that differ by nothing but the seed."""
    return "-".join([config.task.name, *_choices(config), config_hash(replace(config, seed=0))[:8]])


def _choices(config: TrainConfig) -> list[str]:
    ablation = [] if config.ablation.name == "none" else [config.ablation.name]
    return [config.model.name, *ablation, config.backbone.name]


def config_hash(config: TrainConfig) -> str:
    """sha256 (hex) of what decides a run's result: everything but where it is written and how it is told."""
    return plain_hash(to_plain(config))


def plain_hash(plain: Mapping[str, Any]) -> str:
    """``config_hash`` of a configuration as ``to_plain`` or a run's ``config.yaml`` has it."""
    hashed = {name: value for name, value in plain.items() if name not in NOT_HASHED}
    return hashlib.sha256(json.dumps(hashed, sort_keys=True).encode()).hexdigest()


def differences(stored: Any, current: Any, key: str = "") -> list[str]:
    """Dotted keys whose values differ between two plain configurations."""
    if key in _CIRCUMSTANCES or (key.startswith("hardware.") and key != "hardware.precision"):
        return []
    if isinstance(stored, dict) and isinstance(current, Mapping):
        found: list[str] = []
        for name in {*stored, *current}:
            found += differences(stored.get(name), current.get(name), f"{key}.{name}" if key else name)
        return found
    return [] if stored == current else [key]
