"""Trainings that are stopped, run out of disk, meet each other, or compute what is no number."""

from __future__ import annotations

import json
import multiprocessing
import os
import pickle
import shutil
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

from mate_cli.config.paths import PathsConfig
from mate_cli.config.task import TaskConfig
from mate_cli.runs.folder import RunFolder
from mate_cli.runs.identity import Identity
from mate_cli.system import files
from mate_cli.system.errors import UserError
from mate_cli.system.files import hold
from mate_cli.tables.data_folder import data_folder
from mate_cli.tasks.cell_selection import CellSelection
from mate_cli.training.callbacks import ProgressReport
from tests.system.test_files import file_size_limit
from tests.training.conftest import TINY, fast, train_once

Mate = Callable[..., int]

STEPS = "task.schedules.smoke"
RUN = (
    *(*TINY, "task=hybridqa", "data_dir=../few", "name=run", "hardware.workers=0"),
    *(f"{STEPS}.steps=5", f"{STEPS}.save_every=2", f"{STEPS}.validate_every=4"),
    *(f"{STEPS}.dropout=0.1", f"{STEPS}.attention_dropout=0.1"),
)
SECRET = "0123456789abcdef0123456789abcdef01234567"


@pytest.fixture(scope="module", autouse=True)
def few(tmp_path_factory: pytest.TempPathFactory, cache: Path) -> Path:
    """The first questions of the sample, in the layout of HybridQA, beside the folders of the tests."""
    sample = data_folder(TaskConfig(name="sample", format="sample"), None, PathsConfig(cache=str(cache)))
    folder = tmp_path_factory.getbasetemp() / "few"
    shutil.copytree(sample, folder)
    for name, count in (("train.traced.json", 40), ("dev.traced.json", 12)):
        questions = json.loads((sample / "released_data" / name).read_text())
        (folder / "released_data" / name).write_text(json.dumps(questions[:count]))
    return folder


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory, cache: Path) -> Path:
    """A finished run of five steps, with dropout, of a user who has secrets."""
    with pytest.MonkeyPatch.context() as patch:
        for name in ("WANDB_API_KEY", "HF_TOKEN", "AWS_SECRET_ACCESS_KEY"):
            patch.setenv(name, SECRET)
        return train_once(tmp_path_factory, cache, *RUN) / "runs" / "hybridqa" / "run"


def left(run: Path) -> dict[str, bytes]:
    """What a training leaves that does not tell of time and place, bit for bit."""
    same = ("metrics.csv", "metrics.json", "predictions-dev.jsonl", "best/model.safetensors")
    state = torch.load(run / "last.ckpt", weights_only=True)
    tensors = torch.cat([own.flatten() for own in _tensors([state["state_dict"], state["optimizer_states"]])])
    return {name: (run / name).read_bytes() for name in same} | {"last.ckpt": tensors.numpy().tobytes()}


def _tensors(value: Any) -> list[torch.Tensor]:
    if isinstance(value, torch.Tensor):
        return [value.float()]
    values = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return [tensor for own in values for tensor in _tensors(own)]


def one_line(capsys: pytest.CaptureFixture[str]) -> str:
    error = capsys.readouterr().err
    assert "Traceback" not in error
    assert [line.partition(":")[0] for line in error.splitlines()] == ["error"]
    return error


@pytest.mark.slow
def test_two_runs_are_equal(mate: Mate, undisturbed: Path, tmp_path: Path) -> None:
    assert mate("train", *RUN) == 0
    assert left(tmp_path / "runs" / "hybridqa" / "run") == left(undisturbed)


def test_no_secret_is_kept(undisturbed: Path) -> None:
    kept = [path for path in undisturbed.rglob("*") if path.is_file()]
    assert len(kept) > 8
    assert [path for path in kept if SECRET.encode() in path.read_bytes()] == []


@pytest.mark.parametrize(
    ("number", "code", "line"),
    [
        (signal.SIGTERM, 75, "stopped by SIGTERM; the same command goes on"),
        pytest.param(signal.SIGHUP, 130, "interrupted", marks=pytest.mark.slow),
    ],
)
def test_a_signal_saves_and_the_rest_makes_an_equal_run(
    number: signal.Signals,
    code: int,
    line: str,
    mate: Mate,
    undisturbed: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """At step 3, where nothing would be saved; schedulers and terminals signal the whole group of processes."""
    settings = (*RUN, "hardware.workers=1")
    report = ProgressReport.on_train_batch_end

    def stop(self: ProgressReport, trainer: Any, *rest: Any) -> None:
        report(self, trainer, *rest)
        if trainer.global_step == 2:
            (worker,) = multiprocessing.active_children()
            assert worker.pid
            os.kill(worker.pid, number)
            time.sleep(0.1)
            signal.raise_signal(number)

    before = signal.signal(number, signal.SIG_DFL)  # as in a terminal
    try:
        with monkeypatch.context() as patch:
            patch.setattr(ProgressReport, "on_train_batch_end", stop)
            assert mate("train", *settings) == code
    finally:
        signal.signal(number, before)
    assert capsys.readouterr().err.splitlines()[-1].startswith(line)
    run = tmp_path / "runs" / "hybridqa" / "run"
    status = json.loads((run / "status.json").read_text())
    assert (status["state"], status["step"]) == ("interrupted", 3)
    with (run / "metrics.csv").open("a") as file:
        file.write("0.1,0.2,0.")  # a line that a kill cut off
    assert mate("train", *settings, "resume=true") == 0
    assert left(run) == left(undisturbed)


@pytest.mark.parametrize("wrong", [float("nan"), pytest.param(float("inf"), marks=pytest.mark.slow)])
def test_a_loss_that_is_no_number_stops_and_its_batch_is_kept(
    mate: Mate, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], wrong: float
) -> None:
    """Of one example of the second of a step's two micro-batches."""
    losses, seen = CellSelection.losses, []

    def spoilt(self: CellSelection, logits: Any, batch: Any) -> torch.Tensor:
        seen.append(batch)
        if len(seen) < 6:
            return losses(self, logits, batch)
        return losses(self, logits, batch) * torch.tensor([1.0, 1.0, wrong, 1.0])

    monkeypatch.setattr(CellSelection, "losses", spoilt)
    assert mate("train", *RUN, "hardware.micro_batch=4") == 1
    error, run = one_line(capsys), tmp_path / "runs" / "hybridqa" / "run"
    assert f"step 3: the loss is {wrong} in {seen[5].ids[2]};" in error
    assert "not-finite/step-3-rank-0.json" in error
    record = json.loads((run / "not-finite" / "step-3-rank-0.json").read_text())
    assert record["not_finite"] == [seen[5].ids[2]]
    assert list(record["losses"]) == [*seen[4].ids, *seen[5].ids]
    assert record["tensors_of"] == seen[5].ids
    kept = load_file(run / "not-finite" / "step-3-rank-0.safetensors")
    assert all(tensor.numpy().tobytes() == getattr(seen[5], name).numpy().tobytes() for name, tensor in kept.items())
    assert kept["input_ids"].numel() > 0
    state = torch.load(run / "last.ckpt", weights_only=True)
    assert state["global_step"] == 2
    assert all(tensor.isfinite().all() for tensor in state["state_dict"].values())
    assert json.loads((run / "status.json").read_text())["state"] == "failed"


@pytest.mark.slow
def test_a_gradient_that_is_no_number_stops_too(
    mate: Mate, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    losses = CellSelection.losses

    def spoilt(self: CellSelection, logits: Any, batch: Any) -> torch.Tensor:
        own = losses(self, logits, batch)
        return own + (own - own.detach()).clamp(min=0).sqrt()  # 0, with a slope that is infinite

    monkeypatch.setattr(CellSelection, "losses", spoilt)
    assert mate("train", *RUN, f"{STEPS}.clip_norm=1.0") == 1
    error = one_line(capsys)
    assert "step 1: the gradient is nan, although the losses of all examples are finite" in error


def test_a_full_disk_is_one_line_and_leaves_no_half(
    mate: Mate, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """No file may grow beyond 200 kB: the first checkpoint does not fit."""
    run = tmp_path / "runs" / "hybridqa" / "run"
    with file_size_limit(200_000):
        assert mate("train", *RUN) == 1
    assert f"cannot write to {run.relative_to(tmp_path)}: a limit on the size of files" in one_line(capsys)
    records = {"config.yaml", "environment.json", "metrics.csv", "status.json"}
    assert {path.name for path in run.iterdir()} == {".lock", ".records.lock", *records}
    assert json.loads((run / "status.json").read_text())["state"] == "failed"


@pytest.mark.slow
def test_where_there_is_room_again_the_run_goes_on(mate: Mate, undisturbed: Path, tmp_path: Path) -> None:
    with file_size_limit(200_000):
        assert mate("train", *RUN) == 1
    assert mate("train", *RUN, "resume=true") == 0
    assert left(tmp_path / "runs" / "hybridqa" / "run") == left(undisturbed)


@pytest.mark.skipif(not Path("/sys/kernel").is_dir(), reason="no folder that refuses even root")
@pytest.mark.parametrize(("key", "code"), [("paths.runs", 2), ("paths.cache", 1)])
def test_a_folder_that_cannot_be_written(mate: Mate, key: str, code: int, capsys: pytest.CaptureFixture[str]) -> None:
    assert mate("train", *RUN, f"{key}=/sys/kernel/mate") == code
    error = one_line(capsys)
    assert "cannot write" in error
    assert key in error


@pytest.mark.parametrize("part", ["sample", "encoded"])
def test_a_cache_with_a_file_in_the_way(
    mate: Mate, part: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / part).touch()
    assert mate("train", *TINY, f"paths.cache={tmp_path / 'other'}") == 1
    error = one_line(capsys)
    assert f"{tmp_path / 'other' / part}" in error
    assert "set paths.cache or MATE_CACHE to a folder" in error


def test_a_run_folder_in_use(
    mate: Mate, undisturbed: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(files, "_PATIENCE", 0.1)
    before = (undisturbed / "status.json").read_bytes()
    words = (f"paths.runs={undisturbed.parents[1]}",)
    lock = hold(undisturbed)
    for how in ("resume=true", "overwrite=true"):
        assert mate("train", *RUN, *words, how) == 75
        assert "is in use by another process" in one_line(capsys)
    lock.release()
    assert (undisturbed / "status.json").read_bytes() == before
    assert mate("train", *RUN, *words) == 2  # the refusals hold nothing


class Malice:
    def __reduce__(self) -> tuple[Any, ...]:
        return Path.touch, (Path("ran"),)


@pytest.mark.parametrize("kind", fast("malice", of=["malice", "half", "other"]))
def test_a_state_that_is_not_ours_is_refused(
    mate: Mate, undisturbed: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], kind: str
) -> None:
    run = tmp_path / "runs" / "hybridqa" / "run"
    shutil.copytree(undisturbed, run)
    if kind == "half":
        content = (run / "last.ckpt").read_bytes()
        (run / "last.ckpt").write_bytes(content[: len(content) // 2])
    else:
        torch.save({"state_dict": Malice() if kind == "malice" else 1}, run / "last.ckpt")
    weights = (run / "best" / "model.safetensors").read_bytes()
    assert mate("train", *RUN, "resume=true") == 2
    assert "corrupt, or contains pickled code" in one_line(capsys)
    assert not (tmp_path / "ran").exists()
    assert (run / "best" / "model.safetensors").read_bytes() == weights


@pytest.mark.slow
def test_a_removed_cache_is_made_again(
    mate: Mate, undisturbed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(undisturbed, tmp_path / "runs" / "hybridqa" / "run")
    monkeypatch.setenv("MATE_CACHE", str(tmp_path / "gone"))
    assert mate("train", *RUN, "resume=true") == 0
    assert left(tmp_path / "runs" / "hybridqa" / "run") == left(undisturbed)


def test_a_reader_of_the_output_that_leaves_ends_the_training(mate_process: Callable[..., Any]) -> None:
    """The next line comes from a validation, while a worker waits to build more batches for training."""
    process = mate_process("train", *RUN, "hardware.workers=1")
    assert any("parameters" in line for line in iter(process.stdout.readline, "")), "no training started"
    process.stdout.close()
    try:
        assert process.wait(timeout=60) == 1
    finally:
        process.kill()


def test_a_claimed_folder_goes_to_replicas_without_its_lock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "_PATIENCE", 0.1)
    folder = RunFolder(tmp_path / "run")
    folder.claim(resume=False, overwrite=False, identity=Identity({}))
    copy = pickle.loads(pickle.dumps(folder))
    copy.release()
    with pytest.raises(UserError, match="in use by another process"):
        RunFolder(tmp_path / "run").claim(resume=True, overwrite=False, identity=Identity({}))
    folder.release()
