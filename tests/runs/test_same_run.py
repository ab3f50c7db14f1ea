"""The places that ask whether two trainings are the same run give one answer."""

from __future__ import annotations

import re
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path

import pytest

from mate_cli.config.model import BackboneConfig
from mate_cli.config.paths import PathsConfig
from mate_cli.config.plain import to_plain
from mate_cli.config.reproduce import DataConfig, ReproduceConfig
from mate_cli.reporting.runs import compared
from mate_cli.reproduction.ledger import Chain, Ledger
from mate_cli.runs.folder import RunFolder
from mate_cli.runs.place import current_identity, run_path
from mate_cli.runs.records import read_run
from mate_cli.system.errors import UserError
from tests.reporting.run_folders import write_run
from tests.runs.test_identity import with_value

LABEL = Chain("task=hybridqa model=mate", None, 0)


CHANGES = {
    "hardware.name": ("gpu", True),
    "hardware.workers": (3, True),
    "hardware.micro_batch": (1, True),
    "paths.cache": ("/elsewhere", True),
    "logger.project": ("other", True),
    "data_dir": ("moved", True),
    "task.schedules.paper.lr": (1.0, True),
    "task.schedules.laptop.save_every": (7, True),
    "model.linformer.k": (128, True),
    "model.bucketed.radius": (7, True),
    "task.qa.temperature": (2.0, True),
    "backbone.hub_id": ("x", True),
    "ablation.name": ("mine", True),
    "data": ("other", False),
    "seed": (1, False),
    "task.sentences": (1, False),
    "task.schedules.laptop.lr": (1.0, False),
    "model.row_ratio": (0.25, False),
    "model.attention.backend": ("dense", False),
    "backbone.hidden": (128, False),
    "hardware.precision": ("32", False),
}
"""Key -> another value, and whether it is the same run."""


@pytest.fixture
def ledger(tmp_path: Path, own_data: Path) -> Ledger:
    config = ReproduceConfig(
        what="table6",
        backbone=BackboneConfig(name="tiny", source="random"),
        data=DataConfig(hybridqa=str(own_data)),
        paths=PathsConfig(runs=str(tmp_path / "runs")),
    )
    return Ledger(config, ["backbone=tiny"])


@pytest.fixture
def own_data(tmp_path: Path) -> Path:
    """A release of HybridQA without tables: its questions are all that is hashed."""
    folder = tmp_path / "data"
    (folder / "WikiTables-WithLinks" / "tables_tok").mkdir(parents=True)
    (folder / "WikiTables-WithLinks" / "request_tok").mkdir()
    (folder / "released_data").mkdir()
    for split in ("train", "dev"):
        (folder / "released_data" / f"{split}.json").write_text("[]")
        (folder / "released_data" / f"{split}.traced.json").write_text("[]")
    return folder


@pytest.mark.parametrize("name", CHANGES)
def test_the_four_places_agree(name: str, tmp_path: Path, own_data: Path, ledger: Ledger) -> None:
    """The automatic name, the check of resume=true, the records that mate reproduce takes, mate runs compare."""
    value, is_same = CHANGES[name]
    config = replace(ledger.training_config(LABEL), paths=ledger.config.paths)
    wanted = current_identity(config)
    assert wanted.data is not None
    plain = to_plain(config) if name == "data" else with_value(to_plain(config), name, value)
    data = value if name == "data" else wanted.data
    run = write_run(tmp_path / "runs" / "hybridqa" / "x", plain, data=data)
    base = write_run(tmp_path / "others" / "base", to_plain(config), data=wanted.data)

    record = read_run(run.path)
    names = {run_path(config, own) for own in (wanted, record.identity)}
    assert (len(names) == 1) == is_same
    key = name.replace("task.schedules.laptop", "schedule")
    with nullcontext() if is_same else pytest.raises(UserError, match=f"it was made with another {re.escape(key)};"):
        RunFolder(run.path).check_same_run(wanted)
    ledger.refresh()
    assert (ledger.record(LABEL) is not None) == is_same
    shown = compared([read_run(base.path), record])["config"]
    assert list(shown) == ([] if is_same else [key])
