"""Which of the runs that there are is the training that a table asks for, whoever started it and however it is called.

Two trainings are the same where all that decides their result is: task, model, weights to start from, data, seed, and
what the schedule says, but not its name, the hardware, or how the run is told. Of folders of earlier versions, keys
that they lack count as today's defaults.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from mate_cli.config.plain import leaves, to_plain
from mate_cli.config.task import ScheduleConfig
from mate_cli.config.train import TrainConfig
from mate_cli.runs.folder import RunFolder
from mate_cli.runs.records import RunRecord
from mate_cli.system.files import content_hash

Settings = dict[str, Any]

# Names, and what neither the weights nor the scores depend on.
_IGNORED = (
    "task.name",
    "task.default_schedule",
    "task.report_split",
    "task.schedules",
    "model.name",
    "backbone.name",
    "steps.save_every",
)
# Nothing is read from the pooled state in these kinds of task, which end a chain: no label, no operator.
_WITHOUT_POOLING = ("cell_selection", "span_reading")
_GROUPS = ("task", "model", "backbone", "seed", "data_dir", "steps")


def result_settings(plain: Mapping[str, Any], schedule: str) -> Settings:
    """What decides the result of a training, by dotted key.

    Args:
        plain: the configuration as ``to_plain`` or a ``config.yaml`` has it; schedule: the one that is followed.
    """
    followed = plain["task"].get("schedules", {}).get(schedule, {})
    found = leaves({name: plain[name] for name in _GROUPS if name in plain} | {"steps": followed})
    found["data_dir"] = _place(plain.get("data_dir"))
    if found.get("backbone.source") == "run":  # which run it is, the record of its origin tells
        found["backbone.path"] = None
    elif found.get("backbone.path"):
        found["backbone.path"] = _place(found["backbone.path"])
    if plain["task"].get("kind") in _WITHOUT_POOLING:
        found["backbone.pooling"] = None
    return {name: value for name, value in found.items() if not name.startswith(_IGNORED)}


@cache
def default_settings() -> Settings:
    """What a key means that a record does not have."""
    empty = leaves({"steps": to_plain(ScheduleConfig())} | to_plain(TrainConfig()))
    return {name: value for name, value in empty.items() if name.partition(".")[0] in _GROUPS}


def same_training(record: RunRecord, own: Settings, wanted: Settings, parent: RunRecord | None) -> bool:
    """Whether a run is the training that is wanted, from ``parent`` as its model is now.

    Args:
        own: the settings of the run.
    """
    default = default_settings()
    if any(own.get(name, default.get(name)) != value for name, value in wanted.items()):
        return False
    if parent is None:
        return wanted.get("backbone.source") != "run"
    return bool(record.environment.get("origin", {}).get("weights") == weights_hash(parent.path))


def best_of(records: Iterable[RunRecord]) -> RunRecord | None:
    """The run to take of those that are the same training: one that is done, then the latest."""
    ranked = sorted(records, key=lambda run: (run.state == "done", str(run.status.get("time", ""))))
    return ranked[-1] if ranked else None


def weights_hash(run: Path) -> str | None:
    """The hash of a run's best model, as the records of its children have it; None where it has none.

    Where the records alone were kept, they tell it.
    """
    folder = RunFolder(run)
    file = folder.weights_file
    return _hash(file, file.stat().st_mtime_ns) if file.is_file() else folder.status().get("weights")


@cache
def _hash(file: Path, changed: int) -> str:
    del changed
    return content_hash([file])


def _place(folder: Any) -> str | None:
    return None if folder is None else str(Path(str(folder)).expanduser().resolve())
