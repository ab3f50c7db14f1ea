"""Choose the folder of a training: a new one with its name, or the one of the run to go on with."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from mate_cli.config.plain import to_plain
from mate_cli.config.train import TrainConfig
from mate_cli.runs.data import data_hash
from mate_cli.runs.find import run_folders
from mate_cli.runs.identity import Identity, differences, identity_of
from mate_cli.runs.parent import starting_weights
from mate_cli.runs.records import RunRecord, read_run
from mate_cli.system.errors import UserError

_NEAREST = 2
_KEYS = 4
"""How many runs, and how many keys of each, an error names."""


def current_identity(config: TrainConfig) -> Identity:
    """Return the identity that a training would have now, with the data and the weights as they are on the disk."""
    return identity_of(to_plain(config), data_hash(config), starting_weights(config.backbone))


def run_path(config: TrainConfig, identity: Identity) -> Path:
    """Return the folder that a new run gets: ``name``, or else model, ablation, backbone, seed and a hash."""
    name = config.name or "-".join([*_choices(config), f"s{config.seed}", identity.digest()[:8]])
    return Path(config.paths.runs) / config.task.name / name


def run_group(config: TrainConfig, identity: Identity) -> str:
    """Return a name for all runs that differ by nothing but the seed."""
    return "-".join([config.task.name, *_choices(config), identity.digest(without=("seed",))[:8]])


def begun_run(config: TrainConfig, identity: Identity) -> Path | None:
    """Return the folder of the run that ``resume=true`` goes on with; None if none has begun.

    With ``name=`` this is the folder of that name. Otherwise it is the folder with the automatic name; or, as names had
    other hashes in earlier versions, any run of the task that is the same run. Of several, an unfinished one comes
    first, then the latest.
    """
    path = run_path(config, identity)
    if (path / "config.yaml").is_file():
        return path
    if config.name is not None:
        return None
    same = [run for run in _runs(path.parent) if not differences(run.identity, identity)]
    same.sort(key=lambda run: (run.state != "done", str(run.status.get("time", ""))))
    return same[-1].path if same else None


def run_to_resume(config: TrainConfig, identity: Identity) -> Path:
    """Return ``begun_run``.

    Raises:
        UserError: there is none; names what was looked for, and the nearest runs with what differs.
    """
    if (path := begun_run(config, identity)) is not None:
        return path
    path, folder = run_path(config, identity), Path(config.paths.runs) / config.task.name
    looked = f"{path} holds no run" if config.name else f"{folder} holds no run with these settings ({path.name})"
    runs = {str(run.path.relative_to(folder)): run for run in _runs(folder)}  # a name may have several parts
    differing = {name: list(differences(run.identity, identity)) for name, run in runs.items()}
    nearest = sorted(differing, key=lambda name: len(differing[name]))[:_NEAREST]
    told = [f"{name} has {_other(differing[name])}" for name in nearest]
    raise UserError(f"resume=true: {looked}; {''.join(f'{line}; ' for line in told)}leave out resume=true to start it")


def _other(keys: list[str]) -> str:
    if not keys:
        return "these settings"
    return f"another {', '.join(keys[:_KEYS])}" + (f" and {len(keys) - _KEYS} more" if len(keys) > _KEYS else "")


def _runs(folder: Path) -> list[RunRecord]:
    """Return the runs below a folder that can be read."""
    records = (_record(path, _changed(path)) for path in run_folders(folder))
    return [run for run in records if run is not None]


@cache
def _record(path: Path, changed: tuple[int, ...]) -> RunRecord | None:
    """Return the record of a run folder, read again only if its files ``changed``: sweeps ask for it once a job."""
    try:
        return read_run(path)
    except UserError:
        return None


def _changed(path: Path) -> tuple[int, ...]:
    files = (path / name for name in ("config.yaml", "environment.json", "status.json", "metrics.json"))
    return tuple(file.stat().st_mtime_ns if file.is_file() else 0 for file in files)


def _choices(config: TrainConfig) -> list[str]:
    ablation = [] if config.ablation.name == "none" else [config.ablation.name]
    return [config.model.name, *ablation, config.backbone.name]
