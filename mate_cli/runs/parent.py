"""Runs that start from another run's best model, and the record of that origin."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

from mate_cli.config.model import BackboneConfig
from mate_cli.config.train import TrainConfig
from mate_cli.runs.folder import RunFolder, load_run_config, read_record
from mate_cli.system.distribution import installed_folder, version_of
from mate_cli.system.errors import UserError
from mate_cli.system.files import content_hash, weight_files


def parent_run(path: str) -> RunFolder:
    """Open the run that ``backbone.path`` names.

    Raises:
        UserError: it is not a run, or has no model yet.
    """
    folder = RunFolder(Path(path).expanduser())
    if not folder.config_file.is_file():
        raise UserError(f"backbone.path={path} is not a run folder: it has no config.yaml (mate train makes one)")
    if not folder.weights_file.is_file():
        state = folder.status().get("state", "not started")
        raise UserError(f"backbone.path={path} has no model yet (it is {state}); train it to the end with resume=true")
    return folder


def check_parent(config: TrainConfig, folder: RunFolder) -> None:
    """Check that the run to start from is not ``folder`` itself, and fits the ablation.

    Raises:
        UserError: it is, or does not.
    """
    if config.backbone.source != "run":
        return
    parent = parent_run(str(config.backbone.path))
    if parent.path.resolve() == folder.path.resolve():
        raise UserError(f"backbone.path={config.backbone.path} is the run to be trained; set name=NAME to another")
    trained, ablation = load_run_config(parent.path), config.ablation
    for key, required, value in (
        ("model.heads", ablation.parent_heads, trained.model.heads),
        ("task.kind", ablation.parent_kind, trained.task.kind),
    ):
        if required not in (None, value):
            raise UserError(
                f"ablation={ablation.name} starts from a run with {key}={required}, "
                f"and backbone.path={config.backbone.path} has {key}={value}"
            )


def origin_of(backbone: BackboneConfig) -> dict[str, Any]:
    """Describe the weights that a training starts from: their name, or the run and its own origin.

    ``weights`` is a hash, by which other weights under the same path or name are recognized; missing for the hub.
    """
    if backbone.source != "run":
        package = backbone.package if backbone.source == "package" else None
        facts = {"version": version_of(package) if package else None, "weights": starting_weights(backbone)}
        return {"backbone": backbone.name} | {name: fact for name, fact in facts.items() if fact is not None}
    parent = parent_run(str(backbone.path))
    trained, status, records = load_run_config(parent.path), parent.status(), read_record(parent.environment_file)
    return {
        "run": str(backbone.path),
        "task": trained.task.name,
        "model": trained.model.name,
        "seed": trained.seed,
        "state": status.get("state"),
        "step": status.get("step"),
        "weights": weights_hash(parent.path),
        "command": records.get("command", []),
        "origin": records.get("origin", {"backbone": trained.backbone.name}),
    }


def starting_weights(backbone: BackboneConfig) -> str | None:
    """Return the hash of the weights in ``backbone.path`` or a package; None for others, or if there are none."""
    if backbone.source == "package":
        place = installed_folder(backbone.package or "")
    else:
        place = Path(backbone.path).expanduser() if backbone.path and backbone.source in ("run", "folder") else None
    if place is None:
        return None
    if backbone.source == "run":
        return weights_hash(place)
    files = weight_files(place)
    return _hash(tuple(files), tuple(file.stat().st_mtime_ns for file in files)) if files else None


def weights_hash(run: Path) -> str | None:
    """Return the hash of a run's best model, from its records if the model was deleted; None if neither exists."""
    folder = RunFolder(run)
    file = folder.weights_file
    return _hash((file,), (file.stat().st_mtime_ns,)) if file.is_file() else folder.status().get("weights")


@cache
def _hash(files: tuple[Path, ...], changed: tuple[int, ...]) -> str:
    del changed
    return content_hash(files)
