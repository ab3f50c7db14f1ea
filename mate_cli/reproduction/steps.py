"""The steps to a table: trainings, scores, answers, counts and measurements, with the steps that each needs."""

from __future__ import annotations

import hashlib
import json
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from mate_cli.reproduction.ledger import Chain, Ledger, data_key
from mate_cli.reproduction.memory import planned_way
from mate_cli.runs.folder import read_record
from mate_cli.runs.parent import weights_hash

Result = Mapping[str, Any]


@dataclass(frozen=True)
class Step(ABC):
    """A command of mate; equal steps of several tables are one."""

    @property
    def needs(self) -> tuple[Step, ...]:
        """The steps that must be done first: those among the fields."""
        values = (getattr(self, field.name) for field in fields(self))
        return tuple(value for value in values if isinstance(value, Step))

    @property
    @abstractmethod
    def title(self) -> str: ...

    @abstractmethod
    def result(self, ledger: Ledger) -> Result | None:
        """Return the result; None if the step is not done."""

    @abstractmethod
    def words(self, ledger: Ledger, again: bool) -> list[str]:
        """Return the arguments of ``mate``; the steps that this one needs must be done.

        Args:
            again: replace an existing result.
        """

    def state(self, ledger: Ledger) -> str:
        """Return ``done``, ``to do``, or the state of an unfinished run."""
        return "to do" if self.result(ledger) is None else "done"

    def hindrance(self, ledger: Ledger) -> str | None:
        """Return the reason why the command line does not allow the step, or None."""
        return next((reason for step in self.needs if (reason := step.hindrance(ledger))), None)


@dataclass(frozen=True)
class Training(Chain, Step):
    """A training."""

    parent: Training | None

    def result(self, ledger: Ledger) -> Result | None:
        run = ledger.done(self)
        return None if run is None else run.metrics

    def state(self, ledger: Ledger) -> str:
        run = ledger.record(self)
        return "to do" if run is None else run.state

    def words(self, ledger: Ledger, again: bool) -> list[str]:
        run = ledger.record(self)
        existing = [] if run is None else [f"name={ledger.name(self)}", "overwrite=true" if again else "resume=true"]
        return ["train", *ledger.words(self), *existing]

    def hindrance(self, ledger: Ledger) -> str | None:
        config = ledger.training_config(self)
        if config.schedule not in config.task.schedules:
            return f"task={config.task.name} has no schedule={config.schedule}"
        mixed = config.task.mixed
        for data_format, folder in ((config.task.format, config.data_dir), (mixed.format, mixed.data_dir)):
            if data_format is not None and folder is None:
                return f"data.{data_key(data_format)} is not set"
        if ledger.lacks_parent(self):
            return f"{config.ablation.name} changes the pre-training; leave out pretrain=false"
        return super().hindrance(ledger) or planned_way(ledger.sized_config(self)).refusal


@dataclass(frozen=True)
class Scoring(Step):
    """``mate evaluate`` of a training on a split other than its last one."""

    run: Training
    split: str

    @property
    def title(self) -> str:
        return f"score {self.run.chain}, seed {self.run.seed}, on {self.split}"

    def result(self, ledger: Ledger) -> Result | None:
        metrics = self.run.result(ledger) or {}
        return metrics if self.split in metrics else None

    def words(self, ledger: Ledger, again: bool) -> list[str]:
        run = ledger.done(self.run)
        assert run is not None
        return ["evaluate", f"run={run.path}", f"split={self.split}", *_paths(ledger)]


@dataclass(frozen=True)
class Answering(Step):
    """``mate evaluate`` of a selector with a reader."""

    selector: Training
    reader: Training
    split: str

    @property
    def title(self) -> str:
        return f"answer with {self.selector.chain}, seed {self.selector.seed}, on {self.split}"

    def result(self, ledger: Ledger) -> Result | None:
        """Return the metrics of any folder with the answers of these two models to the whole split."""
        stages = self._stages(ledger)
        if stages is None:
            return None
        hashes = [weights_hash(path) for path in stages]
        for file in sorted((ledger.runs / "pointr").glob("*/pipeline.json")):
            pipeline, metrics = read_record(file), read_record(file.with_name("metrics.json"))
            is_of_these = [pipeline.get(f"{name}_weights") for name in ("selector", "reader")] == hashes
            if is_of_these and self.split in metrics and not self._is_limited(file.parent, metrics):
                return metrics
        return None

    def _is_limited(self, folder: Path, metrics: Result) -> bool:
        """Say whether the answers to the split are to some of its questions."""
        scores = metrics[self.split]
        if "limit" in scores:
            return scores["limit"] is not None
        command = read_record(folder / "environment.json").get("command", [])  # the latest, in older records
        return any(str(word).startswith("limit=") for word in command)

    def words(self, ledger: Ledger, again: bool) -> list[str]:
        stages = self._stages(ledger)
        assert stages is not None
        selector, reader = stages
        name = f"{selector.name}+{reader.name}-{_digest(*map(weights_hash, stages))}"
        folder = ledger.runs / "pointr" / name
        words = ["evaluate", f"selector={selector}", f"reader={reader}", f"split={self.split}", f"to={folder}"]
        return [*words, *_paths(ledger)]

    def _stages(self, ledger: Ledger) -> tuple[Path, Path] | None:
        selector, reader = ledger.done(self.selector), ledger.done(self.reader)
        return None if selector is None or reader is None else (selector.path, reader.path)


@dataclass(frozen=True)
class Measuring(Step):
    """``mate bench`` with the arguments ``of``."""

    of: str

    @property
    def title(self) -> str:
        return f"bench {self.of}"

    def folder(self, ledger: Ledger) -> Path:
        return ledger.runs / "reproduce" / f"bench-{_digest(self.of)}"

    def result(self, ledger: Ledger) -> Result | None:
        results = read_record(self.folder(ledger) / "results.json")
        return results if results.get("finished") else None

    def state(self, ledger: Ledger) -> str:
        begun = (self.folder(ledger) / "results.json").is_file()
        return "interrupted" if begun and self.result(ledger) is None else super().state(ledger)

    def words(self, ledger: Ledger, again: bool) -> list[str]:
        return ["bench", *self.of.split(), f"to={self.folder(ledger)}", "overwrite=true" if again else "resume=true"]


@dataclass(frozen=True)
class Flowing(Step):
    """``mate analyze analysis=flow`` of a training; without one, of uniform attention on WikiTableQuestions."""

    run: Training | None

    @property
    def title(self) -> str:
        return "flow of uniform attention" if self.run is None else f"flow of {self.run.chain}, seed {self.run.seed}"

    def result(self, ledger: Ledger) -> Result | None:
        if self.run is not None and ledger.done(self.run) is None:
            return None
        return read_record(self._folder(ledger) / "flow.json") or None

    def words(self, ledger: Ledger, again: bool) -> list[str]:
        common = ["analyze", "analysis=flow", "split=dev", f"to={self._folder(ledger)}", *_paths(ledger)]
        if self.run is None:
            schedule, data_dir = ledger.config.schedule, ledger.data_dir("wtq")
            task = ["task=wtq", f"data_dir={data_dir}", f"schedule={schedule}", *ledger.backbone_words]
            return [*common, "analysis.baseline_only=true", *task]
        run = ledger.done(self.run)
        assert run is not None
        return [*common, f"run={run.path}"]

    def hindrance(self, ledger: Ledger) -> str | None:
        if self.run is None and ledger.data_dir("wtq") is None:
            return "data.wtq is not set"
        return super().hindrance(ledger)

    def _folder(self, ledger: Ledger) -> Path:
        run = None if self.run is None else ledger.done(self.run)
        parts = (ledger.config.schedule, ledger.data_dir("wtq")) if run is None else (weights_hash(run.path),)
        return ledger.runs / "reproduce" / f"flow-{_digest(*parts)}"


@dataclass(frozen=True)
class Counting(Step):
    """``mate prepare`` of a task's data, which counts it and does not encode it."""

    task: str

    @property
    def title(self) -> str:
        return f"count the data of {self.task}"

    def result(self, ledger: Ledger) -> Result | None:
        return read_record(self._folder(ledger) / "statistics.json") or None

    def words(self, ledger: Ledger, again: bool) -> list[str]:
        data = f"data_dir={ledger.data_dir(self.task)}"
        return ["prepare", f"task={self.task}", data, "encode=false", f"to={self._folder(ledger)}"]

    def hindrance(self, ledger: Ledger) -> str | None:
        return None if ledger.data_dir(self.task) is not None else f"data.{self.task} is not set"

    def _folder(self, ledger: Ledger) -> Path:
        return ledger.runs / "reproduce" / f"data-{self.task}-{_digest(ledger.data_dir(self.task))}"


def _paths(ledger: Ledger) -> list[str]:
    given = {"paths.runs": ledger.config.paths.runs, "paths.cache": ledger.config.paths.cache}
    return [f"{name}={value}" for name, value in given.items() if value is not None]


def _digest(*parts: Any) -> str:
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:8]
