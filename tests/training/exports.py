"""Exports that tests make."""

from __future__ import annotations

from pathlib import Path

import pytest

from mate_cli.commands import export
from mate_cli.config.commands import ExportConfig
from mate_cli.runs.folder import RunFolder
from mate_cli.system.errors import UserError

FILES = {
    *("README.md", "config.json", "config.yaml", "model.safetensors"),
    *("modeling_mate.py", "tokenizer_config.json", "vocab.txt"),
}


def exported(run: RunFolder, to: Path, overwrite: bool = False) -> Path:
    export.run(ExportConfig(str(run.path), str(to), overwrite))
    return to


def message_of(run: RunFolder, to: Path, overwrite: bool = False) -> str:
    """The message with which an export ends."""
    with pytest.raises(UserError) as caught:
        exported(run, to, overwrite)
    assert "\n" not in str(caught.value)
    return str(caught.value)
