"""Find run folders, without reading them; imports nothing else of the package."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

# A folder with one of these is a run folder; the folders of a pipeline's answers have neither.
_MARKS = ("config.yaml", "status.json")
_HUB_NAME = re.compile(r"\w[\w.-]*/\w[\w.-]*")


def run_folders(folder: Path) -> Iterator[Path]:
    """Every run folder below ``folder``, in order, but none inside another or behind a link."""
    for root, names, files in os.walk(folder):
        if any(mark in files for mark in _MARKS):
            yield Path(root)
            names.clear()
        names.sort()


def is_run_folder(path: Path) -> bool:
    return any((path / mark).is_file() for mark in _MARKS)


def what_else(path: Path) -> str | None:
    """Say how to use a path that is no run but a model's name on a hub, or a checkpoint of TensorFlow; else None."""
    if os.path.isfile(path / "bert_config.json") and any(path.glob("*.index")):
        return (
            f"is a checkpoint of TensorFlow, not a run: backbone=folder backbone.path={path} starts a training from "
            "it; of a published finetuned model, take Hugging Face's copy"
        )
    if _HUB_NAME.fullmatch(str(path)) and not os.path.exists(path.parent):
        return (
            "there is no such folder; if it is a model of the Hugging Face Hub, fetch it with "
            f"hf download {path} --local-dir DIR, and name DIR"
        )
    return None
