"""The bridge to ``hydra.main``: checks and quotes the command line, then runs the job or the jobs of a sweep.

Around each job the process is put into the state that Lightning's child processes need, and cleaned up
afterwards, so that the next job of a sweep starts as the first one did.
"""

from __future__ import annotations

import importlib
import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from omegaconf import DictConfig

    from mate_cli.overrides import Arguments

Report = Callable[[BaseException, str], int]

# What Lightning tells its child processes; a job that leaves it behind misleads the next one.
RANK_VARIABLES = ("LOCAL_RANK", "NODE_RANK", "MASTER_ADDR", "MASTER_PORT", "WORLD_SIZE")


def launch(command: str, words: list[str], report: Report) -> None:
    """Run ``mate COMMAND WORDS...`` through Hydra: one job, or with ``-m`` one after the other.

    ``report(error, prefix)`` prints the failure of one job of a sweep and returns its exit code; the other
    jobs still run.

    Raises:
        UserError: mistakes in the words, all at once; or jobs of a sweep failed.
    """
    from mate_cli.config import ROOTS
    from mate_cli.diagnosis import diagnose
    from mate_cli.errors import UserError
    from mate_cli.overrides import quote, split

    arguments = split(words)
    arguments.overrides = [quote(ROOTS[command], override) for override in arguments.overrides]
    complete = not arguments.only_shows
    if found := diagnose(command, arguments.overrides, arguments.multirun, complete):
        raise UserError("\n".join(found))
    _run(command, arguments, report)


def _run(command: str, arguments: Arguments, report: Report) -> None:
    from hydra.errors import HydraException

    from mate_cli.errors import UserError

    failures: list[tuple[Exception, int]] = []
    with tempfile.TemporaryDirectory(prefix="mate-sweep-") as folder:
        words = [*arguments.flags, *arguments.overrides]
        if arguments.multirun and not any(word.startswith("hydra") for word in words):
            words.append(f"hydra.sweep.dir={folder}")  # holds Hydra's multirun.yaml, nothing of ours
        try:
            _hydra_main(command, words, _job(command, arguments.multirun, report, failures))
        except HydraException as error:
            raise UserError(str(error).splitlines()[0]) from error
    if failures and not arguments.multirun:
        raise failures[0][0]
    if failures:
        raise UserError(f"{len(failures)} of the jobs failed", failures[0][1])


def _hydra_main(command: str, words: list[str], job: Callable[[DictConfig], None]) -> None:
    import hydra

    from mate_cli.config import conf_folder

    with _restored_process():
        os.environ["HYDRA_FULL_ERROR"] = "1"  # raise, do not print and exit
        sys.argv = [sys.argv[0], *words]
        hydra.main(version_base="1.3", config_path=str(conf_folder()), config_name=command)(job)()


def _job(
    command: str, multirun: bool, report: Report, failures: list[tuple[Exception, int]]
) -> Callable[[DictConfig], None]:
    """The function Hydra calls for each job; it keeps errors, which Hydra would print in its own way."""
    launcher = os.getpid()

    def run(config: DictConfig) -> None:
        from mate_cli.diagnosis import typed

        with _restored_process():
            sys.argv = [os.path.abspath(sys.argv[0]), command, *_own_words(command, config)]
            try:
                importlib.import_module(f"mate_cli.commands.{command}").run(typed(config))
            except Exception as error:
                if os.getpid() != launcher:  # a worker of another launcher: only Hydra can carry it back
                    raise
                failures.append((error, report(error, f"job {' '.join(sys.argv[2:])}: ") if multirun else 1))
            finally:
                _end_libraries()

    return run


def _own_words(command: str, config: DictConfig) -> list[str]:
    """The overrides of this one job, as a user would type them: what a child process is started with."""
    from hydra.core.hydra_config import HydraConfig

    from mate_cli.config import ROOTS
    from mate_cli.overrides import unquote

    return [unquote(ROOTS[command], word, config) for word in HydraConfig.get().overrides.task]


@contextmanager
def _restored_process() -> Iterator[None]:
    """Command line and rank variables are afterwards as they were."""
    names = (*RANK_VARIABLES, "HYDRA_FULL_ERROR")
    argv, environment = sys.argv, {name: os.environ.get(name) for name in names}
    try:
        yield
    finally:
        sys.argv = argv
        for name, value in environment.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def _end_libraries() -> None:
    """End what would leak into the next job: the process group, the wandb run. Imports nothing."""
    distributed: Any = sys.modules.get("torch.distributed")
    if distributed is not None and distributed.is_available() and distributed.is_initialized():
        distributed.destroy_process_group()
    wandb: Any = sys.modules.get("wandb")
    if wandb is not None and wandb.run is not None:
        wandb.finish()
