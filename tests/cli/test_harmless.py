"""Words and files that could run code, or read what is not theirs, are refused with one line."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from mate_cli.cli.main import main
from mate_cli.config.paths import conf_folder
from mate_cli.config.plain import to_plain
from mate_cli.runs.folder import load_run_config
from mate_cli.system.errors import UserError
from tests.config.test_config import train_config

HYDRA = "of Hydra's keys only hydra.launcher.KEY, hydra.sweeper.KEY and hydra.sweep.dir"
CODE = "the key '_target_' names code to run; leave it out"
PARTIAL = "the key '_partial_' names code to run; leave it out"


def environment(value: str) -> str:
    return f"'{value}' reads the environment or runs code; write the value itself"


@pytest.mark.parametrize(
    ("word", "reason"),
    [
        ("seed=${oc.env:HOME}", environment("${oc.env:HOME}")),
        ("seed='${oc.decode:x}'", environment("${oc.decode:x}")),
        ("seed=1,${oc.env:SEED}", environment("${oc.env:SEED}")),
        ("task=${oc.env:HOME}", environment("${oc.env:HOME}")),
        ("task.schedules.laptop={lr: '${oc.env:HOME}'}", environment("${oc.env:HOME}")),
        ("hydra.launcher.folder=${oc.env:HOME}", environment("${oc.env:HOME}")),
        ("hydra.launcher.folder=${hydra:runtime.cwd}", environment("${hydra:runtime.cwd}")),
        ("analysis=['${oc.env:HOME}'],b", environment("${oc.env:HOME}")),
        ("hydra.searchpath=[file:///tmp]", HYDRA),
        ("hydra.searchpath=[pkg://os]", HYDRA),
        ("hydra.launcher.folder=\\${oc.env:HOME}", environment("\\${oc.env:HOME}")),
        ("hydra.sweeper.params={hydra: {searchpath: [a]}}", HYDRA),
        ("hydra.sweeper.params.hydra.searchpath=[a]", HYDRA),
        ("hydra.callbacks={a: {b: c}}", HYDRA),
        ("hydra/job_logging=default", HYDRA),
        ("hydra.job_logging.handlers={a: b}", HYDRA),
        ("hydra.job.env_set={A: b}", HYDRA),
        ("hydra.run.dir=/tmp/x", HYDRA),
        ("hydra={run: x}", HYDRA),
        ("hydra.launcher._target_=os.system", CODE),
        ("hydra.sweeper._target_=os.system", CODE),
        ("hydra.launcher.parameters={a: {_target_: os.system}}", CODE),
        ("hydra.launcher.parameters={a: [{_partial_: true}]}", PARTIAL),
        ("model={_target_: os.system}", CODE),
        ("model._target_=os.system", CODE),
    ],
)
def test_a_word_that_could_run_code_is_refused(word: str, reason: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["train", word, "--cfg", "job"]) == 2
    assert capsys.readouterr().err == f"error: cannot set '{word}': {reason}\n"


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["--config-dir=/nowhere"], "/nowhere is no folder"),
        (["--config-path", "/tmp"], "unknown option"),
        (["+hydra.searchpath=[file:///tmp]"], "cannot add"),
        (["++hydra.searchpath=[file:///tmp]"], "only hydra.launcher.KEY"),
        (["hydra/sweeper=mine"], "unknown hydra/sweeper 'mine'"),
        (["data_dir=s3://key:secret@bucket/tables"], "data_dir holds a password or a key"),
    ],
)
def test_other_ways_in(words: list[str], reason: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["train", *words, "--cfg", "job"]) == 2
    error = capsys.readouterr().err
    assert reason in error
    assert error.count("\n") == 1
    assert "secret" not in error


@pytest.mark.parametrize(
    "word", ["name=${oc.env:HOME}", "data_dir=a:${b}", "seed=${hardware.devices}", "data_dir=hf://datasets/a/b@rev"]
)
def test_texts_mean_themselves_and_values_may_name_other_keys(word: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["train", word, "hardware.devices=1", "--cfg", "job"]) == 0
    assert word.partition("=")[2].replace("$", "") in capsys.readouterr().out.replace("$", "").replace("\\", "")


def test_lightning_may_start_the_further_processes_of_a_training(capsys: pytest.CaptureFixture[str]) -> None:
    words = ('hydra.run.dir="."', "hydra.job.name=train_ddp_process_1", "hydra.output_subdir=null")
    assert main(["train", *words, "--cfg", "job"]) == 0
    assert capsys.readouterr().err == ""


def test_we_instantiate_nothing_but_our_launchers() -> None:
    found: dict[str, object] = {}
    for file in sorted(conf_folder().rglob("*.yaml")):
        found |= {str(file): target for target in _targets(yaml.safe_load(file.read_text(encoding="utf-8")))}
    assert len(found) == 4
    assert set(found.values()) == {"hydra_plugins.mate_launchers.MateLauncher"}


def _targets(node: object) -> list[object]:
    if isinstance(node, dict):
        return [own for name, value in node.items() for own in ([value] if name == "_target_" else _targets(value))]
    return [own for value in node for own in _targets(value)] if isinstance(node, list) else []


def write_config(folder: Path, **changes: object) -> Path:
    (folder / "config.yaml").write_text(yaml.safe_dump({**to_plain(train_config("backbone=tiny")), **changes}))
    return folder


@pytest.mark.parametrize(
    "content",
    [
        "!!python/object/apply:os.system ['touch ran']",
        "seed: !!python/object/apply:os.system ['touch ran']",
    ],
)
def test_a_configuration_from_elsewhere_makes_no_objects(
    content: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "config.yaml").write_text(content)
    with pytest.raises(UserError, match="is not a configuration of mate train"):
        load_run_config(tmp_path)
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize("changes", [{"_target_": "os.system"}, {"model": {"_target_": "os.system"}}])
def test_a_configuration_from_elsewhere_names_no_code(changes: dict[str, object], tmp_path: Path) -> None:
    with pytest.raises(UserError, match="_target_"):
        load_run_config(write_config(tmp_path, **changes))


@pytest.mark.parametrize("text", ["${oc.env:HOME}", "\\${a:b}"])
def test_a_configuration_from_elsewhere_reads_no_environment(text: str, tmp_path: Path) -> None:
    assert load_run_config(write_config(tmp_path, data_dir=text)).data_dir == text
    with pytest.raises(UserError, match="could not be converted to Integer"):
        load_run_config(write_config(tmp_path, seed=text))
