"""Launchers by name: their keys, what is refused, and which command lines their jobs get."""

from __future__ import annotations

import dataclasses
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
import yaml

from mate_cli.cli.main import main
from mate_cli.cli.sweep import process
from mate_cli.cli.sweep.jobs import Ending
from mate_cli.cli.sweep.starters import _ending
from mate_cli.config.catalogue import options
from mate_cli.config.paths import conf_folder
from mate_cli.config.sweep import LAUNCHERS


def test_every_launcher_has_a_file_with_the_defaults_of_its_class() -> None:
    found = options("hydra/launcher")
    assert [option.name for option in found] == sorted(LAUNCHERS)
    assert all(option.line.endswith(".") for option in found)
    for name, root in LAUNCHERS.items():
        stated = yaml.safe_load((conf_folder() / "hydra" / "launcher" / f"{name}.yaml").read_text())
        assert stated.pop("_target_") == "hydra_plugins.mate_launchers.MateLauncher"
        assert stated == {"name": name, **dataclasses.asdict(root())}


@pytest.fixture
def echo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Jobs write down their command lines and fail where ``seed=1``; the folder of the sweep is empty."""
    code = "import sys; print(sys.argv[1:]); print('error: no luck'); sys.exit(4 * ('seed=1' in sys.argv))"
    monkeypatch.setattr(process, "PROGRAM", (sys.executable, "-c", code))
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.usefixtures("echo")
def test_a_local_sweep_hands_out_the_words_of_each_job(capfd: pytest.CaptureFixture[str]) -> None:
    Path("a b, 'c'").mkdir()
    words = ["-m", "seed=0,1", "hydra/launcher=local", "data_dir=a b, 'c'", "--debug", "task=wtq"]
    assert main(["train", *words]) == 4
    out, errors = capfd.readouterr()
    for number, seed in ((1, 0), (2, 1)):
        words = ["train", f"seed={seed}", "data_dir=a b, 'c'", "task=wtq", "--debug"]
        assert f"[{number}] {words}" in out.splitlines()
    told = out[out.index("sweep of") :].splitlines()
    assert [line.split()[:2] for line in told[1:]] == [["done", "seed=0"], ["failed", "seed=1"]]
    assert told[2].endswith(": no luck")
    assert errors.splitlines()[-1].startswith("error: 1 of 2 jobs failed; the same command")


@pytest.mark.usefixtures("echo")
@pytest.mark.parametrize(
    ("words", "lines"),
    [
        (
            ["hydra/launcher=local", "hydra.launcher.at_once=two"],
            ["error: hydra.launcher.at_once=two: must be a whole number"],
        ),
        (["hydra/launcher=local", "hydra.launcher.at_once=0"], ["error: hydra.launcher.at_once=0: must be at least 1"]),
        (
            ["hydra/launcher=ray", "hydra.launcher.cpus=-1", "hydra.launcher.gpus=-1"],
            [f"error: hydra.launcher.{name}=-1.0: must be at least 0" for name in ("cpus", "gpus")],
        ),
        (
            ["hydra/launcher=local", "hydra.launcher.gpus=1"],
            ["error: hydra.launcher.gpus is a key of ray, and another launcher is chosen: add hydra/launcher=ray"],
        ),
        (
            ["hydra.launcher.queue=1"],
            ["error: hydra.launcher.queue: no launcher has this key; conf/hydra/launcher has the keys of each"],
        ),
        (["name=mine"], None),
    ],
)
def test_a_wrong_sweep_runs_nothing(
    words: list[str], lines: list[str] | None, capfd: pytest.CaptureFixture[str]
) -> None:
    assert main(["train", "-m", "seed=0,1", *words]) == 2
    out, errors = capfd.readouterr()
    assert out == ""
    assert errors.splitlines() == (lines or errors.splitlines())
    assert lines or "have the same run folder runs/sample/mine" in errors


@pytest.mark.usefixtures("echo")
@pytest.mark.parametrize(("launcher", "library"), [("ray", "Ray"), ("submitit", "submitit")])
def test_a_missing_library_is_named_with_the_extra(
    launcher: str, library: str, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, launcher, None)
    assert main(["train", "-m", "seed=0,1", f"hydra/launcher={launcher}"]) == 2
    needs = f"error: hydra/launcher={launcher} needs {library}: pip install '.[sweep]' in a clone of mate\n"
    assert capfd.readouterr() == ("", needs)


@pytest.mark.usefixtures("echo")
def test_a_launcher_without_m_is_warned_about(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    ran: list[object] = []
    monkeypatch.setattr("mate_cli.commands.export.run", ran.append)
    monkeypatch.setattr("mate_cli.cli.diagnosis.missing_inputs", lambda *_: [])
    for count, word in enumerate(("hydra/launcher=local", "hydra.launcher.at_once=2"), 1):
        assert main(["export", "run=a", "to=b", word]) == 0
        assert len(ran) == count
        warning = f"warning: {word} does nothing without -m: this is one job, run here\n"
        assert capfd.readouterr().err == warning


def test_a_lost_worker_is_an_ending_and_another_error_is_not() -> None:
    def lost() -> Ending:
        raise OSError("\n  the node\n died")

    assert _ending(lost, OSError) == Ending(1, "its worker was lost: the node")
    with pytest.raises(OSError, match="the node"):
        _ending(lost, ValueError)


@pytest.mark.usefixtures("echo")
def test_what_submitit_refuses_is_one_line(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    def refuse(**_: object) -> None:
        raise NameError("Unknown argument 'colour'\n\nValid arguments are ...")

    monkeypatch.setitem(sys.modules, "submitit", SimpleNamespace(AutoExecutor=refuse))
    assert main(["train", "-m", "seed=0,1", "hydra/launcher=submitit"]) == 2
    line = "error: submitit refuses hydra.launcher.cluster or parameters: Unknown argument 'colour'\n"
    assert capfd.readouterr() == ("", line)


@pytest.mark.parametrize(
    ("parameters", "reason"),
    [
        ("{slurm_setup: ['echo ran > ran']}", "slurm_setup is no resource of a job: choose from cpus_per_task, "),
        ("{local_setup: ['echo ran > ran']}", "local_setup is no resource of a job: "),
        ("{slurm_additional_parameters: {a: b}}", "slurm_additional_parameters is no resource of a job: "),
        ("{slurm_partition: 'gpu\necho ran > ran'}", "slurm_partition='gpu\\necho ran > ran': must be a number, true,"),
        ("{slurm_partition: [gpu]}", "slurm_partition=['gpu']: must be a number, true, false, or text without"),
        ("{slurm_comment: \"a' --wrap='b\"}", "slurm_comment=\"a' --wrap='b\": must be a number,"),
    ],
)
def test_submitit_is_told_of_resources_alone(
    parameters: str, reason: str, echo: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    called: list[object] = []
    monkeypatch.setitem(sys.modules, "submitit", SimpleNamespace(AutoExecutor=lambda **words: called.append(words)))
    words = ["hydra/launcher=submitit", f"hydra.launcher.parameters={parameters}"]
    assert main(["train", "-m", "seed=0,1", *words]) == 2
    out, errors = capfd.readouterr()
    assert errors.startswith(f"error: hydra.launcher.parameters.{reason}")
    assert (out, errors.count("\n"), called, list(echo.iterdir())) == ("", 1, [], [])


@pytest.mark.usefixtures("echo")
def test_the_folder_of_submitit_is_one_line(capfd: pytest.CaptureFixture[str]) -> None:
    words = ["hydra/launcher=submitit", "hydra.launcher.folder='a\nb'"]
    assert main(["train", "-m", "seed=0,1", *words]) == 2
    assert capfd.readouterr().err == "error: hydra.launcher.folder='a\\nb': must be one line of plain text\n"


@pytest.mark.usefixtures("echo")
def test_resources_reach_submitit(monkeypatch: pytest.MonkeyPatch) -> None:
    told: dict[str, object] = {}

    class Executor:
        def __init__(self, **_: object) -> None:
            pass

        def update_parameters(self, **parameters: object) -> None:
            told.update(parameters)
            raise ValueError("enough")

    monkeypatch.setitem(sys.modules, "submitit", SimpleNamespace(AutoExecutor=Executor))
    parameters = "{gpus_per_node: 1, slurm_partition: gpu, slurm_constraint: 'a100&nvme'}"
    words = ["hydra/launcher=submitit", "hydra.launcher.minutes=9", f"hydra.launcher.parameters={parameters}"]
    assert main(["train", "-m", "seed=0,1", *words]) == 2
    assert told == {
        "timeout_min": 9,
        "gpus_per_node": 1,
        "slurm_partition": "gpu",
        "slurm_constraint": "a100&nvme",
    }
