"""The folder of one run, with all that is needed to check it, resume it and use its model.

::

    config.yaml        the resolved configuration
    environment.json   command line, git state, versions, machine, process, origin of the weights
    status.json        state (running, done, interrupted, failed), step, wall time, devices, size of the model
    metrics.csv        the learning curves
    metrics.json       the final scores, with those of the baselines
    calibration.json   from the model's probabilities to shares of right answers, after ``mate evaluate calibrate=...``
    predictions-*.jsonl  one prediction for each question of a split; of other data by its mark (``runs.other_data``)
    last.ckpt          the trainer state, to resume from
    not-finite/        the step at which the loss or gradient was not finite, if any
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
from typing import Any

import yaml
from filelock import BaseFileLock
from omegaconf import OmegaConf
from omegaconf.errors import OmegaConfBaseException

from mate_cli.config.plain import escape
from mate_cli.config.rules import problems
from mate_cli.config.task import active_schedule
from mate_cli.config.train import TrainConfig
from mate_cli.runs.find import is_run_folder, what_else
from mate_cli.runs.identity import Identity, differences
from mate_cli.runs.provenance import code_version, environment
from mate_cli.runs.published import is_published, published
from mate_cli.runs.records import read_run, state_of, upgraded
from mate_cli.system.errors import UserError, disk_reason
from mate_cli.system.files import (
    content_hash,
    hold,
    in_turn,
    remove,
    remove_leftovers,
    weight_files,
    write_json,
    write_json_lines,
    write_text,
)

WEIGHTS = "model.safetensors"
GRAPH = "model.onnx"
"""What an export for ONNX Runtime has in the place of weights."""


class RunFolder:
    """Paths and records of one run."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.config_file = path / "config.yaml"
        self.last_checkpoint = path / "last.ckpt"
        self.unfinished_checkpoint = path / ".last.ckpt.tmp"  # one name for all ranks, which may write it together
        self.environment_file = path / "environment.json"
        # A folder of mate export or of a published model is a run folder too, with the model at its top.
        self.best_model = path if (path / "config.json").is_file() else path / "best"
        best = self.best_model
        graph = best / GRAPH
        self.weights_file = graph if graph.is_file() else next(iter(weight_files(best)), best / WEIGHTS)
        self.metrics_file = path / "metrics.json"
        self.calibration_file = path / "calibration.json"
        self._seconds_before = 0.0
        self._started: float | None = None
        self._lock: BaseFileLock | None = None

    def __getstate__(self) -> dict[str, Any]:
        """Drop the lock: a replica in another process works for the process that holds it."""
        return self.__dict__ | {"_lock": None}

    def claim(self, *, resume: bool, overwrite: bool, identity: Identity) -> bool:
        """Create the folder of a training, or check that it can be resumed; lock it until ``release``.

        Returns:
            True if the folder is new, so that a failed start may remove it.

        Raises:
            UserError: the folder holds another run, is in use by another process, or cannot be written.
        """
        is_new = make_folder(self.path, "run folder", "paths.runs")
        self._lock = hold(self.path)
        try:
            with self.recording():
                for mark in (self.config_file, self.path / "status.json"):
                    remove_leftovers(mark)
            if not is_run_folder(self.path) and any(not entry.name.endswith(".lock") for entry in self.path.iterdir()):
                raise UserError(f"{self.path} holds other files than a run's: name=NAME names another folder")
            if self.config_file.exists() and not overwrite:
                self._check_resume(resume, identity)
            remove_leftovers(self.best_model)
            remove(self.unfinished_checkpoint)
        except BaseException:
            self.release()
            raise
        return is_new

    def release(self) -> None:
        """Unlock the folder."""
        if self._lock is not None:
            self._lock.release()
            self._lock = None

    def _check_resume(self, resume: bool, identity: Identity) -> None:
        if not resume:
            raise UserError(
                f"{self.path} holds a run (state: {self.state}): resume=true goes on, "
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
        """Remove the files of an earlier run once the new one is ready to start; of links, not what they lead to."""
        # The checkpoint goes first and the configuration last, so that a kill leaves no run that could be resumed.
        self.last_checkpoint.unlink(missing_ok=True)
        for path in sorted(self.path.iterdir(), key=lambda path: path == self.config_file):
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path)
            elif not path.name.endswith(".lock"):
                path.unlink()

    def record_start(
        self, config: Mapping[str, Any], command: list[str], origin: Mapping[str, Any], data: str | None
    ) -> None:
        """Write the configuration and the environment of a training that is ready to start; start the clock.

        Args:
            origin: of the weights (``mate_cli.runs.parent.origin_of``); data: hash of the data.
        """
        write_text(self.config_file, yaml.safe_dump(dict(config), sort_keys=False, allow_unicode=True))
        earlier = read_record(self.environment_file)  # of a resumed run
        codes = [*earlier.get("earlier_code", []), code_version(earlier)] if earlier else []
        process = {"pid": os.getpid(), "host": platform.node()}
        facts = {"process": process, "earlier_code": list(dict.fromkeys(codes)), "origin": origin, "data": data}
        write_json(self.environment_file, environment(command) | facts)
        self._seconds_before, self._started = self.status().get("seconds", 0.0), time.monotonic()

    def status(self) -> dict[str, Any]:
        return read_record(self.path / "status.json")

    @property
    def state(self) -> str:
        """As ``runs.records.state_of``."""
        return state_of(self.status(), read_record(self.environment_file))

    def set_status(self, state: str, **facts: Any) -> None:
        """Record the state of the run and its total wall time; facts that are not given keep their value."""
        now = time.strftime("%Y-%m-%dT%H:%M:%S%z")
        spent = {}
        if self._started is not None:
            spent["seconds"] = round(self._seconds_before + time.monotonic() - self._started, 1)
        write_json(self.path / "status.json", {**self.status(), "state": state, "time": now, **spent, **facts})

    def finish(self) -> None:
        """Record that the run is trained and scored, with a hash of its weights, which may be deleted later."""
        self.set_status("done", weights=content_hash([self.weights_file]))

    @contextmanager
    def recording(self) -> Iterator[None]:
        """Lock the scores and predictions, which other processes may write too."""
        with in_turn(self.path / ".records.lock"):
            yield

    def write_metrics(self, split: str, metrics: Mapping[str, Any]) -> None:
        """Add the scores of a split to ``metrics.json``."""
        write_json(self.metrics_file, {**read_record(self.metrics_file), split: metrics})

    def write_predictions(self, split: str, predictions: Iterable[Any]) -> None:
        """Write dataclasses to ``predictions-SPLIT.jsonl``, one line for each question."""
        write_json_lines(self.path / f"predictions-{split}.jsonl", map(asdict, predictions))

    def write_submission(self, split: str, content: str) -> None:
        """Write the official prediction file of the benchmark, ``predictions-SPLIT.tsv``."""
        write_text(self.path / f"predictions-{split}.tsv", content)


class FollowedFolder(RunFolder):
    """The run folder of ranks other than the first, which write to it only when they fail."""

    def claim(self, *, resume: bool, overwrite: bool, identity: Identity) -> bool:
        return False

    def clear(self) -> None:
        pass

    def record_start(self, *facts: Any, **more: Any) -> None:
        pass

    def set_status(self, state: str, **facts: Any) -> None:
        if state == "failed" and self.status().get("state") != "failed":
            super().set_status(state, **facts)


@contextmanager
def written_to(folder: Path) -> Iterator[None]:
    """Make the folder of the key ``to``, and turn errors in writing to it into a ``UserError``.

    Raises:
        UserError: it cannot be written.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        yield
    except OSError as error:
        raise UserError(f"cannot write to {folder} ({disk_reason(error)}); set to=FOLDER", exit_code=1) from error


def make_folder(path: Path, what: str, key: str) -> bool:
    """Create a folder, or check that it can be written to; return True if it is new.

    Raises:
        UserError: it cannot be written; the message has ``what`` it is and the ``key`` that chooses another.
    """
    try:
        is_new = not path.exists()
        path.mkdir(parents=True, exist_ok=True)
        probe = path / ".writable"
        probe.touch()
        probe.unlink(missing_ok=True)  # another process that starts in the folder may have removed it
    except OSError as error:
        reason = f"cannot write the {what} {path}: {disk_reason(error)}"
        raise UserError(f"{reason}; choose another with {key}=DIR") from error
    return is_new


def read_record(path: Path) -> dict[str, Any]:
    """Read a JSON object; return an empty one if the file is missing or broken."""
    try:
        record = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return record if isinstance(record, dict) else {}


def load_run_config(run: Path | str, max_tokens: int | None = None, expansion: str | None = None) -> TrainConfig:
    """Read the configuration of a run from ``config.yaml`` in its folder, or of a published model from ``config.json``.

    Args:
        max_tokens, expansion: values to use instead of those in training.

    Raises:
        UserError: the folder or the file is missing, or the file is not a valid configuration.
    """
    file = Path(run) / "config.yaml"
    if not file.is_file() and not is_published(Path(run)):
        other = what_else(Path(run))
        plainly = f"{run} is not a run folder: it has no config.yaml (mate train makes one)"
        raise UserError(f"{run}: {other}" if other else plainly)
    try:
        is_run = file.is_file()
        plain = upgraded(yaml.safe_load(file.read_text(encoding="utf-8"))) if is_run else published(Path(run))
        config = OmegaConf.to_object(OmegaConf.merge(OmegaConf.structured(TrainConfig), _literal(plain)))
    except (OSError, UnicodeError, yaml.YAMLError, OmegaConfBaseException, TypeError, ValueError) as error:
        reason = (str(error) or type(error).__name__).splitlines()[0]
        raise UserError(f"{file} is not a configuration of mate train: {reason}") from error
    assert isinstance(config, TrainConfig)
    if lines := problems(config):
        raise UserError("\n".join(f"{file}: {line}" for line in lines))
    active_schedule(config).max_tokens = max_tokens or active_schedule(config).max_tokens
    config.task.expansion = expansion or config.task.expansion
    return config


def _literal(node: Any) -> Any:
    if isinstance(node, dict):
        return {name: _literal(value) for name, value in node.items()}
    return escape(node) if isinstance(node, str) else node
