"""What a user types and what comes back: help, errors in one line, exit codes, `mate ls`."""

from __future__ import annotations

import io
import shlex
import subprocess
import sys
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mate_cli import __version__
from mate_cli.attention import BACKENDS
from mate_cli.cli import diagnosis, help
from mate_cli.cli.main import main
from mate_cli.commands import ls
from mate_cli.config import model, schema
from mate_cli.config.catalogue import GROUPS, LISTED, options
from mate_cli.config.commands import ROOTS
from mate_cli.system.errors import UserError

Act = Callable[[Any], None]


@pytest.fixture
def train_does(monkeypatch: pytest.MonkeyPatch) -> Callable[[Act], None]:
    """Let `mate train` do something else."""

    def install(act: Act) -> None:
        module = types.ModuleType("train")
        module.run = act  # type: ignore[attr-defined]
        monkeypatch.setitem(sys.modules, "mate_cli.commands.train", module)

    return install


def raises(error: BaseException) -> Act:
    def act(config: Any) -> None:
        raise error

    return act


def mate(*words: str, **options: Any) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "mate_cli", *words], capture_output=True, text=True, check=False, **options
    )


def test_an_output_that_lacks_a_character_gets_an_escape(
    train_does: Callable[[Act], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    train_does(lambda config: print("mayor of Łódź"))
    written = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(written, "latin-1"))
    assert main(["train", "task=sample"]) == 0
    assert written.getvalue() == b"mayor of \\u0141\xf3d\\u017a\n"


def test_help_names_every_command_with_its_line_and_an_example(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"]) == 0
    shown = capsys.readouterr().out
    for command in help.COMMANDS:
        assert len(help.one_line(command)) > 20
        assert f"  {command:<11}{help.one_line(command)}\n" in shown
        assert help.EXAMPLES[command][0][0] in shown


def test_every_command_is_a_module_and_every_module_a_command() -> None:
    modules = {file.stem for file in Path(ls.__file__).parent.glob("*.py")} - {"__init__"}
    assert modules == set(help.COMMANDS)


@pytest.mark.parametrize("command", ROOTS)
@pytest.mark.parametrize("flag", ["--help", "-h"])
def test_a_commands_help_explains_groups_keys_and_examples(
    command: str, flag: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([command, flag]) == 0
    shown = capsys.readouterr().out
    assert help.one_line(command) in shown
    assert all(line in shown for line, _ in help.EXAMPLES[command])
    has_paths = "paths" in schema.groups(ROOTS[command])
    assert ("  paths.cache\n      folder for prepared data" in shown) == has_paths
    if command == "train":
        assert f"  model       {', '.join(option.name for option in options('model'))} (default: mate)" in shown
        assert "  seed\n      seed of everything random (a whole number; default: 0)" in shown


@pytest.mark.parametrize("command", ROOTS)
def test_every_example_of_the_help_is_a_valid_command_line(
    command: str, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    seen: list[Any] = []
    monkeypatch.setattr(diagnosis, "missing_inputs", lambda *_: [])  # the examples name runs and data of a user
    for name in ROOTS:  # what is made with one command, the examples use with another
        module = types.ModuleType(name)
        module.run = seen.append  # type: ignore[attr-defined]
        monkeypatch.setitem(sys.modules, f"mate_cli.commands.{name}", module)
    for line, _ in help.EXAMPLES[command]:
        words = shlex.split(line)[1:]
        assert main(words) == 0, capfd.readouterr().err
        assert isinstance(seen[-1], ROOTS[words[0]])


def test_no_command_shows_the_help_and_is_a_mistake(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 2
    assert capsys.readouterr().out == help.overview() + "\n"


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (
            ["trian"],
            "unknown command 'trian': did you mean mate train? "
            "choose from prepare, train, evaluate, predict, ask, bench, analyze, reproduce, runs, report, export, ls, "
            "doctor, completion",
        ),
        (
            ["xyz"],
            "unknown command 'xyz': "
            "choose from prepare, train, evaluate, predict, ask, bench, analyze, reproduce, runs, report, export, ls, "
            "doctor, completion",
        ),
        (
            ["ls", "modls"],
            "unknown kind 'modls': did you mean models? "
            "choose from models, ablations, tasks, backbones, hardware, schedules, experiments, loggers, launchers, "
            "analyses, suites, all",
        ),
        (["ls", "models", "tasks"], "mate ls takes no 'tasks'; mate ls --help shows what it takes"),
        (["doctor", "seed=1"], "mate doctor takes no 'seed=1'; mate doctor --help shows what it takes"),
    ],
)
def test_a_wrong_word_is_one_line(words: list[str], line: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(words) == 2
    assert capsys.readouterr().err == f"error: {line}\n"


@pytest.mark.parametrize("debug", [False, True])
@pytest.mark.parametrize(
    ("error", "code", "line"),
    [
        (UserError("the table is empty"), 2, "error: the table is empty"),
        (UserError("the disk is full", 1), 1, "error: the disk is full"),
        (RuntimeError("a\nb"), 1, "error: RuntimeError: a (run again with --debug for the traceback)"),
        (ValueError(), 1, "error: ValueError (run again with --debug for the traceback)"),
        (KeyboardInterrupt(), 130, "interrupted"),
    ],
)
def test_an_error_is_one_line_and_an_exit_code(
    error: BaseException,
    code: int,
    line: str,
    debug: bool,
    train_does: Callable[[Act], None],
    capfd: pytest.CaptureFixture[str],
) -> None:
    train_does(raises(error))
    assert main(["train", *["--debug"] * debug]) == code
    lines = capfd.readouterr().err.splitlines()
    if debug:
        assert lines[0] == "Traceback (most recent call last):"
        assert lines[-1] == line.replace(" (run again with --debug for the traceback)", "")
    else:
        assert lines == [line]


def test_help_and_version_are_understood_as_words(capsys: pytest.CaptureFixture[str]) -> None:
    for words, same in ((["help"], ["--help"]), (["help", "train"], ["train", "--help"]), (["version"], ["--version"])):
        assert main(words) == main(same) == 0
        first, second = capsys.readouterr().out, None
        assert main(same) == 0
        second = capsys.readouterr().out
        assert first == second * 2


def test_the_help_of_a_command_line_that_runs(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["ask", "cities.csv", "--help"]) == 0
    assert "text; default: cities.csv" in " ".join(capsys.readouterr().out.split())
    assert main(["train", "-m", "model=mate,tapas", "seed=3", "--help"]) == 0
    assert "seed of everything random (a whole number; default: 3)" in " ".join(capsys.readouterr().out.split())


def test_the_help_of_a_task_has_its_defaults(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["train", "--help", "task=hybridqa", "seed=3"]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "tapas_tiny_masklm, tiny (default: bert_large)" in shown
    assert "the schedule where none is named (text; default: paper)" in shown
    assert "default: paper 2048, small 1024, evening 448, released 448, laptop 320, smoke 256" in shown
    assert "(a number or null; default: 10.0)" in shown
    assert "seed of everything random (a whole number; default: 3)" in shown
    assert main(["train", "--help", "task=hybrid", "sed=1"]) == 2
    errors = capsys.readouterr().err.splitlines()
    assert errors[0].startswith("error: unknown task 'hybrid': did you mean hybridqa?")
    assert errors[1] == "error: unknown key 'sed': did you mean seed?"


def test_debug_is_no_word_of_the_command(train_does: Callable[[Act], None]) -> None:
    seen: list[Any] = []
    train_does(seen.append)
    assert main(["--debug", "train", "seed=4"]) == 0
    assert seen[0].seed == 4


def test_the_program_starts_without_heavy_imports() -> None:
    code = "import sys, mate_cli.cli.main, mate_cli.cli.help as h; h.overview(); print(*sys.modules)"
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    top = {name.split(".")[0] for name in shown.split()}
    assert top & {"torch", "hydra", "omegaconf", "yaml", "rich", "numpy", "transformers"} == set()


def test_the_module_runs_as_a_program() -> None:
    done = mate("--version")
    assert (done.returncode, done.stdout, done.stderr) == (0, f"mate {__version__}\n", "")
    done = mate("train", "seed=two")
    assert (done.returncode, done.stdout, done.stderr) == (2, "", "error: seed=two: must be a whole number\n")


def test_a_closed_pipe_is_no_error() -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", "import time; time.sleep(1); import mate_cli.__main__", "ls"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.close()
    assert process.stderr.read() == b""
    assert process.wait() == 1


@pytest.mark.parametrize("kind", LISTED)
def test_ls_prints_a_line_for_each_option(kind: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["ls", kind]) == 0
    lines = capsys.readouterr().out.splitlines()
    if kind == "schedules":
        assert len(lines) == 79
        assert "hybridqa: paper           80,000 steps, batch 128, 2048 tokens, lr 1e-05" in lines
    else:
        found = options(GROUPS[kind])
        assert [line.split(maxsplit=1) for line in lines] == [[option.name, option.line] for option in found]


def test_ls_alone_lists_every_kind(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["ls"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line for line in lines if not line.startswith(" ")] == [f"{kind}:" for kind in LISTED]


def test_ls_draws_a_table_on_a_terminal(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    assert main(["ls", "loggers"]) == 0
    shown = capsys.readouterr().out
    assert "┏━" in shown
    assert "wandb" in shown


def test_the_names_of_backends_are_those_that_exist() -> None:
    assert set(model.BACKENDS) == {"auto", "autotune", *BACKENDS}
