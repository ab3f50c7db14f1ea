"""The one rule that says whether two trainings are the same run.

Two trainings are the same if everything that decides their result is equal:

1. The settings in use. Only the schedule that the training follows counts, not its name and not the others. A key
   counts only where its variant is chosen: ``model.linformer.k`` with ``model.heads=linformer``, ``backbone.hidden``
   with ``backbone.source=random`` (``_USED_WITH``), ``task.qa`` with a kind of task that uses it (``config.kinds``).
   A missing key equals its present default, so that runs from before the key existed stay the same run. The seed
   counts.
2. The data, by content and not by path: the hash of ``runs.data``, kept in ``environment.json``. Records from before
   there was a hash have the hash of what lies at their ``data_dir`` now. If the hash of one of the two is unknown,
   because nothing lies there, ``task.format`` alone decides; if both are unknown, the resolved path decides. Examples
   that are mixed in (``task.mixed``) and the answers before (``task.qa.history``) are part of the data.
3. The weights at the start. Weights from a run, a folder (``backbone.path``) or a package count by their hash, kept in
   ``environment.json`` under ``origin``; where one of the two hashes is unknown, the resolved path or the package's
   name decides. Weights from the hub count by name.
4. ``hardware.precision``, only where it is 32: that asks for full precision. ``auto`` and ``bf16-mixed`` are equal;
   each means bfloat16 where the hardware has it, and ``status.json`` says what a run had.

Never counts: other hardware, devices, workers, micro-batches, paths, loggers, names, ``resume``, ``overwrite``, the
ablation's label (its settings count), the split that is scored at the end, the steps between checkpoints.

The rule names run folders (``runs.place``), guards ``resume=true`` (``runs.folder``), adopts records for ``mate
reproduce`` (``reproduction.ledger``), and says what differs in ``mate runs compare`` (``reporting.runs``).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from mate_cli.config.kinds import KINDS
from mate_cli.config.paths import PathsConfig, cache_folder
from mate_cli.config.plain import leaves, to_plain
from mate_cli.config.task import MADE_FORMATS, ScheduleConfig
from mate_cli.config.train import TrainConfig
from mate_cli.runs.data import folder_hash

Settings = dict[str, Any]
"""Dotted key -> value. ``schedule.lr`` is ``lr`` of the schedule in use."""

_NOT_HASHED = ("paths", "logger", "resume", "name", "overwrite", "dry_run")
_NEVER = (
    *(
        "name",
        "resume",
        "overwrite",
        "dry_run",
        "paths",
        "logger",
        "hardware",
        "ablation",
        "data_dir",
        "task.mixed.data_dir",
        "task.qa.history",
        "schedule.save_every",
    ),
    *("task.name", "task.report_split", "task.default_schedule", "task.schedules"),
    *("model.name", "backbone.name", "backbone.path"),
)
_USED_WITH: tuple[tuple[tuple[str, ...], str, tuple[Any, ...]], ...] = (
    (("model.row_ratio",), "model.heads", ("mate",)),
    (("model.linformer",), "model.heads", ("linformer",)),
    (("model.table_etc",), "model.heads", ("table_etc",)),
    (("model.etc",), "model.heads", ("etc",)),
    (("model.bucketed",), "model.attention.backend", ("bucketed",)),
    (("backbone.package",), "backbone.source", ("package", "random")),
    (("backbone.hub_id",), "backbone.source", ("hub",)),
    (("backbone.vocabulary", "backbone.hidden", "backbone.layers"), "backbone.source", ("random",)),
    (("backbone.heads", "backbone.intermediate", "backbone.max_positions"), "backbone.source", ("random",)),
    (("task.sentences",), "task.expansion", ("tfidf",)),
    (("task.queries",), "task.format", ("queries",)),  # mixed in, the hash of the data tells them
    (("task.mixed.share",), "task.mixed.format", MADE_FORMATS),
    (("task.qa.cell_select_pref", "task.qa.huber_delta"), "task.qa.aggregation", (True,)),
    (("task.qa.answer_loss_cutoff",), "task.qa.aggregation", (True,)),
)
"""Keys or groups of keys, the key that chooses their variant, and the values with which they are in use.

Several lines about a key must all hold; a key without a line is always in use. Keys that depend on the kind of task are
in ``config.kinds``.
"""
_OF_KINDS = {key for traits in KINDS.values() for key in traits.uses or ()}


@dataclass(frozen=True)
class Identity:
    """Everything that decides the result of a training.

    Attributes:
        settings: the settings in use.
        data: hash of the data's contents; None where it is unknown.
        data_dir: folder of the data as configured, resolved; None where no folder is named.
        weights: hash of the weights at the start; None where it is unknown, or the backbone's name tells.
        start: folder or run that they are from, resolved; None for other backbones.
    """

    settings: Settings
    data: str | None = None
    data_dir: str | None = None
    weights: str | None = None
    start: str | None = None

    def value(self, name: str) -> Any:
        """Return the value of a setting, in use or not, or of a field; ``start`` goes by ``backbone.path``."""
        others = {"data": self.data, "data_dir": self.data_dir, "weights": self.weights, "backbone.path": self.start}
        return others[name] if name in others else self.settings.get(name, default_settings().get(name))

    def digest(self, without: tuple[str, ...] = ()) -> str:
        """Return sha256 (hex) of the settings that are not at their default, the data, and the weights.

        Args:
            without: keys that are left out.
        """
        default = default_settings()
        changed = {name: value for name, value in self.settings.items() if value != default.get(name)}
        kept = {name: value for name, value in changed.items() if name not in without}
        parts = {"settings": kept, "data": self.data, "weights": self.weights or self.start}
        return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


def identity_of(
    plain: Mapping[str, Any], data: str | None, weights: str | None, start: str | Path | None = None
) -> Identity:
    """Return the identity of a training.

    Args:
        plain: its configuration as ``to_plain`` or a ``config.yaml`` has it, with today's keys.
        data, weights: see ``Identity``.
        start: the folder or run that it starts from, if not as ``backbone.path`` says.
    """
    backbone = plain["backbone"]
    path = start or (backbone.get("path") if backbone.get("source") in ("run", "folder") else None)
    return Identity(settings_in_use(plain), data, _resolved(plain.get("data_dir")), weights, _resolved(path))


def recorded_identity(plain: Mapping[str, Any], environment: Mapping[str, Any]) -> Identity:
    """Return the identity of a training from its records, ``config.yaml`` and ``environment.json``."""
    data, data_dir = environment.get("data"), plain.get("data_dir")
    if data is None and data_dir is not None:
        paths = PathsConfig(cache=(plain.get("paths") or {}).get("cache"))
        data = folder_hash(str(plain["task"].get("format")), str(data_dir), cache_folder(paths))
    return identity_of(plain, data, environment.get("origin", {}).get("weights"))


def differences(one: Identity, other: Identity) -> dict[str, tuple[Any, Any]]:
    """Return what differs between two trainings: dotted key -> both values; empty if they are the same run."""
    names = sorted({*one.settings, *other.settings})
    if None not in (one.data, other.data):
        names.append("data")
    elif one.data == other.data:
        names.append("data_dir")
    names.append("backbone.path" if None in (one.weights, other.weights) else "weights")
    values = {name: (one.value(name), other.value(name)) for name in names}
    return {name: (first, second) for name, (first, second) in values.items() if first != second}


def settings_in_use(plain: Mapping[str, Any]) -> Settings:
    """Return the settings that decide the result of a training, defaults included."""
    name = plain.get("schedule") or plain["task"]["default_schedule"]
    schedule = plain["task"].get("schedules", {}).get(name, {})
    values = leaves({**plain, "schedule": schedule})
    if values.get("hardware.precision") != "32":
        values.pop("hardware.precision", None)
    return {name: value for name, value in values.items() if _is_used(name, values)}


@cache
def default_settings() -> Settings:
    """Return the meaning of each key that a record lacks."""
    return leaves({**to_plain(TrainConfig()), "schedule": to_plain(ScheduleConfig())})


def config_hash(plain: Mapping[str, Any]) -> str:
    """Return sha256 (hex) of a configuration as a ``config.yaml`` has it: a label of records, not an identity."""
    hashed = {name: value for name, value in plain.items() if name not in _NOT_HASHED}
    return hashlib.sha256(json.dumps(hashed, sort_keys=True).encode()).hexdigest()


def _resolved(path: Any) -> str | None:
    return None if path is None else str(path) if "://" in str(path) else str(Path(str(path)).expanduser().resolve())


def _is_used(name: str, values: Settings) -> bool:
    if name != "hardware.precision" and any(_is_part(name, key) for key in _NEVER):
        return False
    values = default_settings() | values
    traits = KINDS.get(values["task.kind"])
    keys = [key for key in _OF_KINDS if _is_part(name, key)]
    if keys and traits is not None and traits.uses is not None and not set(keys) & set(traits.uses):
        return False
    return all(
        values.get(control) in allowed
        for keys, control, allowed in _USED_WITH
        if any(_is_part(name, key) for key in keys)
    )


def _is_part(name: str, key: str) -> bool:
    return name == key or name.startswith(f"{key}.")
