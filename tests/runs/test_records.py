"""Run folders of earlier versions: their configurations are read with today's keys."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from mate_cli.config.plain import to_plain
from mate_cli.runs.folder import RunFolder, load_run_config
from mate_cli.runs.identity import config_hash, identity_of
from mate_cli.runs.records import read_run, upgraded
from tests.config.test_config import train_config


@pytest.fixture
def new() -> dict[str, Any]:
    return to_plain(train_config("backbone=tiny"))


@pytest.fixture
def old(new: dict[str, Any], tmp_path: Path) -> dict[str, Any]:
    """The configuration as it was before ``task.reader`` became ``task.format``, in a run folder as well."""
    task = {{"format": "reader"}.get(name, name): value for name, value in new["task"].items()}
    (tmp_path / "config.yaml").write_text(yaml.safe_dump(new | {"task": task}))
    return new | {"task": task}


def test_renamed_keys_have_todays_names(old: dict[str, Any], new: dict[str, Any]) -> None:
    assert "reader" in old["task"]
    assert upgraded(old) == new
    assert upgraded(new) == new


@pytest.mark.parametrize("plain", [None, [], "text", {"task": "text"}, {"task": None}])
def test_what_is_no_configuration_stays(plain: Any) -> None:
    assert upgraded(plain) == plain


def test_an_old_run_folder_is_read_recorded_and_resumed(
    old: dict[str, Any], new: dict[str, Any], tmp_path: Path
) -> None:
    assert to_plain(load_run_config(tmp_path)) == new
    assert read_run(tmp_path).config == new
    RunFolder(tmp_path).check_same_run(identity_of(new, None, None))


def test_the_hash_of_an_old_record_stays(old: dict[str, Any], new: dict[str, Any], tmp_path: Path) -> None:
    assert read_run(tmp_path).config_hash == config_hash(old) != config_hash(new)


@pytest.mark.parametrize(("share", "score"), [(0.05, 0.5), (0.0, None)])
def test_the_best_validation_counts_only_on_a_held_out_part(share: float, score: float | None, tmp_path: Path) -> None:
    config = to_plain(train_config("task=wtq", "backbone=tiny", "schedule=evening"))
    config["task"]["schedules"]["evening"]["held_out"] = share
    (tmp_path / "config.yaml").write_text(yaml.safe_dump(config))
    (tmp_path / "metrics.csv").write_text("dev_accuracy,loss,step\n,9.0,1\n0.25,,1\n0.5,,2\n0.375,,3\n")
    assert read_run(tmp_path).held_out_score == score


def test_a_run_that_was_never_validated_has_no_held_out_score(tmp_path: Path) -> None:
    (tmp_path / "config.yaml").write_text(yaml.safe_dump(to_plain(train_config("task=wtq", "schedule=evening"))))
    assert read_run(tmp_path).held_out_score is None
