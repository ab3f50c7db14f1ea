"""`mate COMMAND [KEY=VALUE ...]`: from the command line to a command, from an error to one line.

Exit codes: 0; 2 for usage, configuration or data; 1 for what went wrong while running; 130 for Ctrl-C; 75 for SIGTERM
and for a run folder that is in use: the same command, later, goes on.
Only the standard library is imported here, so that help and typing mistakes are answered at once.
"""

from __future__ import annotations

import difflib
import importlib
import os
import sys

from mate_cli import __version__
from mate_cli.cli.help import COMMANDS, command_help, overview
from mate_cli.config.user_folder import config_dir, take_config_dir, user_folder
from mate_cli.system.errors import UserError, report
from mate_cli.system.output import escape_unwritable
from mate_cli.system.stopping import stopping_tidily

WITHOUT_KEYS = ("ls", "doctor", "completion")
HELP = ("--help", "-h")


def main(argv: list[str] | None = None) -> int:
    """Run a command line (default: that of the process); returns the exit code."""
    words = list(sys.argv[1:] if argv is None else argv)
    debug = "--debug" in words
    # Threads that wait by spinning slow each other down many times over as soon as a neighbour wants a core.
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
    # oneDNN keeps what it has compiled for the last 1,024 shapes: gigabytes, for packed batches all differ in length.
    for name in ("ONEDNN_PRIMITIVE_CACHE_CAPACITY", "LRU_CACHE_CAPACITY"):
        os.environ.setdefault(name, "64")
    escape_unwritable()
    try:
        with stopping_tidily():
            words, folder = take_config_dir([word for word in words if word != "--debug"])
            with config_dir(folder):
                code = _dispatch(words, debug)
        sys.stdout.flush()
    except BrokenPipeError:  # the process at the other end, say `head`, has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except SystemExit as leaving:  # what Lightning makes of Ctrl-C, without a word
        if not isinstance(leaving.__context__, KeyboardInterrupt):
            raise
        return report(leaving.__context__, "", debug)
    except (Exception, KeyboardInterrupt) as error:
        return report(error, "", debug)
    return code


def _dispatch(words: list[str], debug: bool) -> int:
    if words[:1] == ["help"] and len(words) > 1:  # mate help train
        words = [*words[1:], "--help"]
    if not words or words[0] in (*HELP, "help"):
        print(overview())
        return 0 if words else 2
    index = next((index for index, word in enumerate(words) if not word.startswith("-")), 0)
    command, rest = words[index], words[:index] + words[index + 1 :]  # switches such as -m may also stand before it
    if command in ("--version", "version"):
        print(f"mate {__version__}")
    elif command not in COMMANDS:
        near = difflib.get_close_matches(command, COMMANDS, n=1, cutoff=0.5)
        hint = f"did you mean mate {near[0]}? " if near else ""
        raise UserError(f"unknown command '{command}': {hint}choose from {', '.join(COMMANDS)}")
    else:
        _call(command, rest, debug)
    return 0


def _call(command: str, words: list[str], debug: bool) -> None:
    if user_folder() is not None and command != "completion":
        from mate_cli.cli.user_files import check_user_files

        check_user_files()
    if any(word in HELP for word in words):
        print(command_help(command, [word for word in words if word not in HELP]))
    elif command in WITHOUT_KEYS:
        _plain(command, words)
    else:
        from mate_cli.cli.launch import launch

        launch(command, words, debug)


def _plain(command: str, words: list[str]) -> None:
    """Run a command that takes words and no keys."""
    from mate_cli.config.commands import PLAIN

    if len(words) > PLAIN[command]:
        raise UserError(f"mate {command} takes no '{words[-1]}'; mate {command} --help shows what it takes")
    importlib.import_module(f"mate_cli.commands.{command}").run(*words)
