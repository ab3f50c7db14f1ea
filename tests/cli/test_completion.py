"""What a shell is told when Tab is pressed, by real shells where they are there on every machine: bash."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from mate_cli.cli import help
from mate_cli.cli.completion import SHELLS, candidates
from mate_cli.cli.main import main
from mate_cli.config.catalogue import options
from mate_cli.config.commands import ROOTS
from mate_cli.config.schema import keys


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("mate tr", ["train"]),
        ("mate --v", ["--version"]),
        ("mate train --c", ["--cfg", "--config-dir="]),
        ("mate train task=hyb", ["task=hybridqa", "task=hybridqa_reader"]),
        ("mate train -m model=mate,tap", ["model=mate,tapas"]),
        ("mate train -m hydra/l", ["hydra/launcher="]),
        ("mate train hydra/l", []),
        ("mate -m train hydra/launcher=loc", ["hydra/launcher=local"]),
        ("mate train task.m", ["task.masking.", "task.mixed."]),
        ("mate train task.masking.w", ["task.masking.whole_cells="]),
        ("mate train task=wtq task.schedules.laptop.max_t", ["task.schedules.laptop.max_tokens="]),
        ("mate train task=mlm schedule=laptop_l", ["schedule=laptop_linformer"]),
        ("mate reproduce schedule=sm", ["schedule=small", "schedule=smoke"]),
        ("mate train resume=", ["resume=false", "resume=true"]),
        ("mate train seed=", []),
        ("mate train data_dir=/", []),
        ("mate reproduce what=figure4", ["what=figure4"]),
        (
            "mate bench measures=[",
            ["measures=[flops", "measures=[largest_batch", "measures=[memory", "measures=[speed"],
        ),
        ("mate bench measures=[flops,s", ["measures=[flops,speed"]),
        ("mate ls mo", ["models"]),
        ("mate completion ", list(SHELLS)),
        ("mate nonsense ", []),
    ],
)
def test_the_last_word_is_completed(line: str, found: list[str]) -> None:
    assert candidates(line) == sorted(found)


def test_run_folders_are_completed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("runs/sample/demo", "runs/sample/deep", "other/sqa/first"):
        (tmp_path / name).mkdir(parents=True)
        (tmp_path / name / "config.yaml").touch()
    assert candidates("mate predict run=runs/sample/de") == ["run=runs/sample/deep", "run=runs/sample/demo"]
    assert candidates("mate evaluate paths.runs=other run=") == ["run=other/sqa/first"]
    assert candidates("mate evaluate selector=runs/sample/dem") == ["selector=runs/sample/demo"]
    assert candidates("mate runs compare=[runs/sample/deep,runs/sample/dem") == [
        "compare=[runs/sample/deep,runs/sample/demo"
    ]
    assert candidates("mate train backbone=run backbone.path=o") == []
    assert len(candidates("mate train backbone=run backbone.path=")) == 2
    assert candidates("mate train backbone=folder backbone.path=") == []


def test_all_commands_options_and_keys_can_be_reached() -> None:
    assert candidates("mate ") == sorted(help.COMMANDS)
    assert candidates("mate train model=") == [f"model={option.name}" for option in options("model")]
    for key in keys(ROOTS["train"]):
        if "*" not in key.name and not key.name.endswith(".name"):
            assert f"{key.name}=" in candidates(f"mate train {key.name}")


def test_a_shell_that_is_not_known_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["completion", "tcsh"]) == 2
    assert capsys.readouterr().err == "error: unknown shell 'tcsh': choose from bash, zsh, fish\n"


@pytest.mark.parametrize(
    ("line", "reply"),
    [
        ("mate train task=wt", ["wtq"]),  # bash itself has put what is before "=" aside
        ("mate pre", ["predict", "prepare"]),
        ("mate train data_dir=/", []),
    ],
)
def test_bash_takes_the_script(line: str, reply: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    program = tmp_path / "mate"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m mate_cli "$@"\n')
    program.chmod(0o755)
    assert main(["completion", "bash"]) == 0
    press = f"COMP_LINE='{line}' COMP_POINT={len(line)}; _mate '{program}'; printf '%s\\n' \"${{COMPREPLY[@]}}\""
    shell = ["bash", "-c", f"{capsys.readouterr().out}\n{press}"]
    said = subprocess.run(shell, capture_output=True, text=True, check=True).stdout.split()
    assert said == reply
