"""The jobs of a sweep: those to run, how they ended, and the summary."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from mate_cli.runs.folder import RunFolder
from mate_cli.runs.place import begun_run, current_identity, run_path
from mate_cli.system.errors import UserError


@dataclass(frozen=True)
class Job:
    """One job, ``mate COMMAND WORDS``, numbered from 1.

    Attributes:
        words: arguments as typed, with ``resume=true`` if the run has begun before.
        config: the typed configuration of ``words``.
        folder: run folder of a training; None for other commands.
        done: the run was finished before, so the job is skipped.
    """

    number: int
    command: str
    words: tuple[str, ...]
    config: Any
    folder: Path | None = None
    done: bool = False


@dataclass(frozen=True)
class Ending:
    """Exit code of a job (0 for success) and the reason of a failure in one line."""

    exit_code: int = 0
    reason: str = ""


Start = Callable[[Sequence[Job]], Iterator[tuple[Job, Ending]]]
"""Runs jobs and yields each when it has ended, in any order."""


class Sweep:
    """The jobs of one command line and their endings."""

    def __init__(self, command: str) -> None:
        self.command = command
        self.jobs: list[Job] = []
        self.endings: dict[int, Ending] = {}

    def add(self, words: Sequence[str], config: Any) -> None:
        """Plan one more job.

        Raises:
            UserError: its run folder belongs to another job or to a run of another configuration.
        """
        job = _planned(Job(len(self.jobs) + 1, self.command, tuple(words), config))
        for other in self.jobs:
            if job.folder is not None and job.folder == other.folder:
                raise UserError(
                    f"jobs {other.number} and {job.number} have the same run folder {job.folder}: leave out name, "
                    "or sweep over keys that change the result"
                )
        self.jobs.append(job)

    def run(self, start: Start) -> None:
        """Run the jobs that are not done; each ending is recorded at once, so that an interruption loses none."""
        waiting = [job for job in self.jobs if not job.done and job.number not in self.endings]
        for job, ending in start(waiting):
            self.endings[job.number] = ending

    @property
    def told(self) -> bool:
        """True if a job has ended, now or before."""
        return bool(self.endings) or any(job.done for job in self.jobs)

    def summary(self) -> str:
        """Return a count of the states and a line for each job."""
        # The words in which the jobs differ tell one from the other.
        common = set.intersection(*(set(job.words) for job in self.jobs)) if len(self.jobs) > 1 else set()
        common |= {"resume=true"}
        swept = [" ".join(word for word in job.words if word not in common) for job in self.jobs]
        rows = [(self._state(job), words, self._place(job)) for job, words in zip(self.jobs, swept, strict=True)]
        counts = Counter(state for state, _, _ in rows)
        counted = ", ".join(f"{count} {state}" for state, count in counts.items())
        widths = [max(len(row[column]) for row in rows) for column in (0, 1)]
        lines = [f"  {state:<{widths[0]}}  {words:<{widths[1]}}  {place}".rstrip() for state, words, place in rows]
        return "\n".join([f"sweep of {len(rows)} jobs: {counted}", *lines])

    def check(self) -> None:
        """
        Raises:
            UserError: jobs failed; its exit code is that of the first.
        """
        failed = [ending for ending in self.endings.values() if ending.exit_code]
        if failed:
            again = "; the same command runs what is not done, and nothing else" if self.command == "train" else ""
            raise UserError(f"{len(failed)} of {len(self.jobs)} jobs failed{again}", failed[0].exit_code)

    def _state(self, job: Job) -> str:
        if job.done:
            return "done before"
        if job.number not in self.endings:
            return "not run"
        return {0: "done", 130: "interrupted"}.get(self.endings[job.number].exit_code, "failed")

    def _place(self, job: Job) -> str:
        reason = self.endings[job.number].reason if self._state(job) == "failed" else ""
        return ": ".join(part for part in (str(job.folder or ""), reason) if part)


def _planned(job: Job) -> Job:
    """Mark a finished training as done and a begun one to be resumed; return other jobs unchanged.

    ``resume=true`` resumes the sweep as a whole, so that trainings which have not begun start.
    """
    if job.command != "train":
        return job
    identity, words = current_identity(job.config), tuple(word for word in job.words if word != "resume=true")
    path = None if job.config.overwrite else begun_run(job.config, identity)
    if path is None:
        config = replace(job.config, resume=False)
        return replace(job, words=words, config=config, folder=run_path(config, identity))
    folder = RunFolder(path)
    folder.check_same_run(identity)
    if folder.status().get("state") == "done":
        return replace(job, folder=path, done=True)
    return replace(job, words=(*words, "resume=true"), config=replace(job.config, resume=True), folder=path)
