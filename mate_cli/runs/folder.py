"""The folder of one run: everything needed to trust it, resume it and use its model.

::

    config.yaml        the resolved configuration
    environment.json   command line, git state, versions, machine, process, what it started from
    status.json        state (running, done, interrupted, failed), step, wall time, devices, size of the model
    metrics.csv        what training logged, by step
    metrics.json       the final scores, the baselines beside them
    predictions-*.jsonl  one ranking per question and split
    last.ckpt          the trainer's state, to resume from
    not-finite/        the step at which the loss was no number, where there was one
    .lock              held by the process that trains
    best/              the best model: config.json, model.safetensors, vocabulary
"""

from __future__ import annotations

import json
import os
import platform
import shutil
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml
from omegaconf import OmegaConf
from omegaconf.errors import OmegaConfBaseException

from mate_cli.config.plain import escape
from mate_cli.config.rules import problems
from mate_cli.config.task import active_schedule
from mate_cli.config.train import TrainConfig
from mate_cli.runs.identity import Identity, differences
from mate_cli.runs.provenance import code_version, environment
from mate_cli.runs.records import read_run
from mate_cli.runs.upgrade import upgraded
from mate_cli.system.errors import UserError, disk_reason
from mate_cli.system.files import (
    content_hash,
    hold,
    in_turn,
    remove_leftovers,
    write_json,
    write_json_lines,
    write_text,
)

if TYPE_CHECKING:
    from filelock import BaseFileLock


WEIGHTS = "model.safetensors"


class RunFolder:
    """Paths and records of one run."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.config_file = path / "config.yaml"
        self.last_checkpoint = path / "last.ckpt"
        self.environment_file = path / "environment.json"
        # The folder that mate export writes is one too, with the model beside its configuration.
        self.best_model = path if (path / WEIGHTS).is_file() else path / "best"
        self.weights_file = self.best_model / WEIGHTS
        self.metrics_file = path / "metrics.json"
        self._seconds_before = 0.0
        self._started: float | None = None
        self._lock: BaseFileLock | None = None

    def __getstate__(self) -> dict[str, Any]:
        """Without the lock: a replica in another process works for the one that holds it."""
        return self.__dict__ | {"_lock": None}

    def claim(self, *, resume: bool, overwrite: bool, identity: Identity) -> bool:
        """Create the folder of a training, or check that it may be gone on with; keep it until ``release``.

        Returns:
            whether the folder is new (so that a failed start may remove it again).

        Raises:
            UserError: the folder holds another run, is in use by another process, or cannot be written.
        """
        is_new = make_folder(self.path, "run folder", "paths.runs")
        self._lock = hold(self.path)
        try:
            with self.recording():
                remove_leftovers(self.path, ".*.tmp")
            if self.config_file.exists() and not overwrite:
                self._check_going_on(resume, identity)
        except BaseException:
            self.release()
            raise
        return is_new

    def release(self) -> None:
        """Let other processes have the folder again."""
        if self._lock is not None:
            self._lock.release()
            self._lock = None

    def _check_going_on(self, resume: bool, identity: Identity) -> None:
        if not resume:
            raise UserError(
                f"{self.path} holds a run ({self.status().get('state', 'unknown state')}): resume=true goes on, "
                "overwrite=true starts it anew, name=NAME starts another"
            )
        self.check_same_run(identity)

    def check_same_run(self, identity: Identity) -> None:
        """Check that the folder holds the same run (``runs.identity``).

        Raises:
            UserError: it holds another run, or its records are broken.
        """
        differing = list(differences(read_run(self.path).identity, identity))
        if differing:
            raise UserError(
                f"cannot resume {self.path}: it was made with another {', '.join(differing[:4])}; "
                "repeat its settings, or start another run with name=NAME"
            )

    def clear(self) -> None:
        """Remove what an earlier run left, once a new one is ready to take its place."""
        # Without a state nothing goes on from here; without a configuration nothing asks whether it may.
        self.last_checkpoint.unlink(missing_ok=True)
        for path in sorted(self.path.iterdir(), key=lambda own: own == self.config_file):
            if path.is_dir():
                shutil.rmtree(path)
            elif not path.name.endswith(".lock"):
                path.unlink()

    def record_start(
        self, config: Mapping[str, Any], command: list[str], origin: Mapping[str, Any], data: str | None
    ) -> None:
        """Write the configuration and the environment, once nothing more can be wrong with them; start the clock.

        Args:
            origin: what the training starts from (``mate_cli.runs.parent.origin_of``); data: hash of its data.
        """
        write_text(self.config_file, yaml.safe_dump(dict(config), sort_keys=False, allow_unicode=True))
        earlier = read_record(self.environment_file)  # of a run that goes on
        codes = [*earlier.get("earlier_code", []), code_version(earlier)] if earlier else []
        process = {"pid": os.getpid(), "host": platform.node()}
        facts = {"process": process, "earlier_code": list(dict.fromkeys(codes)), "origin": origin, "data": data}
        write_json(self.environment_file, environment(command) | facts)
        self._seconds_before, self._started = self.status().get("seconds", 0.0), time.monotonic()

    def status(self) -> dict[str, Any]:
        return read_record(self.path / "status.json")

    def set_status(self, state: str, **facts: Any) -> None:
        """Record the state of the run and the wall time of all its sittings; earlier facts stay unless named again."""
        now = time.strftime("%Y-%m-%dT%H:%M:%S%z")
        spent = {}
        if self._started is not None:
            spent["seconds"] = round(self._seconds_before + time.monotonic() - self._started, 1)
        write_json(self.path / "status.json", {**self.status(), "state": state, "time": now, **spent, **facts})

    def finish(self) -> None:
        """Record that it is trained and scored; the hash of the weights outlives their file."""
        self.set_status("done", weights=content_hash([self.weights_file]))

    @contextmanager
    def recording(self) -> Iterator[None]:
        """Write scores and predictions while no other process does; a run that is trained may be scored, too."""
        with in_turn(self.path / ".records.lock"):
            for name in ("metrics", "predictions"):
                remove_leftovers(self.path, f".{name}*.tmp")
            yield

    def write_metrics(self, split: str, metrics: Mapping[str, Any]) -> None:
        """Keep the scores of a split beside those of the others."""
        write_json(self.metrics_file, {**read_record(self.metrics_file), split: metrics})

    def write_predictions(self, split: str, predictions: Iterable[Any]) -> None:
        """One JSON object a line and question (dataclasses), in ``predictions-SPLIT.jsonl``."""
        write_json_lines(self.path / f"predictions-{split}.jsonl", map(asdict, predictions))

    def write_submission(self, split: str, content: str) -> None:
        """The official prediction file of a benchmark whose files are TSV, ``predictions-SPLIT.tsv``."""
        write_text(self.path / f"predictions-{split}.tsv", content)


class FollowedFolder(RunFolder):
    """The run folder for the ranks that only compute: the first one writes it, unless this one fails before."""

    def claim(self, *, resume: bool, overwrite: bool, identity: Identity) -> bool:
        return False

    def clear(self) -> None:
        pass

    def record_start(
        self, config: Mapping[str, Any], command: list[str], origin: Mapping[str, Any], data: str | None
    ) -> None:
        pass

    def set_status(self, state: str, **facts: Any) -> None:
        if state == "failed" and self.status().get("state") != "failed":
            super().set_status(state, **facts)


@contextmanager
def written_to(folder: Path) -> Iterator[None]:
    """Write results into a folder, new or not, that the key ``to`` names.

    Raises:
        UserError: it cannot be written.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        remove_leftovers(folder, ".*.[0-9]*.tmp")
        yield
    except OSError as error:
        raise UserError(f"cannot write to {folder} ({disk_reason(error)}); set to=FOLDER", exit_code=1) from error


def make_folder(path: Path, what: str, key: str) -> bool:
    """Create a folder, or check that it can be written to; returns whether it is new.

    Raises:
        UserError: it cannot be written; names ``what`` it is, and the ``key`` that chooses another.
    """
    try:
        is_new = not path.exists()
        path.mkdir(parents=True, exist_ok=True)
        probe = path / ".writable"
        probe.touch()
        probe.unlink()
    except OSError as error:
        reason = f"cannot write the {what} {path}: {disk_reason(error)}"
        raise UserError(f"{reason}; choose another with {key}=DIR") from error
    return is_new


def read_record(path: Path) -> dict[str, Any]:
    """A JSON object of ours; empty where there is none."""
    try:
        return dict(json.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError):
        return {}


def load_run_config(run: Path | str, max_tokens: int | None = None, expansion: str | None = None) -> TrainConfig:
    """The configuration a run was trained with, from ``config.yaml`` in its folder.

    Args:
        max_tokens, expansion: of its inputs from now on, in place of those in training.

    Raises:
        UserError: the folder or the file is missing, or the file is not a valid configuration.
    """
    file = Path(run) / "config.yaml"
    if not file.is_file():
        raise UserError(f"{run} is not a run folder: it has no config.yaml (mate train makes one)")
    try:
        plain = upgraded(yaml.safe_load(file.read_text(encoding="utf-8")))
        config = OmegaConf.to_object(OmegaConf.merge(OmegaConf.structured(TrainConfig), _literal(plain)))
    except (OSError, UnicodeError, yaml.YAMLError, OmegaConfBaseException, TypeError, ValueError) as error:
        reason = (str(error) or type(error).__name__).splitlines()[0]
        raise UserError(f"{file} is not a configuration of mate train: {reason}") from error
    assert isinstance(config, TrainConfig)
    if found := problems(config):
        raise UserError("\n".join(f"{file}: {line}" for line in found))
    active_schedule(config).max_tokens = max_tokens or active_schedule(config).max_tokens
    config.task.expansion = expansion or config.task.expansion
    return config


def _literal(node: Any) -> Any:
    if isinstance(node, dict):
        return {name: _literal(value) for name, value in node.items()}
    return escape(node) if isinstance(node, str) else node
