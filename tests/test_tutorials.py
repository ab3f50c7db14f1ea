"""Follow the tutorials: write every file, run every command, find every shown line in its output.

A block with a file name after its language is that file. In a ``console`` block a line after ``$`` is a command; the
others are lines of its output, in order, with ``…`` for left-out ones. Numbers, precisions and the widths of tables may
differ.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parent.parent
TUTORIALS = ROOT / "docs/tutorials"
BLOCK = re.compile(r"^```(\w+)(?: (\S+))?\n(.*?)^```", re.DOTALL | re.MULTILINE)


class Command(NamedTuple):
    """A command line, and the output lines that must appear, in order."""

    words: str
    printed: list[str]


def commands(block: str) -> Iterator[Command]:
    for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
        words, _, printed = part.replace("\\\n", " ").partition("\n")
        yield Command(words, [line for line in printed.splitlines() if line.strip() and line != "…"])


def likened(line: str) -> str:
    """Remove what differs between machines from a line: numbers, precisions, marks of chance and table borders."""
    return " ".join(re.sub(r"bf16-mixed|[-+]?[\d.,:]+\*?|[─━┏┳┓┡╇┩└┴┘]+", " ", line).split())


def missing(command: Command, said: str) -> list[str]:
    """Return the shown lines that the output lacks or has in another order."""
    left = iter([likened(line) for line in said.splitlines()])
    return [line for line in command.printed if likened(line) not in left]


def run(command: Command, folder: Path) -> str:
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    environment = os.environ | {"PATH": path, "MATE_CACHE": str(folder / "cache")}  # for the whole sample
    done = subprocess.run(
        ["bash", "-c", command.words], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, f"{command.words}\n{done.stderr}"
    return done.stdout


def follow(name: str, folder: Path) -> int:
    """Follow a tutorial and return its number of commands."""
    count = 0
    for language, file, block in BLOCK.findall((TUTORIALS / f"{name}.md").read_text(encoding="utf-8")):
        if file:
            (folder / file).parent.mkdir(parents=True, exist_ok=True)
            (folder / file).write_text(block, encoding="utf-8")
        for command in commands(block) if language == "console" else ():
            count += 1
            assert missing(command, run(command, folder)) == [], command.words
    return count


@pytest.mark.tutorial
@pytest.mark.timeout(1800)
def test_questions_of_ones_own_and_two_models_compared(tmp_path: Path) -> None:
    assert follow("own-questions", tmp_path) == 8
    assert follow("compare-models", tmp_path) == 4  # goes on with the run of the first


@pytest.mark.tutorial
@pytest.mark.timeout(900)
def test_a_task_is_added(tmp_path: Path) -> None:
    for name in ("mate_cli", "hydra_plugins", "conf", "reproduce"):  # a checkout that the tutorial may change
        shutil.copytree(ROOT / name, tmp_path / name)
    assert follow("add-a-task", tmp_path) == 11


@pytest.mark.tutorial
@pytest.mark.xla
@pytest.mark.timeout(900)
def test_a_run_on_xla(tmp_path: Path) -> None:
    assert follow("tpu", tmp_path) == 4


def test_what_a_tutorial_prints_is_looked_for_in_order() -> None:
    (first, second) = commands("$ mate ls \\\n  models\nmate  1.5 s\n…\nb 2\n$ mate doctor\n")
    assert first == Command("mate ls    models", ["mate  1.5 s", "b 2"])
    assert second == Command("mate doctor", [])
    assert missing(first, "x\nmate 3 s\ny\nb 17\n") == []
    (third,) = commands("$ mate train\n9 TFLOP, bf16-mixed, about 2 min\n")
    assert missing(third, "28.2 TFLOP, 32, about 10.1 min\n") == []
    assert missing(first, "b 17\nmate 3 s\n") == ["b 2"]
    assert missing(first, "mate 3 min\nb 2\n") == ["mate  1.5 s", "b 2"]
