"""The folder that a training gets, and the run that resume=true goes on with."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from mate_cli.cli.main import main
from mate_cli.cli.sweep.jobs import Sweep
from mate_cli.config.hardware import HardwareConfig
from mate_cli.config.paths import PathsConfig
from mate_cli.config.plain import to_plain
from mate_cli.config.train import TrainConfig
from mate_cli.runs import parent
from mate_cli.runs.folder import RunFolder
from mate_cli.runs.identity import differences
from mate_cli.runs.parent import origin_of
from mate_cli.runs.place import begun_run, current_identity, run_path, run_to_resume
from mate_cli.system.errors import UserError
from tests.config.test_config import train_config
from tests.reporting.run_folders import write_run


@pytest.fixture
def config(tmp_path: Path) -> TrainConfig:
    return replace(train_config("backbone=tiny", "schedule=smoke"), paths=PathsConfig(runs=str(tmp_path)))


def begun(config: TrainConfig, name: str, state: str = "interrupted", **facts: Any) -> RunFolder:
    """Write a run of a configuration under some name, as an earlier version would have."""
    return write_run(Path(config.paths.runs) / config.task.name / name, to_plain(config), state=state, **facts)


def to_resume(config: TrainConfig) -> str:
    return run_to_resume(config, current_identity(config)).name


def refusal(config: TrainConfig) -> str:
    with pytest.raises(UserError) as caught:
        run_to_resume(config, current_identity(config))
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_the_automatic_name_tells_the_choices_the_seed_and_a_hash(config: TrainConfig, tmp_path: Path) -> None:
    identity = current_identity(config)
    path = run_path(config, identity)
    assert path == tmp_path / "sample" / f"mate-tiny-s0-{identity.digest()[:8]}"
    assert run_path(replace(config, hardware=HardwareConfig(name="x", workers=3)), identity) == path
    assert run_path(replace(config, name="mine"), identity) == tmp_path / "sample" / "mine"


def test_a_run_under_its_old_automatic_name_is_found(config: TrainConfig) -> None:
    begun(replace(config, seed=1), "mate-tiny-s1-00000000")
    begun(config, "mate-tiny-s0-01234567")
    assert to_resume(config) == "mate-tiny-s0-01234567"
    path = run_path(config, current_identity(config))
    begun(config, path.name)
    assert to_resume(config) == path.name  # the name of today wins


def test_of_several_the_unfinished_one_and_then_the_latest_goes_on(config: TrainConfig) -> None:
    for name, state, time in (("a", "done", "2026-03"), ("b", "killed", "2026-01"), ("c", "failed", "2026-02")):
        begun(config, name, state)
        RunFolder(Path(config.paths.runs) / "sample" / name).set_status(state, time=time)
    assert to_resume(config) == "c"


def test_nothing_to_resume_names_what_was_looked_for_and_the_nearest(config: TrainConfig, tmp_path: Path) -> None:
    name = run_path(config, current_identity(config)).name
    looked = f"resume=true: {tmp_path}/sample holds no run with these settings ({name}); "
    start = "leave out resume=true to start it"
    assert refusal(config) == looked + start
    begun(replace(config, seed=7), "near")
    begun(replace(config, seed=7, model=replace(config.model, heads="full")), "far")
    begun(replace(config, seed=7, schedule="laptop"), "farther")
    assert refusal(config) == f"{looked}near has another seed; far has another model.heads, seed; {start}"
    named = replace(config, name="naer", seed=7)
    assert refusal(named).startswith(f"resume=true: {tmp_path}/sample/naer holds no run; near has these settings; ")
    begun(replace(config, seed=8), "deep/er")
    named = replace(config, name="er", seed=8)
    assert refusal(named).startswith(f"resume=true: {tmp_path}/sample/er holds no run; deep/er has these settings; ")


def test_a_named_folder_is_taken_by_its_name_alone(config: TrainConfig) -> None:
    begun(config, "first")
    assert to_resume(replace(config, name="first")) == "first"
    assert begun_run(replace(config, name="second"), current_identity(config)) is None


def test_broken_folders_are_passed_over(config: TrainConfig) -> None:
    begun(config, "broken").config_file.write_text("task: [")
    begun(config, "whole")
    assert to_resume(config) == "whole"


def test_the_command_line_says_it_in_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for words in (["resume=true"], ["name=first", "resume=true"]):
        assert main(["train", "backbone=tiny", "schedule=smoke", f"paths.runs={tmp_path}", *words]) == 2
        assert capsys.readouterr().err.startswith(f"error: resume=true: {tmp_path}/sample")
        assert not (tmp_path / "sample").exists()


def test_a_sweep_finds_them_too_and_starts_the_rest_despite_resume(config: TrainConfig) -> None:
    begun(config, "old", "done")
    begun(replace(config, seed=1), "older")
    sweep = Sweep("train")
    for seed in range(3):
        sweep.add([f"seed={seed}", "resume=true"], replace(config, seed=seed, resume=True))
    assert [job.folder and job.folder.name for job in sweep.jobs[:2]] == ["old", "older"]
    assert [job.done for job in sweep.jobs] == [True, False, False]
    assert [job.config.resume for job in sweep.jobs[1:]] == [True, False]
    assert [job.words for job in sweep.jobs[1:]] == [("seed=1", "resume=true"), ("seed=2",)]


def test_two_jobs_of_a_sweep_that_are_the_same_run_are_refused(config: TrainConfig) -> None:
    sweep = Sweep("train")
    sweep.add([], config)
    with pytest.raises(UserError, match="jobs 1 and 2 have the same run folder"):
        sweep.add(["hardware.workers=2"], replace(config, hardware=replace(config.hardware, workers=2)))


def test_a_newer_version_of_a_package_of_weights_starts_another_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parent, "installed_folder", lambda package: tmp_path / package)
    folder = tmp_path / "mate_tables_weights"
    folder.mkdir()
    paths = PathsConfig(runs=str(tmp_path))
    config = replace(train_config("backbone=mate_minilm", "schedule=smoke"), paths=paths)
    nameless = current_identity(config)  # as records from before packages had a hash
    found = []
    for content in (b"0.4.0", b"0.5.0, longer"):
        (folder / "model.safetensors").write_bytes(content)
        found.append(current_identity(config))
        assert origin_of(config.backbone)["weights"] == found[-1].weights
    assert differences(found[0], found[1]) == {"weights": (found[0].weights, found[1].weights)}
    assert [differences(nameless, other) for other in found] == [{}, {}]
    assert len({identity.digest() for identity in found}) == 2
