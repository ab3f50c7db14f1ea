"""Options of the user's own: found everywhere, checked all at once, and unable to run code or read the environment."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from hydra import compose

from mate_cli.cli.completion import candidates
from mate_cli.cli.diagnosis import composing, typed
from mate_cli.cli.main import main
from mate_cli.cli.user_files import SCHEMAS, check_user_files
from mate_cli.config.catalogue import typed_options
from mate_cli.config.model import ModelConfig
from mate_cli.config.task import active_schedule
from mate_cli.config.user_folder import GROUPS, VARIABLE, config_dir
from mate_cli.system.errors import UserError

MODEL = """# MATE with three row heads of four.
defaults:
  - mate

name: rows_first
row_ratio: 0.75
"""
TASK = """# Questions about price lists.
defaults:
  - own

name: prices
schedules:
  night:
    batch: 4
    steps: 9
    lr: 1e-4
"""
EXPERIMENT = """# @package _global_
# Price lists overnight.
defaults:
  - override /task: prices
  - override /model: rows_first
  - override /backbone: tiny

schedule: night
data_dir: lists
"""
FILES = {"model/rows_first": MODEL, "task/prices": TASK, "experiment/nightly": EXPERIMENT}

Write = Callable[..., Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Write option files by GROUP/NAME; returns their folder."""

    def write(files: dict[str, str]) -> Path:
        for name, content in files.items():
            path = tmp_path / "mine" / (name if "." in name else f"{name}.yaml")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(content, encoding="utf-8")
        return tmp_path / "mine"

    return write


def problems(folder: Path) -> list[str]:
    """The lines of ``check_user_files``, without the folder in front of the file."""
    with config_dir(str(folder)), pytest.raises(UserError) as caught:
        check_user_files()
    return [line.removeprefix(f"{folder}/") for line in str(caught.value).splitlines()]


def test_the_files_of_the_users_own_are_sound(write: Write) -> None:
    with config_dir(str(write(FILES))):
        check_user_files()
        with composing():
            config = typed(compose("train", ["experiment=nightly", "seed=3"]))
    assert (config.task.name, config.task.format, config.data_dir, config.seed) == ("prices", "own", "lists", 3)
    assert (config.model.name, config.model.heads, config.model.row_ratio) == ("rows_first", "mate", 0.75)
    assert (active_schedule(config).steps, active_schedule(config).lr) == (9, 1e-4)


@pytest.mark.parametrize("given", ["flag before", "flag behind", "environment"])
def test_every_command_finds_them(
    given: str, write: Write, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = write(FILES)
    monkeypatch.chdir(folder.parent)

    def said(*words: str) -> str:
        before = ["--config-dir", folder.name] if given == "flag before" else []
        behind = [f"--config-dir={folder.name}"] if given == "flag behind" else []
        if given == "environment":
            monkeypatch.setenv(VARIABLE, folder.name)
        assert main([*before, *words, *behind]) == 0
        return capsys.readouterr().out

    assert "prices" in said("ls", "tasks")
    assert re.search("^rows_first +MATE with three row heads of four.$", said("ls", "models"), re.MULTILINE)
    assert "nightly" in said("ls", "experiments")
    assert re.search("^prices: night +9 steps, batch 4, 2048 tokens, lr 0.0001$", said("ls", "schedules"), re.MULTILINE)
    assert "rows_first" in said("train", "--help")
    assert "name: prices" in said("train", "task=prices", "--cfg", "job")
    assert os.environ.get(VARIABLE) == (folder.name if given == "environment" else None)


def test_the_last_flag_counts_and_one_without_a_folder_is_refused(
    write: Write, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = str(write(FILES))
    assert main(["ls", "tasks", "--config-dir", "/nowhere", "--config-dir", folder]) == 0
    capsys.readouterr()
    for words in (["train", "--config-dir"], ["train", "--config-dir="]):
        assert main(words) == 2
        assert capsys.readouterr().err == "error: --config-dir needs a folder, like --config-dir=conf\n"
    assert main(["train", "--config-dir=/nowhere"]) == 2
    assert capsys.readouterr().err == "error: --config-dir: /nowhere is no folder\n"
    for file in Path(folder).rglob("*.yaml"):
        file.unlink()
    assert main(["train", "--config-dir", folder]) == 2
    line = f"{folder} has no options: they are its files GROUP/NAME.yaml, such as task/mine.yaml"
    assert capsys.readouterr().err == f"error: --config-dir: {line}\n"
    assert main(["--config-dir=/nowhere", "--version"]) == 0


def test_names_of_the_users_own_are_completed_and_near_ones_named(
    write: Write, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = write(FILES)
    line = f"mate train --config-dir {folder} "
    assert candidates(f"{line}task=pri") == ["task=prices"]
    assert candidates(f"{line}experiment=nig") == ["experiment=nightly"]
    assert "schedule=night" in candidates(f"{line}task=prices schedule=")
    assert candidates("mate train task=pri") == []
    assert candidates("mate train --config-dir ") == candidates("mate train --config-dir=x") == []
    assert candidates("mate train --conf") == ["--config-dir="]
    assert main(["train", f"--config-dir={folder}", "task=price", "schedule=nightt"]) == 2
    assert "unknown task 'price': did you mean prices? choose from" in capsys.readouterr().err


def test_a_model_of_the_users_own_is_benched(write: Write) -> None:
    with config_dir(str(write(FILES))):
        assert typed_options("model", ModelConfig)["rows_first"].row_ratio == 0.75
        assert typed_options("model", ModelConfig)["rows_first"].heads == "mate"
    assert "rows_first" not in typed_options("model", ModelConfig)


def test_every_group_is_checked_against_its_keys() -> None:
    assert tuple(SCHEMAS) == GROUPS


CODE = "# @package _global_\n"
MISTAKES = [
    ("task/prices", "name: prices\nformt: own", "unknown key 'formt': did you mean format?"),
    ("task/prices", "name: prices\nsentences: many", "sentences=many: must be a whole number"),
    ("task/prices", "name: prices\nqa: 3", "qa is a group of keys"),
    (
        "task/prices",
        "name: prices\nschedules: {night: {lrr: 1}}",
        "unknown key 'schedules.night.lrr': did you mean schedules.night.lr?",
    ),
    ("task/prices", "defaults: [own]", "name is None; set it to prices, as the file is called"),
    ("task/prices", "name: price", "name is price; set it to prices, as the file is called"),
    ("task/prices", "- name", "holds no KEY: VALUE"),
    ("task/hybridqa", "name: hybridqa", "task=hybridqa is a shipped option; choose another name"),
    ("task/own prices", "", "call it task/NAME.yaml, with letters, digits, - and _ in its name"),
    ("task/deep/prices", "", "call it task/NAME.yaml, with letters, digits, - and _ in its name"),
    ("task/task/prices", "", "call it task/NAME.yaml, with letters, digits, - and _ in its name"),
    ("task/prices.yml", "", "call it task/NAME.yaml, with letters, digits, - and _ in its name"),
    ("task/prices", "# @package hydra\nname: prices", "leave out '# @package hydra'"),
    ("task/prices", "name: prices\ndefaults: [owm]", "defaults: unknown task 'owm': did you mean own?"),
    (
        "experiment/nightly",
        "# Mine.\nschedule: smoke",
        "begin it with the line '# @package _global_'",
    ),
    (
        "experiment/nightly",
        "# @package _global_\ndefaults:\n  - override /model: mat",
        "defaults: unknown model 'mat': did you mean mate?",
    ),
    (
        "experiment/nightly",
        "# @package _global_\nlearning: 1\nseed: two",
        "unknown key 'learning'",
    ),
    ("ablation/mine", "# @package _global_\nmodel: {row_ratio: 0.1}", "ablation.name is None; set it to mine"),
    ("train_schema", "name: x", "a file of options stands in the folder of its group"),
]
LAUNCHER = f"{CODE}defaults: [{{override /hydra/launcher: submitit}}]\nhydra:\n  mode: MULTIRUN\n  launcher: "
PARAMETERS = "hydra.launcher.parameters"
# Files run no code and change nothing of Hydra but the sweep of an experiment.
REFUSED = [
    ("task/x", "name: x\n_target_: os.system", "the key '_target_' names code to run; leave it out"),
    (
        "task/x",
        "name: x\nschedules: {a: {_target_: os.system}}",
        "the key '_target_' names code to run; leave it out",
    ),
    ("experiment/x", f"{CODE}data_dir: ${{oc.env:HOME}}", "'${oc.env:HOME}' reads the environment"),
    ("experiment/x", f"{CODE}seed: ${{oc.decode:${{name}}}}", "'${oc.decode:${name}}' reads"),
    ("experiment/x", f"{CODE}defaults: ['override /task: ${{oc.env:X}}']", "'override /task: ${oc.env:X}' reads"),
    ("experiment/x", f"{CODE}hydra: {{job: {{chdir: true}}}}", "hydra.job.chdir cannot be set in a file"),
    ("experiment/x", f"{CODE}hydra: {{searchpath: [/tmp]}}", "hydra.searchpath cannot be set in a file"),
    ("experiment/x", f"{CODE}hydra: {{sweeper: {{max_batch_size: 1}}}}", "hydra.sweeper.max_batch_size cannot"),
    ("experiment/x", f"{LAUNCHER}{{folder: theirs}}", "hydra.launcher.folder cannot be set in a file"),
    ("experiment/x", f"{LAUNCHER}{{address: 'ray://theirs:1'}}", "hydra.launcher.address cannot be set in a file"),
    ("experiment/x", f"{LAUNCHER}{{_target_: os.system}}", "the key '_target_' names code to run"),
    ("experiment/x", f"{LAUNCHER}{{parameters: {{slurm_setup: [echo]}}}}", f"{PARAMETERS}.slurm_setup is no resource"),
    ("experiment/x", f"{LAUNCHER}{{parameters: {{slurm_python: sh}}}}", f"{PARAMETERS}.slurm_python is no resource"),
    ("experiment/x", f"{LAUNCHER}{{parameters: {{slurm_qos: 'a b'}}}}", f"{PARAMETERS}.slurm_qos='a b': must be a n"),
    (
        "experiment/x",
        f"{CODE}hydra: {{sweeper: {{params: {{hydra.launcher.folder: theirs}}}}}}",
        "hydra.sweeper.params.hydra.launcher.folder cannot be set in a file",
    ),
    (
        "experiment/x",
        f"{CODE}hydra: {{sweeper: {{params: {{++hydra.searchpath: '[theirs]'}}}}}}",
        "hydra.sweeper.params.++hydra.searchpath cannot be set in a file",
    ),
    ("experiment/x", f"{CODE}hydra: code", "hydra. cannot be set in a file"),
    ("task/x", "name: x\nhydra: {mode: MULTIRUN}", "hydra.mode cannot be set in a file"),
    ("experiment/x", f"{CODE}hydra.job.chdir: true", "unknown key 'hydra.job.chdir'"),
    ("task/x", "name: x\ndefaults: [own@hydra]", "defaults: cannot use 'own@hydra'; inherit by NAME of task"),
    ("task/x", "name: x\ndefaults: [own@_global_.hydra.job]", "defaults: cannot use 'own@_global_.hydra.job'"),
    (
        "experiment/x",
        f"{CODE}defaults: [{{override /hydra/job_logging: x}}]",
        "defaults: cannot use 'override /hydra/job_logging'",
    ),
    ("experiment/x", f"{CODE}defaults: [/hydra/callbacks/x]", "defaults: cannot use '/hydra/callbacks/x'"),
]


@pytest.mark.parametrize(("name", "content", "line"), [*MISTAKES, *REFUSED])
def test_a_mistake_is_one_line(name: str, content: str, line: str, write: Write) -> None:
    found = problems(write({name: content}))
    place = name if "." in name else f"{name}.yaml"
    assert [text for text in found if text.startswith(f"{place}: {line}")], found


def test_a_file_may_say_what_a_job_of_a_sweep_needs(write: Write) -> None:
    parameters = "{gpus_per_node: 1, mem_gb: 3.5, slurm_partition: gpu, slurm_time: '2:00:00', slurm_exclusive: true}"
    settings = f"{{cluster: slurm, minutes: 60, parameters: {parameters}}}"
    with config_dir(
        str(write({"experiment/x": LAUNCHER + settings, "experiment/y": f"{LAUNCHER}{{parameters: null}}"}))
    ):
        check_user_files()


@pytest.mark.parametrize("content", ["name: [", "name: prices\nname: prices", "a: !!python/name:os.system", "\x00"])
def test_a_broken_file_is_one_line(content: str, write: Write) -> None:
    (line,) = problems(write({"task/prices": content}))
    assert line.startswith("task/prices.yaml: cannot be read as YAML: ")


def test_all_mistakes_of_all_files_come_at_once(write: Write, capsys: pytest.CaptureFixture[str]) -> None:
    wrong = {
        "task/prices": "nme: prices\nsentence: 3",
        "model/rows_first": "name: mate",
        "prices": "name: prices",
        "tasks/prices": "name: prices",
        "schedule/night": "steps: 3",
    }
    folder = write(wrong)
    assert main(["train", f"--config-dir={folder}"]) == 2
    lines = [line.removeprefix(f"error: {folder}/") for line in capsys.readouterr().err.splitlines()]
    groups = ", ".join(GROUPS)
    assert lines == [
        f"prices.yaml: a file of options stands in the folder of its group: {groups}",
        "model/rows_first.yaml: name is mate; set it to rows_first, as the file is called",
        f"schedule: unknown group 'schedule': choose from {groups}; a schedule belongs to a task",
        "task/prices.yaml: unknown key 'nme': did you mean name?",
        "task/prices.yaml: unknown key 'sentence': did you mean sentences?",
        "task/prices.yaml: name is None; set it to prices, as the file is called",
        f"tasks: unknown group 'tasks': did you mean task? choose from {groups}; a schedule belongs to a task",
    ]


@pytest.mark.parametrize(("name", "content"), [("hydra/launcher/x", "_target_: os.system"), ("logger/x", "name: x")])
def test_files_of_other_groups_are_refused(name: str, content: str, write: Write) -> None:
    assert problems(write({name: content}))[0].startswith(f"{name.partition('/')[0]}: unknown group")


def test_other_files_and_folders_are_left_alone(write: Write) -> None:
    folder = write(
        {**FILES, "data/train.csv": "a", ".git/x.yaml": "a: 1", "notes.md": "a", "data/deep/x.yaml": "_a_: 1"}
    )
    with config_dir(str(folder)):
        check_user_files()


def test_what_only_hydra_can_tell_is_one_line_too(write: Write, capsys: pytest.CaptureFixture[str]) -> None:
    folder = write({"experiment/x": f"{CODE}defaults: [{{override /suite: quick}}]"})
    assert main(["train", f"--config-dir={folder}", "experiment=x"]) == 2
    error = capsys.readouterr().err
    assert error.startswith("error: experiment=x: In 'experiment/x': Could not override 'suite'")
    assert error.count("\n") == 1


def test_options_that_inherit_from_each_other_are_one_line(write: Write) -> None:
    folder = write({"task/a": "name: a\ndefaults: [b]", "task/b": "name: b\ndefaults: [a]"})
    (line,) = problems(folder)
    assert line in ("task=a inherits from itself: a, b, a", "task=b inherits from itself: b, a, b")
