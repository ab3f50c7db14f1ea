"""The record of a run: all that its folder says of it, read as one thing; and the runs that there are.

Nothing is kept twice: a record is read from ``config.yaml``, ``environment.json``, ``status.json`` and ``metrics.json``
whenever it is needed. Folders of earlier versions lack facts; these are None.
"""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import yaml

from mate_cli.runs.identity import Identity, config_hash, recorded_identity
from mate_cli.runs.provenance import code_version
from mate_cli.runs.upgrade import upgraded
from mate_cli.system.errors import UserError

# What makes a folder that of a run; the folders of a pipeline's answers have neither.
_MARKS = ("config.yaml", "status.json")
_LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

# The score that stands for a run in a list, of the first kind that its metrics have.
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
    """
    Attributes:
        config, environment, status, metrics: the contents of the files of the run folder, plain data; the configuration
            has today's keys.
        config_hash: sha256 (hex) of the configuration as it is in the file.
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
        """The versions of the code that trained it; several where it went on after a change."""
        if not self.environment:
            return ()
        return (*dict.fromkeys([*self.environment.get("earlier_code", []), code_version(self.environment)]),)

    @property
    def state(self) -> str:
        """As the run recorded it, but ``killed`` where the process that runs it is gone from this machine."""
        state = str(self.status.get("state", "unknown"))
        return "killed" if state == "running" and _is_gone(self.environment.get("process", {})) else state

    @property
    def tokens(self) -> int | None:
        """Tokens that it learned from: those of an example, on average, times the examples of its steps."""
        if "mean_tokens" not in self.status:
            return None
        batch = self.config["task"]["schedules"][self.schedule]["batch"]
        return round(self.status["mean_tokens"] * batch * self.status.get("step", 0))

    @property
    def flops(self) -> int | None:
        """Of the training so far (``training.cost.training_flops``)."""
        return None if self.tokens is None else self.tokens * int(self.status["flops_per_token"])

    @property
    def parents(self) -> tuple[str, ...]:
        """The runs that it started from, the nearest first."""
        found, origin = [], self.environment.get("origin", {})
        while "run" in origin:
            found.append(str(origin["run"]))
            origin = origin.get("origin", {})
        return tuple(found)

    @cached_property
    def identity(self) -> Identity:
        return recorded_identity(self.config, self.environment)

    @cached_property
    def columns(self) -> dict[str, str]:
        """What runs are listed and chosen by."""
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
        """The split and measure that stand for the run, and the score."""
        split = self.config["task"].get("report_split", "dev")
        for name, path in HEADLINES:
            score = value_at(self.metrics, f"{split}.{path}")
            if score is not None:
                return f"{split} {name}", score
        return None

    def plain(self) -> dict[str, Any]:
        """The whole record, for JSON."""
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
    """A run folder that cannot be read, and why."""

    path: Path
    reason: str


def read_runs(folder: Path) -> tuple[list[RunRecord], list[BrokenRecord]]:
    """The runs below a folder, by path; those that cannot be read are named beside them."""
    runs, broken = [], []
    for path in run_folders(folder):
        try:
            runs.append(read_run(path))
        except UserError as error:
            broken.append(BrokenRecord(path, str(error)))
    return runs, broken


def run_folders(folder: Path) -> Iterator[Path]:
    """Every run folder below, in order; what lies inside one, or behind a link, is no run."""
    for root, names, files in os.walk(folder):
        if any(mark in files for mark in _MARKS):
            yield Path(root)
            names.clear()
        names.sort()


def is_run_folder(path: Path) -> bool:
    return any((path / mark).is_file() for mark in _MARKS)


def read_run(path: Path) -> RunRecord:
    """The record of one run folder.

    Raises:
        UserError: a file is missing or is not what a run writes.
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


def value_at(record: Mapping[str, Any], path: str) -> float | None:
    """The number under keys joined by dots; None where there is none."""
    found: Any = record
    for name in path.split("."):
        found = found.get(name) if isinstance(found, Mapping) else None
    return float(found) if isinstance(found, int | float) and not isinstance(found, bool) else None


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
        raise UserError(f"{file} holds no record: {type(plain).__name__} where keys with values should be")
    return plain


def _is_gone(process: Mapping[str, Any]) -> bool:
    if "pid" not in process or process.get("host") != platform.node():
        return False
    try:
        os.kill(int(process["pid"]), 0)
    except ProcessLookupError:
        return True
    except PermissionError:
        pass
    return False
