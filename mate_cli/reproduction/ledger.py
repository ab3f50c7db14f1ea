"""The ledger: the run, the command and the data that belong to a training of the paper."""

from __future__ import annotations

import functools
import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

from hydra import compose
from omegaconf import OmegaConf

from mate_cli.cli.diagnosis import composing, diagnose
from mate_cli.cli.overrides import quote
from mate_cli.config.plain import to_plain
from mate_cli.config.reproduce import DataConfig, ReproduceConfig
from mate_cli.config.task import TaskConfig, settle_schedule
from mate_cli.config.train import TrainConfig
from mate_cli.runs.data import data_hash
from mate_cli.runs.identity import Identity, differences, identity_of
from mate_cli.runs.parent import weights_hash
from mate_cli.runs.place import current_identity
from mate_cli.runs.records import BrokenRecord, RunRecord, read_runs
from mate_cli.system.errors import UserError
from mate_cli.tables.data_folder import data_folder

_SAMPLE = TaskConfig(name="sample", format="sample")
_COSTS_NOTHING = {"seed", "weights", "backbone.path"}
"""Settings that change neither the time nor the FLOPs of a training."""
_OF_SAMPLE = ("hybridqa", "queries")  # It has HybridQA's layout; the others are in folders below, under their names.


@dataclass(frozen=True)
class Chain:
    """``mate train`` with the arguments ``of``, from the backbone or from the best model of ``parent``."""

    of: str
    parent: Chain | None
    seed: int

    @property
    def chain(self) -> str:
        """The options that the arguments choose, those of the parents first."""
        options = " ".join(word.partition("=")[2] for word in self.of.split())
        return options if self.parent is None else f"{self.parent.chain} > {options}"

    @property
    def title(self) -> str:
        return f"train {self.chain}, seed {self.seed}"


class Ledger:
    """The existing runs, and the commands of those to come.

    Args:
        backbone_words: arguments for the trainings that start a chain, as typed.

    Raises:
        UserError: mistakes in the arguments for every training.
    """

    def __init__(self, config: ReproduceConfig, backbone_words: Sequence[str] = ()) -> None:
        self.config = config
        self.runs = Path(config.paths.runs)
        self.broken: list[BrokenRecord] = []
        self.backbone_words = tuple(backbone_words)
        self._further = tuple(shlex.split(config.words or ""))
        self._records: list[RunRecord] = []
        self._runs: dict[Chain, list[RunRecord]] = {}
        words = [quote(TrainConfig, word) for word in (*self.backbone_words, *self._further)]
        if mistakes := diagnose("train", words, multirun=False, complete=True).mistakes:
            raise UserError("\n".join(mistakes))
        self.refresh()

    def refresh(self) -> None:
        """Read the run folders again."""
        self._records, self.broken = read_runs(self.runs)
        self._runs.clear()

    def record(self, training: Chain) -> RunRecord | None:
        """Return the run of this training, finished or not; None if there is none."""
        runs = self._runs_of(training)
        return max(runs, key=lambda run: (run.state == "done", str(run.status.get("time", ""))), default=None)

    def done(self, training: Chain) -> RunRecord | None:
        """Return the run of this training if it is finished."""
        run = self.record(training)
        return run if run is not None and run.state == "done" else None

    def lineage(self, training: Chain) -> list[RunRecord]:
        """Return the finished run of this training and the runs that it started from, as far as they are here."""
        runs, run, step = [], self.done(training), training
        while run is not None:
            runs.append(run)
            if step.parent is None:
                break
            step, weights = step.parent, run.identity.weights
            run = next((one for one in self._runs_of(step) if weights_hash(one.path) == weights), None)
        return runs

    def like(self, training: Chain) -> RunRecord | None:
        """Return a finished run of the same settings with any seed or parent, which costs as much."""
        identity = self._identity(training, None)
        done = (run for run in self._records if run.state == "done" and run.tokens)
        return next((run for run in done if differences(run.identity, identity).keys() <= _COSTS_NOTHING), None)

    def path(self, training: Chain) -> Path:
        """Return the folder of the run of this training; where there is none, the folder to give it."""
        if (run := self.record(training)) is not None:
            return run.path
        config = self.training_config(training)
        options = re.sub(r"[^\w=.]+", "-", training.chain)
        return self.runs / config.task.name / f"{options}-{config.schedule}-s{training.seed}"

    def name(self, training: Chain) -> str:
        """Return the ``name`` that gives ``mate train`` the folder ``path``: its place below that of the task."""
        path, own = self.path(training), self.runs / self.training_config(training).task.name
        return path.relative_to(own).as_posix() if path.is_relative_to(own) else path.name

    def words(self, training: Chain) -> list[str]:
        """Return the arguments of ``mate train``; the parent of the training starts them."""
        config, start = self.training_config(training), self.backbone_words
        if training.parent is not None:
            start = ("backbone=run", f"backbone.path={self.path(training.parent)}")
        words = [*training.of.split(), *start, f"schedule={config.schedule}", f"seed={training.seed}"]
        words += [f"data_dir={config.data_dir}", f"paths.runs={self.config.paths.runs}"]
        if config.task.mixed.format:
            words.append(f"task.mixed.data_dir={config.task.mixed.data_dir}")
        if self.config.paths.cache is not None:
            words.append(f"paths.cache={self.config.paths.cache}")
        return [*words, *self._further]

    def training_config(self, training: Chain) -> TrainConfig:
        """Return the configuration of a training, without the path of its parent; its task may lack the schedule."""
        start = list(self.backbone_words) if training.parent is None else ["backbone=run", "backbone.path=PARENT"]
        config = _composed((*training.of.split(), *start, *self._further))
        schedule = f"{self.config.schedule}_{config.model.name}"  # of one model, such as mlm's paper_linformer
        if schedule not in config.task.schedules:
            schedule = self.config.schedule
        data_dir = self.data_dir(data_key(config.task.format))
        task, mixed = config.task, config.task.mixed
        if mixed.format is not None:
            task = replace(task, mixed=replace(mixed, data_dir=self.data_dir(data_key(mixed.format))))
        chosen = replace(config, seed=training.seed, schedule=schedule, data_dir=data_dir, task=task)
        return settle_schedule(chosen) if schedule in task.schedules else chosen

    def sized_config(self, training: Chain) -> TrainConfig:
        """Return the configuration of a training with the backbone of its chain's first one, the encoder of all."""
        first = training
        while first.parent is not None:
            first = first.parent
        return replace(self.training_config(training), backbone=self.training_config(first).backbone)

    def data_dir(self, key: str) -> str | None:
        """Return the folder ``data.KEY``, else the sample's with ``schedule=smoke``, else None."""
        given: str | None = getattr(self.config.data, key)
        if given is not None or self.config.schedule != "smoke":
            return given
        return str(self._sample if key in _OF_SAMPLE else self._sample / key)

    @functools.cached_property
    def _sample(self) -> Path:
        return data_folder(_SAMPLE, None, self.config.paths)

    @property
    def uses_sample(self) -> bool:
        """True if generated data replaces some of the paper's."""
        return self.config.schedule == "smoke" and None in to_plain(self.config.data).values()

    def lacks_parent(self, training: Chain) -> bool:
        """Say whether the training is an ablation of a pre-training that it starts without."""
        ablation = self.training_config(training).ablation
        return training.parent is None and bool(ablation.parent_heads or ablation.parent_kind)

    def _runs_of(self, training: Chain) -> list[RunRecord]:
        """Return all runs of this training, from whichever finished run of its parent they start."""
        if training not in self._runs:
            self._runs[training] = self._matching(training)
        return self._runs[training]

    def _matching(self, training: Chain) -> list[RunRecord]:
        if self.lacks_parent(training):
            return []
        if training.parent is None:
            identities = [self._identity(training, None)]
        else:
            parents = (run for run in self._runs_of(training.parent) if run.state == "done")
            identities = [self._identity(training, parent) for parent in parents]
        return [run for one in identities for run in self._records if not differences(run.identity, one)]

    def _identity(self, training: Chain, parent: RunRecord | None) -> Identity:
        config = self.training_config(training)
        if parent is None:
            return current_identity(config)
        return identity_of(to_plain(config), data_hash(config), weights_hash(parent.path), parent.path)


def data_key(data_format: str) -> str:
    """Return the key of ``data`` that names the folder of a data format."""
    return data_format if data_format in {field.name for field in fields(DataConfig)} else "tables"


@functools.cache
def _composed(words: tuple[str, ...]) -> Any:
    with composing():
        return OmegaConf.to_object(compose("train", [quote(TrainConfig, word) for word in words]))
