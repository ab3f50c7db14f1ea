"""Run the job of a command line that was checked and quoted, or through ``hydra.main`` the jobs of a sweep.

A single job is run with the configuration that the check composed: Hydra would compose it twice more.

Around each job the process is put into the state that Lightning's child processes need, and cleaned up
afterwards, so that the next job of a sweep starts as the first one did.
"""

from __future__ import annotations

import importlib
import os
import re
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, Any

import hydra
from hydra.core.hydra_config import HydraConfig
from hydra.errors import HydraException
from omegaconf import DictConfig, open_dict

from mate_cli.cli.diagnosis import composing, diagnose, typed
from mate_cli.cli.experiment import add_sweep
from mate_cli.cli.overrides import Arguments, read, unquote
from mate_cli.config.commands import ROOTS, UNNAMED
from mate_cli.config.paths import conf_folder
from mate_cli.config.sweep import LAUNCHERS
from mate_cli.config.user_folder import config_dir_flag
from mate_cli.system.errors import UserError, report
from mate_cli.system.stopping import SWEPT, stop_if_asked, stop_with_parent

if TYPE_CHECKING:
    from mate_cli.cli.sweep.jobs import Ending, Job, Sweep  # import the readers of all data formats

# What Lightning tells its child processes; a job that leaves it behind misleads the next one.
RANK_VARIABLES = ("LOCAL_RANK", "NODE_RANK", "MASTER_ADDR", "MASTER_PORT", "WORLD_SIZE")


def launch(command: str, words: list[str], debug: bool) -> None:
    """Run ``mate COMMAND WORDS...``: one job, or through Hydra, with ``-m``, all jobs of a sweep.

    When a job of a sweep fails, the others still run.

    Raises:
        UserError: mistakes in the words, all at once; or jobs of a sweep failed.
    """
    if SWEPT in os.environ:
        stop_with_parent()
    arguments, mistakes = read(ROOTS[command], words, UNNAMED.get(command, ()))
    add_sweep(command, arguments)
    complete = not arguments.only_shows
    diagnosis = diagnose(command, arguments.overrides, arguments.multirun, complete)
    if mistakes := [*mistakes, *diagnosis.mistakes]:
        raise UserError("\n".join(mistakes))
    runner = CommandRunner(command, debug)
    if arguments.multirun or not complete:
        _run_through_hydra(runner, arguments)
        return
    for word in arguments.overrides:
        if word.startswith(("hydra/launcher", "hydra.launcher")):
            print(f"warning: {word} does nothing without -m: this is one job, run here", file=sys.stderr)
    assert diagnosis.config is not None
    with composing():
        runner.run([word for word in arguments.overrides if not word.startswith("hydra")], diagnosis.config)


def _run_through_hydra(runner: CommandRunner, arguments: Arguments) -> None:
    words = [*arguments.flags, *arguments.overrides]
    with ExitStack() as stack:
        if arguments.multirun and not any(word.startswith("hydra.sweep.dir") for word in words):
            # Holds Hydra's multirun.yaml, nothing of ours.
            folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="mate-sweep-"))
            words.append(f"hydra.sweep.dir={folder}")
        stack.enter_context(_restored_process())
        os.environ["HYDRA_FULL_ERROR"] = "1"  # raise, do not print and exit
        sys.argv = [sys.argv[0], *words]
        try:
            hydra.main(version_base="1.3", config_path=str(conf_folder()), config_name=runner.command)(runner)()
        except HydraException as error:
            raise UserError(_refusal(str(error).splitlines()[0])) from error
        finally:
            if runner.sweep is not None and runner.sweep.told:
                print(f"\n{runner.sweep.summary()}", flush=True)
    if runner.sweep is not None:
        runner.sweep.check()
    if runner.failures:
        raise runner.failures[0]


def _refusal(line: str) -> str:
    """Say which launcher has a key that the chosen one lacks, where this is what Hydra refused."""
    key = re.fullmatch(r"Could not override 'hydra\.launcher\.(\w+)'\.", line)
    if key is None:
        return line
    having = [name for name, config in LAUNCHERS.items() if hasattr(config(), key[1])]
    if not having:
        return f"hydra.launcher.{key[1]}: no launcher has this key; conf/hydra/launcher has the keys of each"
    name = having[0]
    return f"hydra.launcher.{key[1]} is a key of {name}, and another launcher is chosen: add hydra/launcher={name}"


class CommandRunner:
    """The callable that Hydra gets: runs one configuration, or through our launchers all jobs of a sweep."""

    def __init__(self, command: str, debug: bool) -> None:
        self.command, self.debug = command, debug
        self.failures: list[Exception] = []
        self.sweep: Sweep | None = None
        self._process = os.getpid()

    def run(self, overrides: Sequence[str], config: DictConfig) -> None:
        """Run one job in this process, by the overrides and the configuration that Hydra made of them."""
        self._run(self._words(overrides, config), typed(config))

    def __call__(self, config: DictConfig) -> None:
        """Run one job in this process; its error is kept, for Hydra would print it in its own way."""
        try:
            self.run(HydraConfig.get().overrides.task, config)
        except Exception as error:
            if os.getpid() != self._process:  # a worker of another launcher: only Hydra can carry it back
                raise
            self.failures.append(error)

    def add(self, overrides: Sequence[str], config: DictConfig) -> None:
        """Add a job to the sweep, by the overrides and the configuration that Hydra made of them."""
        from mate_cli.cli.sweep.jobs import Sweep

        with open_dict(config):
            del config["hydra"]
        self.sweep = self.sweep or Sweep(self.command)
        self.sweep.add(self._words(overrides, config), typed(config))

    def start(self, launcher: str, settings: dict[str, Any]) -> None:
        """Run the jobs that were added."""
        assert self.sweep is not None
        if launcher == "serial":
            self.sweep.run(self._in_turn)
        else:
            from mate_cli.cli.sweep.starters import starter

            flags = [*(["--debug"] if self.debug else []), *config_dir_flag()]
            self.sweep.run(starter(launcher, settings, flags))

    def _in_turn(self, jobs: Sequence[Job]) -> Iterator[tuple[Job, Ending]]:
        """The jobs one after the other, in this process."""
        from mate_cli.cli.sweep.jobs import Ending

        assert self.sweep is not None
        for job in jobs:
            line = " ".join(job.words)
            print(f"job {job.number} of {len(self.sweep.jobs)}: {line}", flush=True)
            try:
                self._run(job.words, job.config)
                yield job, Ending()
            except KeyboardInterrupt:
                yield job, Ending(130, "interrupted")
                raise
            except Exception as error:
                code = report(error, f"job {line}: ", self.debug)
                yield job, Ending(code, (str(error) or type(error).__name__).splitlines()[0])

    def _run(self, words: Sequence[str], config: Any) -> None:
        with _restored_process():
            sys.argv = [os.path.abspath(sys.argv[0]), self.command, *words, *config_dir_flag()]
            try:
                command = importlib.import_module(f"mate_cli.commands.{self.command}")
                stop_if_asked()
                command.run(config)
            finally:
                _end_process_group()

    def _words(self, overrides: Sequence[str], config: DictConfig) -> list[str]:
        """The overrides of one job, as a user would type them: what a child process is started with."""
        return [unquote(ROOTS[self.command], word, config) for word in overrides]


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


def _end_process_group() -> None:
    """End what would leak into the next job. Imports nothing."""
    distributed: Any = sys.modules.get("torch.distributed")
    if distributed is not None and distributed.is_available() and distributed.is_initialized():
        distributed.destroy_process_group()
