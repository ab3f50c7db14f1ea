"""What could come next on a command line of ``mate``: commands, groups and their options, keys and their values."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from mate_cli.cli.help import COMMANDS
from mate_cli.config.catalogue import LISTED, default_options, options, reproduction_names, schedules
from mate_cli.config.commands import ROOTS
from mate_cli.config.schema import Key, find, keys
from mate_cli.config.user_folder import FLAG, config_dir, take_config_dir
from mate_cli.runs.find import run_folders

FLAGS = ("--help", "--cfg", f"{FLAG}=", "--package", "--resolve", "--debug", "-m")
SHELLS = ("bash", "zsh", "fish")
LAUNCHER = "hydra/launcher"


def candidates(line: str) -> list[str]:
    """Return what the last word of a line, up to the cursor, could become; empty if it may be anything, a file say.

    A candidate that ends in ``=`` or ``.`` waits for more of the same word.
    """
    words = line.split()[1:]
    current = words.pop() if words and not line[-1].isspace() else ""
    if FLAG in words[-1:] or current.startswith(f"{FLAG}="):
        return []
    words, folder = take_config_dir(words)
    command = next((word for word in words if not word.startswith("-")), None)
    with config_dir(folder):
        return sorted({word for word in _next_words(command, words, current) if word.startswith(current)})


def _next_words(command: str | None, words: Sequence[str], current: str) -> Iterator[str]:
    if command is None:
        yield from ("--help", "--version") if current.startswith("-") else COMMANDS
    elif current.startswith("-"):
        yield from FLAGS
    elif command == "ls":
        yield from LISTED
    elif command == "completion":
        yield from SHELLS
    elif command in ROOTS and "=" in current:
        yield from _values(command, words, current)
    elif command in ROOTS:
        yield from _names(command, words, current)


def _names(command: str, words: Sequence[str], current: str) -> Iterator[str]:
    """Keys and groups, one step between dots at a time."""
    if "-m" in words or "--multirun" in words:
        yield f"{LAUNCHER}="
    for group in default_options(command):
        if group.startswith(current):
            yield f"{group}="
    for name in _key_names(command, words, current):
        step = name.find(".", len(current))
        yield f"{name}=" if step < 0 else name[: step + 1]


def _key_names(command: str, words: Sequence[str], current: str) -> Iterator[str]:
    for key in keys(ROOTS[command]):
        start, of_schedules, end = key.name.partition("*")
        if not start.startswith(current[: len(start)]) or key.name.endswith(".name"):  # the option itself sets it
            continue
        names = _schedules(command, words) if of_schedules else ("",)
        yield from (start + name + end for name in names)


def _values(command: str, words: Sequence[str], current: str) -> Iterator[str]:
    """Values of a key or options of a group; of several with commas between, the last is completed."""
    name, _, value = current.partition("=")
    before, comma, _ = value.rpartition(",")
    key = find(ROOTS[command], name)
    if name == LAUNCHER or name in default_options(command):
        choices: Sequence[str] = [option.name for option in options(name)]
    elif name == "schedule" and "task" in default_options(command):
        choices = _schedules(command, words)
    elif name == "what":
        choices = (*reproduction_names(), "all")
    elif key is not None and _names_run(key, words):
        choices = list(map(str, run_folders(Path(_named(words, "paths.runs") or "runs"))))
    else:
        choices = () if key is None else ("true", "false") if key.type is bool else key.meaning.get("choices") or ()
    opening = "[" if key is not None and key.is_list and not before else ""
    yield from (f"{name}={before}{comma}{opening}{choice}" for choice in choices)


def _names_run(key: Key, words: Sequence[str]) -> bool:
    """Return True if a key names a run folder; ``backbone.path`` does only after ``backbone=run``."""
    return key.meaning["reads"] in ("run", "listed run") or (
        key.name == "backbone.path" and _named(words, "backbone") == "run"
    )


def _named(words: Sequence[str], name: str) -> str | None:
    """The value that a line gives to a key or group; the first of several."""
    values = [word.partition("=")[2].split(",")[0] for word in words if word.startswith(f"{name}=")]
    return values[-1] if values else None


def _schedules(command: str, words: Sequence[str]) -> list[str]:
    """The schedules of the task that the line names, or of the command's default."""
    task = _named(words, "task") or default_options(command)["task"]
    return [option.name.partition(": ")[2] for option in schedules(task)]
