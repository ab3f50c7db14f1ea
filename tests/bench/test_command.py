"""``mate bench`` as a user runs it, on tiny encoders."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from transformers import TapasConfig, TapasForQuestionAnswering

from mate_cli.bench import run as bench_run
from mate_cli.bench.memory import MemoryServer
from mate_cli.bench.point import Point
from mate_cli.cli import diagnosis
from mate_cli.cli.main import main
from tests.system.test_files import file_size_limit

TINY = ("sizes=[tiny]", "suite.rounds=3", "device=cpu", "threads=1")

Mate = Callable[..., int]


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Mate:
    """Call ``mate bench`` in an empty folder; returns the exit code."""
    monkeypatch.chdir(tmp_path)
    return lambda *words: main(["bench", *TINY, *words])


def results(folder: str = "bench") -> dict[str, Any]:
    return dict(json.loads(Path(folder, "results.json").read_text(encoding="utf-8")))


def report() -> str:
    """Without the blanks that align columns."""
    return re.sub(" +", " ", Path("bench/report.md").read_text(encoding="utf-8"))


def by_model(length: int) -> dict[str, dict[str, Any]]:
    return {record["model"]: record for record in results()["records"] if record["length"] == length}


def test_a_bench_leaves_other_files_of_its_folder_alone(bench: Mate) -> None:
    Path("bench/.export.tmp").mkdir(parents=True)
    Path("bench/.notes.tmp").write_text("mine")
    assert bench("models=[mate]", "lengths=[64]", "measures=[flops]") == 0
    assert Path("bench/.export.tmp").is_dir()
    assert Path("bench/.notes.tmp").read_text() == "mine"


def test_a_bench_writes_numbers_tables_and_figures(bench: Mate, capsys: pytest.CaptureFixture[str]) -> None:
    words = ("models=[limit,hf_tapas,dense_sdpa,mate,mate@varlen]", "lengths=[64,128,256]")
    assert bench(*words, "measures=[speed,flops]") == 0
    found = results()
    assert found["finished"]
    assert found["command"][0] == "bench"
    assert found["environment"]["packages"]["torch"]
    assert found["device"] == {**found["device"], "device": "cpu", "threads": 1}
    assert found["configuration"]["lengths"] == [64, 128, 256]
    assert len(found["records"]) == 15
    mate = by_model(256)["mate"]
    assert mate["seconds"]["q1"] <= mate["seconds"]["median"] <= mate["seconds"]["q3"]
    assert len(mate["samples"]) == 3
    assert mate["tokens_per_second"] == pytest.approx(256 / mate["seconds"]["median"])
    assert set(mate["speedup"]) == {"hf_tapas", "dense_sdpa"}
    assert mate["flops"]["counted"] == pytest.approx(mate["flops"]["formula"], rel=0.01)
    assert mate["flops"]["needed"] <= mate["flops"]["formula"]
    assert "| 256 | mate |" in report()
    assert "- not measured: 29 of 29 goals" in report()
    figures = {path.name for path in Path("bench").glob("*.png")}
    assert figures == {f"{name}-tiny-forward-fp32-grid-b1.png" for name in ("figure4-time", "figure5-flops")}
    assert all(name in report() for name in figures)
    shown = capsys.readouterr().out
    assert "3/3  tiny forward fp32, grid 1 x 256\n" in shown
    assert shown.endswith("tables and figures: bench/report.md\n")


@pytest.mark.slow
def test_the_largest_batch_is_the_last_that_fits(
    bench: Mate, memory_server: MemoryServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bench_run, "MemoryServer", lambda threads: memory_server)
    monkeypatch.setattr(memory_server, "close", lambda: None)
    words = ("models=[limit]", "lengths=[512]", "modes=[training]", "measures=[largest_batch]", "layers=1")
    assert bench(*words, "memory=0.03") == 0
    found = by_model(512)["limit"]["largest_batch"]
    assert f"| 512 | limit | {found} |" in report()
    point = Point("tiny", 1, "grid", 512, found, "training", "fp32", "cpu")
    fits, too_large = (memory_server.peak("limit", replace(point, batch=found * times))["bytes"] for times in (1, 2))
    assert fits < 0.04 * 2**30 < too_large
    assert bench(*words, "memory=0.0001", "overwrite=true") == 1  # no figure
    assert by_model(512)["limit"]["left_out"] == {"largest_batch": "one example takes more than 0.00 GiB"}


def test_who_is_left_out_is_named_with_the_reason(
    bench: Mate, memory_server: MemoryServer, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(bench_run, "MemoryServer", lambda threads: memory_server)
    monkeypatch.setattr(memory_server, "close", lambda: None)
    assert bench("models=[limit,mate,hf_tapas]", "lengths=[4096]", "memory=0.3", "layers=1") == 0
    left_out = by_model(4096)["hf_tapas"]["left_out"]
    assert set(left_out) == {"speed", "flops", "memory"}
    assert all("GiB, and 0.3 are available" in reason for reason in left_out.values())
    assert "seconds" not in by_model(4096)["hf_tapas"]
    assert by_model(4096)["mate"]["left_out"] == {}
    assert by_model(4096)["mate"]["peak_over_limit"] > 0.5
    assert "## Left out" in report()
    assert "- hf_tapas, tiny, forward, fp32, grid, batch 1, 4096: speed: would take about" in report()
    assert "hf_tapas      speed left out: would take about" in capsys.readouterr().out


def test_a_backend_that_cannot_run_here_is_left_out(bench: Mate) -> None:
    assert bench("models=[limit,mate@varlen]", "lengths=[64]", "measures=[speed]") == 0
    assert by_model(64)["mate@varlen"]["left_out"]["speed"].startswith("UserError: ")


def test_a_bench_that_measures_nothing_fails(bench: Mate, capsys: pytest.CaptureFixture[str]) -> None:
    assert bench("models=[mate@varlen]", "lengths=[64]", "measures=[speed]") == 1
    assert capsys.readouterr().err.startswith("error: nothing was measured: UserError: ")
    assert "## Left out" in report()


def test_ctrl_c_leaves_what_was_measured(
    bench: Mate, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    measure = bench_run.measure

    def interrupted(point: Any, *rest: Any) -> Any:
        if point.length == 128:
            raise KeyboardInterrupt
        return measure(point, *rest)

    words = ("models=[limit]", "lengths=[64,128]", "measures=[speed]")
    monkeypatch.setattr(bench_run, "measure", interrupted)
    assert bench(*words) == 130
    assert capfd.readouterr().err == "interrupted\n"
    assert not results()["finished"]
    assert [record["length"] for record in results()["records"]] == [64]
    assert Path("bench/report.md").exists()
    (kept,) = results()["records"]
    monkeypatch.setattr(bench_run, "measure", measure)
    assert bench(*words, "resume=true", "seed=1") == 2
    line = "it was measured with another seed; repeat its settings, or take another folder with to=FOLDER"
    assert capfd.readouterr().err == f"error: cannot resume bench: {line}\n"
    assert bench(*words, "resume=true") == 0
    assert results()["finished"]
    assert len(results()["sittings"]) == 2
    assert results()["records"][0] == kept
    assert [record["length"] for record in results()["records"]] == [64, 128]


def test_results_are_not_replaced_unasked(bench: Mate, capfd: pytest.CaptureFixture[str]) -> None:
    words = ("models=[limit]", "lengths=[64,128]", "measures=[flops]")
    assert bench(*words) == 0
    assert len(list(Path("bench").glob("*.png"))) == 1
    assert bench(*words) == 2
    line = "take another folder with to=FOLDER, replace it with overwrite=true, or measure what is missing with "
    assert capfd.readouterr().err == f"error: bench/results.json exists: {line}resume=true\n"
    assert bench("overwrite=true", "models=[limit]", "lengths=[64]", "measures=[flops]") == 0
    assert list(Path("bench").glob("*.png")) == []


def test_a_folder_that_can_no_longer_be_written_is_one_line(
    bench: Mate, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(diagnosis, "blocked_outputs", lambda *_: [])  # it could be when the command began
    Path("file").touch()
    assert bench("to=file/x") == 2
    assert capfd.readouterr().err.startswith("error: cannot write file/x/results.json: ")
    with file_size_limit(1000):
        assert bench("to=y") == 2
    assert "cannot write y/results.json: a limit on the size of files is reached; raise it" in capfd.readouterr().err


@pytest.mark.parametrize(
    ("word", "line"),
    [
        ("lengths=2048", "lengths=2048: must be a list [A,B] of whole numbers or null"),
        ("lengths=256,512", "lengths=256,512: write the list in brackets, lengths=[256,512]"),
        ("lengths=[256,two]", "lengths=[256, 'two']: must be a list [A,B] of whole numbers or null"),
        ("lengths=[32]", "lengths=32: must be at least 64"),
        ("lengths=[]", "lengths is empty"),
        ("sizes=[bse]", "unknown sizes 'bse': did you mean base? choose from tiny, minilm, base, large"),
        (
            "suite=quik",
            "unknown suite 'quik': did you mean quick? "
            "choose from acceptance, backends, full, gpu, paper, quick, shapes, training",
        ),
        ("suite.rounds=2", "suite.rounds=2: must be at least 3"),
        ("suite.grids.figures.batches=[0]", "suite.grids.figures.batches=0: must be at least 1"),
        ("layer=3", "unknown key 'layer': did you mean layers?"),
    ],
)
def test_a_mistake_is_one_line(
    word: str, line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["bench", word]) == 2
    assert capfd.readouterr().err == f"error: {line}\n"
    assert list(tmp_path.iterdir()) == []


def test_a_model_that_does_not_exist_is_one_line(bench: Mate, capfd: pytest.CaptureFixture[str]) -> None:
    assert bench("models=[mate,mat]") == 2
    assert capfd.readouterr().err.startswith("error: unknown model 'mat': did you mean mate? choose from all, limit")
    assert not Path("bench").exists()


def test_what_is_no_result_is_not_gone_on_with(bench: Mate, capfd: pytest.CaptureFixture[str]) -> None:
    Path("bench").mkdir()
    Path("bench/results.json").write_text('{"records": []}')
    assert bench("models=[limit]", "lengths=[64]", "measures=[flops]", "resume=true") == 2
    line = "is no result of mate bench; take another folder with to=FOLDER"
    assert capfd.readouterr().err == f"error: bench/results.json {line}\n"
    assert Path("bench/results.json").read_text() == '{"records": []}'


def test_times_of_several_versions_are_not_mixed(bench: Mate, capfd: pytest.CaptureFixture[str]) -> None:
    words = ("models=[limit]", "lengths=[64]", "measures=[flops]")
    assert bench(*words) == 0
    made, now = results(), results()["environment"]["packages"]["torch"]
    capfd.readouterr()
    for part, named in (
        ({"python": "3.8.1"}, "Python 3.8.1 (now "),
        ({"git": {"commit": "0123456789ab", "dirty": True}}, "code 0123456789+ (now "),
        ({"packages": {**made["environment"]["packages"], "torch": "1.0"}}, f"torch 1.0 (now {now}), and times of "),
    ):
        earlier = json.dumps({**made, "environment": {**made["environment"], **part}})
        Path("bench/results.json").write_text(earlier)
        assert bench(*words, "resume=true") == 2
        error = capfd.readouterr().err
        assert error.startswith(f"error: cannot resume bench: it was measured with {named}")
        assert error.endswith("; take another folder with to=FOLDER, or replace it with overwrite=true\n")
        assert Path("bench/results.json").read_text() == earlier
    Path("bench/results.json").write_text(json.dumps(made))
    assert bench(*words, "resume=true") == 0
    assert results()["records"] == made["records"]


@pytest.fixture
def tapas(tmp_path: Path) -> Path:
    """A folder as Hugging Face's library saves TAPAS, of three layers."""
    folder = tmp_path / "tapas"
    sizes = {"hidden_size": 32, "num_attention_heads": 2, "intermediate_size": 48, "num_hidden_layers": 3}
    TapasForQuestionAnswering(TapasConfig(vocab_size=50, **sizes)).save_pretrained(folder)
    return folder


@pytest.mark.slow
def test_a_run_is_measured_at_its_size_beside_the_references(
    tapas: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tapas.parent)
    words = ("suite.rounds=3", "device=cpu", "threads=1", "lengths=[64]", "measures=[speed,flops,memory]")
    assert main(["bench", "run=tapas", *words]) == 0
    found = by_model(64)
    assert list(found) == ["limit", "hf_tapas", "tapas"]
    assert {(record["size"], record["layers"]) for record in found.values()} == {("32x2x48", 3)}
    assert found["tapas"]["flops"] == pytest.approx(found["hf_tapas"]["flops"], rel=0.05)
    assert found["tapas"]["peak_bytes"] > 0
    assert "32x2x48 forward fp32, grid 1 x 64" in capsys.readouterr().out
    shutil.move("tapas", "tapas-model")
    assert main(["bench", "run=tapas-model", "models=[tapas@eager]", "layers=1", *words, "to=one"]) == 0
    assert [(r["model"], r["layers"]) for r in results("one")["records"]] == [("tapas@eager", 1), ("tapas-model", 1)]


def test_a_folder_that_cannot_be_measured_is_one_line(
    tapas: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tapas.parent)
    Path("empty").mkdir()
    for words, line in {
        ("run=tapas", "sizes=[tiny]"): "error: run and sizes: set one of them; a run has its own size\n",
        (
            "run=empty",
        ): "error: run=empty: is not a run folder: it has no config.yaml; mate runs lists those that exist, "
        "mate train makes one\n",
    }.items():
        assert main(["bench", *words]) == 2
        assert capsys.readouterr().err == line
    Path("tapas/model.onnx").touch()
    assert main(["bench", "run=tapas"]) == 2
    graph = "error: tapas holds a graph for ONNX Runtime; measure the run that it was exported from\n"
    assert capsys.readouterr().err == graph
    assert not Path("bench").exists()


def test_a_bench_of_backends_says_how_near_auto_comes_to_the_fastest(bench: Mate) -> None:
    assert bench("models=[limit,mate,mate@dense,mate@ragged]", "lengths=[64,128]", "measures=[speed]") == 0
    found = results()["auto"]
    assert found["auto"]["points"] == found["without_native"]["points"] == 2
    assert by_model(64)["mate@ragged"]["backend"] == "ragged"
    assert by_model(64)["mate"]["backend"] in ("native", "dense", "ragged")
    assert f"{found['auto']['mean']:.3f}" in report().partition("## The rule of auto")[2]
