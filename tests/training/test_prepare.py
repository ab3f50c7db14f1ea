"""`mate prepare model=...`: the tokens that training on that model will ask for."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.training.conftest import TINY


@pytest.mark.parametrize("model", ["mate", "sat"])
def test_training_finds_what_was_prepared(model, mate, tmp_path, monkeypatch):
    monkeypatch.setenv("MATE_CACHE", str(tmp_path / "own"))  # not the one that all tests share
    assert mate("prepare", "backbone=tiny", "schedule=smoke", f"model={model}") == 0
    prepared = names(tmp_path / "own")
    assert len(prepared) == 3
    assert mate("train", *TINY, f"model={model}") == 0
    assert names(tmp_path / "own") == prepared


def test_a_model_for_bench_only_is_refused(mate, capsys):
    assert mate("prepare", "model=etc") == 2
    assert "model=etc is for mate bench only" in capsys.readouterr().err


def names(folder: Path) -> set[str]:
    return {path.name for path in (folder / "encoded").iterdir()}
