"""The model card of an exported run, from the run's records, without traces of the machine but the software."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from itertools import chain
from pathlib import Path
from typing import Any

from mate_cli.config.catalogue import options
from mate_cli.config.commands import ExportConfig
from mate_cli.config.task import active_schedule
from mate_cli.config.train import TrainConfig
from mate_cli.inference.calibration import calibration_of
from mate_cli.kinds.registry import kind_of
from mate_cli.models.configuration import read_config
from mate_cli.reporting.calibration import calibration_card
from mate_cli.reporting.templates import render
from mate_cli.runs.folder import RunFolder, read_record
from mate_cli.runs.provenance import release
from mate_cli.system.files import write_text
from mate_cli.training.export import is_tapas, public_command

_MEASURED = re.compile(r"^## Scores$.*?(?=^## (?:Commands|Limits)$)", re.MULTILINE | re.DOTALL)
_LABEL = re.compile(r"^\| `([^`]+)` \| \|$", re.MULTILINE)


def model_card(folder: RunFolder, trained: TrainConfig, export: ExportConfig) -> str:
    """Write the card of an export in Markdown.

    Raises:
        UserError: the run's model has no readable configuration.
    """
    others = [RunFolder(Path(run).expanduser()) for run in export.average or ()]
    environment, model = read_record(folder.environment_file), read_config(folder.best_model)
    kind, (calibration, _) = kind_of(trained.task), calibration_of(folder)
    return render(
        "model_card.md",
        config=trained,
        export=export,
        schedule=active_schedule(trained),
        source=_source(folder),
        version=release(environment),
        pipeline=kind.card.pipeline,
        kind_line=kind.card.does,
        model_line=_line("model", trained.model.name),
        task_line=_line("task", trained.task.name),
        model_class=kind.model.__name__,
        asked=trained.task.traits.asked,
        tapas_class=trained.task.traits.tapas_class if is_tapas(model) else None,
        origin=list(_origins(environment.get("origin", {"backbone": trained.backbone.name}))),
        settings=_settings(trained),
        trained=_training_line(folder, environment),
        averaged=[other.path.resolve().name for other in others],
        scores={} if others else _scores(folder),
        calibration=None if calibration is None or others or export.quantize else calibration_card(calibration),
        commands=_all_commands([folder, *others]),
        limits=[kind.card.limit, *_limits(trained, bool(others))],
    )


def update_card(folder: RunFolder) -> None:
    """Write the scores and the calibration of an export, from its evaluations, into its card.

    A card with other scores, which are of the training, stays as it is, and so does a text that ``model_card`` did not
    write.

    Raises:
        OSError: the card cannot be read or written.
    """
    card = folder.path / "README.md"
    if folder.best_model != folder.path or not card.is_file():
        return
    text, scores = card.read_bytes().decode(errors="replace"), _scores(folder)
    measured = _MEASURED.search(text)
    if not scores or measured is None or not {*_LABEL.findall(measured[0])} <= scores.keys():
        return
    calibration, _ = calibration_of(folder)
    shown = None if calibration is None else calibration_card(calibration)
    section = render("model_card_scores.md", scores=scores, calibration=shown)
    write_text(card, text[: measured.start()] + section + text[measured.end() :])


def _source(folder: RunFolder) -> str | None:
    """Say where the records of a model are that was exported, or published, before; None: this is the card of a run."""
    if folder.best_model != folder.path:
        return None
    card = "; its README.md says how it was trained and scored" if (folder.path / "README.md").is_file() else ""
    return f"The model is that of the folder `{folder.path.resolve().name}`{card}."


def _line(group: str, name: str) -> str:
    """The line of an option in ``mate ls``; "" for an option of another version."""
    return next((option.line for option in options(group) if option.name == name), "")


def _settings(trained: TrainConfig) -> list[tuple[str, Any]]:
    """The settings that decide the result, except for the task's defaults."""
    schedule = {name: value for name, value in asdict(active_schedule(trained)).items() if value is not None}
    chosen = {
        "model": trained.model.name,
        "attention backend": trained.model.attention.backend,
        "ablation": trained.ablation.name,
        "backbone": trained.backbone.name,
        "schedule": trained.schedule or trained.task.default_schedule,
        "hardware": f"{trained.hardware.name}, precision {trained.hardware.precision}",
        "seed": trained.seed,
    }
    return [*chosen.items(), *schedule.items()]


def _training_line(folder: RunFolder, environment: Mapping[str, Any]) -> str:
    """Steps, time and software of the training."""
    status = folder.status()
    packages = {"python": environment.get("python"), **environment.get("packages", {})}
    software = ", ".join(f"{name} {version}" for name, version in packages.items() if version)
    git = environment.get("git") or {}
    commit = f"; commit {git['commit']}{', changed since' if git['dirty'] else ''}" if git else ""
    parts = [
        f"The run is {status.get('state', 'without a record')}, at step {status.get('step', 'unknown')}"
        + (f" after {status['seconds']} seconds" if "seconds" in status else ""),
        f"software: {software or 'unknown'}{commit}",
    ]
    return "; ".join(parts) + "."


def _origins(origin: Mapping[str, Any]) -> Iterator[str]:
    """The earlier runs, latest first, then the weights of the first."""
    while "run" in origin:
        yield (
            f"task {origin['task']} with model {origin['model']}, seed {origin['seed']}, {origin['step']} steps "
            f"(weights {str(origin['weights'])[:12]})"
        )
        origin = origin["origin"]
    name, version = origin.get("backbone", "unknown"), origin.get("version")
    named = f"{name}, version {version}" if version else name
    yield "a run without a record here" if name == "run" else f"{named}: {_line('backbone', name)}"


def _commands(record: Mapping[str, Any]) -> Iterator[str]:
    """The commands of a training and of the runs before it, latest first."""
    while "command" in record:
        yield public_command(record["command"]) or "# a training that was not started from the command line"
        record = record.get("origin", {})


def _all_commands(folders: Sequence[RunFolder]) -> list[str]:
    """The commands behind several runs, each once, in an order in which they can be run."""
    commands = (list(_commands(read_record(folder.environment_file)))[::-1] for folder in folders)
    return list(dict.fromkeys(chain.from_iterable(commands)))


def _scores(folder: RunFolder) -> dict[str, list[tuple[str, Any]]]:
    return {label: list(_leaves(record)) for label, record in read_record(folder.metrics_file).items()}


def _leaves(record: Mapping[str, Any], name: str = "") -> Iterator[tuple[str, Any]]:
    """The numbers of a record with their names, without those of groups of questions."""
    for key, value in record.items():
        if isinstance(value, Mapping):
            if not key.startswith("by_"):
                yield from _leaves(value, f"{name} {key}".strip())
        elif isinstance(value, int | float | str):
            yield f"{name} {key}".strip(), f"{value:.4f}" if isinstance(value, float) else value


def _limits(trained: TrainConfig, averaged: bool) -> Iterator[str]:
    schedule = active_schedule(trained)
    yield "It knows English in lower case, in the word pieces of BERT's uncased vocabulary."
    yield (
        f"It was trained on inputs of at most {schedule.max_tokens} tokens; longer tables were cut. Longer inputs were "
        "not evaluated."
    )
    if trained.task.format == "sample":
        yield "Its training data are generated tables on a few subjects, not tables written by people."
    if trained.model.attention.backend == "bucketed":
        yield "Its attention is an approximation: in large tables it misses pairs of the same row or column."
    if not averaged:
        yield "The scores are of one seed; other seeds may differ."
    yield "It may have learnt errors and biases of its data and of its initial weights."
