"""Folders of TAPAS that Hugging Face's library saved, read as runs: the configuration that they lack.

The model is that of ``config.json`` and the weights beside it; ``mate`` adds the task that asks it, by its class.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from mate_cli.config.catalogue import option_content
from mate_cli.config.kinds import KINDS
from mate_cli.system.errors import UserError
from mate_cli.system.files import weight_files
from mate_cli.tables.aggregation import TAPAS_OPERATORS


def is_published(folder: Path) -> bool:
    """True if the folder has a model's ``config.json``, whatever model that is."""
    return (folder / "config.json").is_file()


def published(folder: Path) -> dict[str, Any]:
    """Return the content of the ``config.yaml`` that the folder of a published TAPAS lacks.

    Raises:
        UserError: it holds no TAPAS with a head that ``mate`` has, one with settings that ``mate`` cannot follow, or no
            weights.
    """
    file = folder / "config.json"
    try:
        stored = json.loads(file.read_text(encoding="utf-8"))
        classes = stored.get("architectures") or []
    except (OSError, ValueError, AttributeError) as error:
        raise UserError(f"{file} holds no configuration of a model; fetch the model again") from error
    known = {traits.tapas_class: traits for traits in KINDS.values() if traits.published_tasks}
    traits = next((known[name] for name in classes if name in known), None)
    if stored.get("model_type") != "tapas" or traits is None:
        raise UserError(
            f"{folder} holds {', '.join(map(str, classes)) or 'an unknown model'} and no config.yaml: as a run, mate "
            f"opens {', '.join(known)}; backbone=folder backbone.path={folder} starts a training from an encoder"
        )
    if not weight_files(folder):
        raise UserError(f"{folder} has no weights: neither model.safetensors nor pytorch_model.bin; fetch them too")
    operators = int(stored.get("num_aggregation_labels", 0))
    task = option_content("task", traits.published_tasks[-1 if operators else 0])
    if "task.qa" in (traits.uses or ()):
        _check_answers(file, stored, operators)
        task["qa"] = {**task.get("qa", {}), "aggregation": operators > 0, "surest": False}
    return {
        "task": task,
        "model": option_content("model", "tapas"),
        "backbone": {"name": "folder", "source": "folder", "path": str(folder)},
        "hardware": option_content("hardware", "auto"),
        "logger": option_content("logger", "csv"),
    }


def _check_answers(file: Path, stored: dict[str, Any], operators: int) -> None:
    """Check that the answers mean what ours mean: cells of one column, and our operators."""
    if not stored.get("select_one_column", True):
        raise UserError(f"{file}: select_one_column=false; mate reads answers in the cells of one column")
    ours = [operator.name for operator in TAPAS_OPERATORS]
    labels = stored.get("aggregation_labels") or dict(enumerate(ours))
    theirs = [str(labels[label]) for label in sorted(labels, key=int)]
    if operators and theirs != ours:
        raise UserError(
            f"{file}: aggregation_labels are {', '.join(theirs)}; mate knows {', '.join(ours)}, in this order"
        )
