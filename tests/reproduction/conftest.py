"""What the tests of reproduction share."""

from __future__ import annotations

from pathlib import Path

import pytest

from mate_cli.config.model import BackboneConfig
from mate_cli.config.paths import PathsConfig
from mate_cli.config.reproduce import DataConfig, ReproduceConfig
from mate_cli.runs import provenance


@pytest.fixture(autouse=True)
def _one_version(monkeypatch: pytest.MonkeyPatch) -> None:
    """Made runs are of one version of the code; asking git each time takes longer than the tests."""
    monkeypatch.setattr(provenance, "_git_state", lambda: {"commit": "a" * 40, "dirty": False})


@pytest.fixture
def config(tmp_path: Path) -> ReproduceConfig:
    """One row of table 6 on data that nobody reads here."""
    data = DataConfig(hybridqa=str(tmp_path / "hybridqa"), tables=str(tmp_path / "tables"))
    return ReproduceConfig(
        what="table6",
        only="MATE",
        backbone=BackboneConfig(name="tiny", source="random"),
        data=data,
        paths=PathsConfig(runs=str(tmp_path / "runs")),
    )
