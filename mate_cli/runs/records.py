"""The record of a run, read from its folder, and the list of runs.

A record is read from ``config.yaml``, ``environment.json``, ``status.json`` and ``metrics.json`` whenever it is needed.
Facts that folders of earlier versions lack are None.
"""

from __future__ import annotations

import json
import platform
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import yaml

from mate_cli.runs.find import run_folders
from mate_cli.runs.identity import Identity, config_hash, recorded_identity
from mate_cli.runs.learning_curves import learning_curves
from mate_cli.runs.provenance import code_version
from mate_cli.system.errors import UserError
from mate_cli.system.stopping import has_ended

_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

_RENAMED = {"task": {"reader": "format"}}
"""Group -> key of earlier versions -> present key."""

# The main score of a run: the first of these that its metrics have.
HEADLINES = (
    ("Hits@1", "model.all.hits@1"),
    ("EM", "model.all.exact"),
    ("ALL", "own_history.model.ALL.mean"),
    ("accuracy", "model.accuracy.mean"),
    ("accuracy", "model.all.mean"),
    ("accuracy", "model.masked tokens.mean"),
)


@dataclass(frozen=True)
class RunRecord:
    """The contents of a run folder as plain data.

    Attributes:
        config: with the present keys.
        config_hash: sha256 (hex) of the configuration in the file.
    """

    path: Path
    config: Mapping[str, Any]
    environment: Mapping[str, Any]
    status: Mapping[str, Any]
    metrics: Mapping[str, Any]
    config_hash: str

    @property
    def task(self) -> str:
        return str(self.config["task"]["name"])

    @property
    def seed(self) -> int:
        return int(self.config["seed"])

    @property
    def schedule(self) -> str:
        return str(self.config.get("schedule") or self.config["task"]["default_schedule"])

    @property
    def codes(self) -> tuple[str, ...]:
        """The versions of the code that trained the run; several if it was resumed after a change."""
        if not self.environment:
            return ()
        return (*dict.fromkeys([*self.environment.get("earlier_code", []), code_version(self.environment)]),)

    @property
    def machine(self) -> str:
        """Precision and processor, which change numbers by rounding; empty in records without them."""
        parts = (self.status.get("hardware", {}).get("precision"), self.environment.get("machine", {}).get("cpu"))
        return ", ".join(filter(None, parts))

    @property
    def state(self) -> str:
        return state_of(self.status, self.environment)

    @property
    def tokens(self) -> int | None:
        """Number of training tokens: the mean of an example, times the examples of all steps."""
        if "mean_tokens" not in self.status:
            return None
        batch = self.config["task"]["schedules"][self.schedule]["batch"]
        return round(self.status["mean_tokens"] * batch * self.status.get("step", 0))

    @property
    def flops(self) -> int | None:
        """FLOPs of the training so far (``training.cost.training_flops``)."""
        return None if self.tokens is None else self.tokens * int(self.status["flops_per_token"])

    @property
    def parents(self) -> tuple[str, ...]:
        """The runs that the training started from, the nearest first."""
        parents, origin = [], self.environment.get("origin", {})
        while "run" in origin:
            parents.append(str(origin["run"]))
            origin = origin.get("origin", {})
        return tuple(parents)

    @cached_property
    def held_out_score(self) -> float | None:
        """The best validation score; None unless the schedule holds out a part of train to validate on."""
        if not self.config["task"]["schedules"][self.schedule].get("held_out"):
            return None
        curves = learning_curves(self.path / "metrics.csv")
        return max((y for name, curve in curves.items() if name.startswith("dev_") for _, y in curve), default=None)

    @cached_property
    def identity(self) -> Identity:
        return recorded_identity(self.config, self.environment)

    @cached_property
    def columns(self) -> dict[str, str]:
        """The columns of the list of runs, also names in ``where``."""
        return {
            "name": f"{self.path.parent.name}/{self.path.name}",
            "task": self.task,
            "model": str(self.config["model"]["name"]),
            "ablation": str(self.config.get("ablation", {}).get("name", "none")),
            "backbone": str(self.config["backbone"]["name"]),
            "schedule": self.schedule,
            "seed": str(self.seed),
            "state": self.state,
            "code": " ".join(self.codes),
        }

    @property
    def headline(self) -> tuple[str, float] | None:
        """The main score, with the name of its split and measure."""
        split = self.config["task"].get("report_split", "dev")
        for name, path in HEADLINES:
            score = value_at(self.metrics, f"{split}.{path}")
            if score is not None:
                return f"{split} {name}", score
        return None

    def plain(self) -> dict[str, Any]:
        """The record for JSON."""
        facts = {name: value for name, value in self.status.items() if name not in ("state", "hardware", "time")}
        return {
            "run": str(self.path),
            **self.columns,
            "seed": self.seed,
            "state": self.state,
            "time": self.status.get("time"),
            **facts,
            "tokens": self.tokens,
            "flops": self.flops,
            "hardware": self.status.get("hardware"),
            "parents": list(self.parents),
            "config_hash": self.config_hash,
            "config": dict(self.config),
            "environment": dict(self.environment),
            "metrics": dict(self.metrics),
        }


@dataclass(frozen=True)
class BrokenRecord:
    """A run folder that cannot be read, and the reason."""

    path: Path
    reason: str


def read_runs(folder: Path) -> tuple[list[RunRecord], list[BrokenRecord]]:
    """Read the runs below a folder, by path; also return those that cannot be read."""
    runs, broken = [], []
    for path in run_folders(folder):
        try:
            runs.append(read_run(path))
        except UserError as error:
            broken.append(BrokenRecord(path, str(error)))
    return runs, broken


def read_run(path: Path) -> RunRecord:
    """Read the record of a run folder.

    Raises:
        UserError: a file is missing or broken.
    """
    config = _read(path / "config.yaml", lambda text: yaml.load(text, _LOADER), optional=False)  # noqa: S506  (the safe one, in C)
    files = ("environment.json", "status.json", "metrics.json")
    environment, status, metrics = (_read(path / name, json.loads) for name in files)
    record = RunRecord(path, upgraded(config), environment, status, metrics, config_hash(config))
    try:
        record.plain()
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise UserError(f"{path}: its records are not those of a run ({type(error).__name__}: {error})") from error
    return record


def state_of(status: Mapping[str, Any], environment: Mapping[str, Any]) -> str:
    """Return the recorded state, but ``killed`` for a running one whose process is gone from this machine."""
    state = str(status.get("state", "unknown"))
    return "killed" if state == "running" and _is_gone(environment.get("process", {})) else state


def upgraded(plain: Any) -> Any:
    """Rename the keys of an earlier version in a configuration as read from ``config.yaml``."""
    if not isinstance(plain, dict):
        return plain
    return {
        name: {_RENAMED[name].get(key, key): value for key, value in group.items()}
        if name in _RENAMED and isinstance(group, dict)
        else group
        for name, group in plain.items()
    }


def value_at(record: Mapping[str, Any], path: str) -> float | None:
    """The number under a path of keys joined by dots; None if there is none."""
    value: Any = record
    for name in path.split("."):
        value = value.get(name) if isinstance(value, Mapping) else None
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def _read(file: Path, parse: Any, optional: bool = True) -> dict[str, Any]:
    try:
        plain = parse(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        if optional:
            return {}
        raise UserError(f"{file} is missing") from None
    except (OSError, ValueError, yaml.YAMLError) as error:
        reason = (str(error) or type(error).__name__).splitlines()[0]
        raise UserError(f"{file} cannot be read: {reason}") from error
    if not isinstance(plain, dict):
        raise UserError(f"{file} is not a record: it has {type(plain).__name__} instead of keys with values")
    return plain


def _is_gone(process: Mapping[str, Any]) -> bool:
    return "pid" in process and process.get("host") == platform.node() and has_ended(int(process["pid"]))
