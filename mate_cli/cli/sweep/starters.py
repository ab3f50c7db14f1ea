"""Start the jobs of a sweep as processes of this machine, on Ray or by submitit."""

from __future__ import annotations

import concurrent.futures
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from omegaconf import OmegaConf
from omegaconf.errors import OmegaConfBaseException

from mate_cli.cli.sweep.jobs import Ending, Job, Start
from mate_cli.cli.sweep.process import Processes, run_job
from mate_cli.config import schema
from mate_cli.config.rules import problems
from mate_cli.config.sweep import LAUNCHERS, LocalConfig, RayConfig, SubmititConfig
from mate_cli.system.distribution import install_command
from mate_cli.system.errors import UserError

EXTRA = install_command("sweep")


def starter(launcher: str, settings: dict[str, Any], flags: Sequence[str]) -> Start:
    """Return the function that starts jobs by a launcher; ``settings`` are its keys, ``flags`` go to every job.

    Raises:
        UserError: a key has a wrong value.
    """
    config = _typed(launcher, settings)
    start = _STARTERS[launcher]
    return lambda jobs: start(config, [replace(job, words=(*job.words, *flags)) for job in jobs])


def local(config: LocalConfig, jobs: Sequence[Job]) -> Iterator[tuple[Job, Ending]]:
    """Run each job in its own process on this machine, ``at_once`` of them at the same time."""
    processes = Processes()
    with concurrent.futures.ThreadPoolExecutor(config.at_once) as pool:
        started = {pool.submit(processes.run, *_arguments(job)): job for job in jobs}
        try:
            for future in concurrent.futures.as_completed(started):
                yield started[future], future.result()
        except BaseException as error:  # Ctrl-C, here or in the consumer of the endings
            pool.shutdown(wait=False, cancel_futures=True)
            _stop(processes, started)
            if isinstance(error, KeyboardInterrupt):
                yield from ((job, future.result()) for future, job in started.items() if not future.cancelled())
            raise


def _stop(processes: Processes, started: dict[concurrent.futures.Future[Ending], Job]) -> None:
    """Pass every Ctrl-C on until all jobs have ended."""
    while True:
        try:
            processes.interrupt()
            concurrent.futures.wait([future for future in started if not future.cancelled()])
            return
        except KeyboardInterrupt:
            continue


def ray(config: RayConfig, jobs: Sequence[Job]) -> Iterator[tuple[Job, Ending]]:
    """Run each job as a Ray task without retries; a lost worker costs its job alone.

    Ray pickles ``run_job``, its arguments and an ``Ending`` between processes that it started itself.
    """
    try:
        import ray
    except ImportError as error:
        raise UserError(f"hydra/launcher=ray needs Ray: {EXTRA}") from error

    options = {} if config.address else {"include_dashboard": False}
    ray.init(address=config.address or "local", logging_level="error", **options)
    try:
        task = ray.remote(num_cpus=config.cpus, num_gpus=config.gpus, max_retries=0)(run_job)
        running = {task.remote(*_arguments(job)): job for job in jobs}
        while running:
            (ended, *_), _ = ray.wait(list(running))
            yield running.pop(ended), _ending(lambda: ray.get(ended), ray.exceptions.RayError)  # noqa: B023
    finally:
        ray.shutdown()


def submitit(config: SubmititConfig, jobs: Sequence[Job]) -> Iterator[tuple[Job, Ending]]:
    """Submit each job by submitit, to SLURM if there is one; unfinished jobs are cancelled when the sweep stops.

    submitit pickles ``run_job``, its arguments and an ``Ending`` in files in ``folder``.
    """
    try:
        import submitit
    except ImportError as error:
        raise UserError(f"hydra/launcher=submitit needs submitit: {EXTRA}") from error

    try:
        executor = submitit.AutoExecutor(folder=config.folder, cluster=config.cluster)
        executor.update_parameters(timeout_min=config.minutes, **(config.parameters or {}))
    except (NameError, TypeError, ValueError, RuntimeError) as error:
        reason = (str(error) or type(error).__name__).splitlines()[0]
        raise UserError(f"submitit refuses hydra.launcher.cluster or parameters: {reason}") from error
    running = {executor.submit(run_job, *_arguments(job)): job for job in jobs}
    try:
        for ended in submitit.helpers.as_completed(list(running)):
            yield running.pop(ended), _ending(ended.result, submitit.core.utils.UncompletedJobError)
    finally:
        for job in running:
            job.cancel()


def _arguments(job: Job) -> tuple[int, str, tuple[str, ...], str]:
    return job.number, job.command, job.words, os.getcwd()


def _ending(result: Callable[[], Ending], lost: type[Exception]) -> Ending:
    """Return the result of a job, or the loss of its worker."""
    try:
        return result()
    except lost as error:
        lines = [line.strip() for line in str(error).splitlines() if line.strip()]
        return Ending(1, f"its worker was lost: {lines[0] if lines else type(error).__name__}")


def _typed(launcher: str, settings: dict[str, Any]) -> Any:
    root = LAUNCHERS[launcher]
    mistakes, config = [], OmegaConf.structured(root)
    for name, value in settings.items():
        try:
            OmegaConf.update(config, name, value, merge=False)  # a dictionary may replace null
        except OmegaConfBaseException:
            key = schema.find(root, name)
            mistakes.append(f"hydra.launcher.{name}={value}: must be {key.words if key else 'a dictionary'}")
    typed = OmegaConf.to_object(config)
    if mistakes := mistakes or [f"hydra.launcher.{problem}" for problem in problems(typed)]:
        raise UserError("\n".join(mistakes))
    return typed


_STARTERS: dict[str, Callable[[Any, Sequence[Job]], Iterator[tuple[Job, Ending]]]] = {
    "local": local,
    "ray": ray,
    "submitit": submitit,
}
