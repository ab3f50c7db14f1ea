"""Corpora that cannot be opened, asked for without the checks of the command line."""

from __future__ import annotations

from pathlib import Path

import pytest
from rich.console import Console

from mate_cli.config.paths import PathsConfig
from mate_cli.encoding.shards import Manifest, ShardFolder
from mate_cli.system.errors import UserError
from mate_cli.training.corpus import open_corpus
from tests.training.test_every_model import composed

TASK = composed("task=mlm", "backbone=tiny").task


def test_a_corpus_needs_a_folder(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="data_dir"):
        open_corpus(TASK, None, tmp_path, PathsConfig(cache=str(tmp_path)), Console(quiet=True))


def test_shards_are_not_made_of_shards(tmp_path: Path) -> None:
    ShardFolder(str(tmp_path)).write_manifest(Manifest("tables", "fingerprint", "vocabulary", shards=1))
    paths = PathsConfig(cache=str(tmp_path))
    with pytest.raises(UserError, match="holds shards already"):
        open_corpus(TASK, str(tmp_path), tmp_path, paths, Console(quiet=True), to=str(tmp_path / "to"))
