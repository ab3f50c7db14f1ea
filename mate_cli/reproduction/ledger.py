"""What is there already, and how a training of the paper is written here: which words, which data, which run."""

from __future__ import annotations

import functools
import shlex
from collections.abc import Sequence
from dataclasses import fields, replace
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
from mate_cli.reproduction.chain import Chain
from mate_cli.runs.data import data_hash
from mate_cli.runs.identity import Identity, differences, identity_of
from mate_cli.runs.parent import starting_weights, weights_hash
from mate_cli.runs.records import BrokenRecord, RunRecord, read_runs
from mate_cli.system.errors import UserError
from mate_cli.tables.data_folder import data_folder

_SAMPLE = TaskConfig(name="sample", format="sample")
_COSTS_NOTHING = {"seed", "weights", "backbone.path"}
"""Settings that change neither the time nor the FLOPs of a training."""
_OF_SAMPLE = "hybridqa"  # whose layout the sample has; the others are below it, under their names


class Ledger:
    """The runs that there are, and what the command line says of those to come.

    Args:
        backbone_words: as they were typed; they go to the trainings that start a chain.

    Raises:
        UserError: mistakes in the words that go to every training.
    """

    def __init__(self, config: ReproduceConfig, backbone_words: Sequence[str] = ()) -> None:
        self.config = config
        self.runs = Path(config.paths.runs)
        self.broken: list[BrokenRecord] = []
        self._backbone = tuple(backbone_words)
        self._further = tuple(shlex.split(config.words or ""))
        self._records: list[RunRecord] = []
        self._found: dict[Chain, RunRecord | None] = {}
        if found := _mistakes((*self._backbone, *self._further)):
            raise UserError("\n".join(found))
        self.refresh()

    def refresh(self) -> None:
        """Read the run folders, as they are now."""
        self._records, self.broken = read_runs(self.runs)
        self._found.clear()

    def record(self, training: Chain) -> RunRecord | None:
        """The run that is this training, finished or not; None where there is none."""
        if training not in self._found:
            self._found[training] = self._find(training)
        return self._found[training]

    def done(self, training: Chain) -> RunRecord | None:
        """The run that is this training, where it is finished."""
        found = self.record(training)
        return found if found is not None and found.state == "done" else None

    def like(self, training: Chain) -> RunRecord | None:
        """A finished run of the same settings with any seed, or parent: what such a training costs."""
        identity = self._identity(training, None)
        done = (run for run in self._records if run.state == "done" and run.tokens)
        return next((run for run in done if differences(run.identity, identity).keys() <= _COSTS_NOTHING), None)

    def words(self, training: Chain) -> list[str]:
        """What ``mate train`` is to be told; of a training that starts from another, that one must be done."""
        config, start = self.training_config(training), self._backbone
        if training.parent is not None:
            parent = self.done(training.parent)
            assert parent is not None, f"{training.parent.title} is not done"
            start = ("backbone=run", f"backbone.path={parent.path}")
        words = [*training.of.split(), *start, f"schedule={config.schedule}", f"seed={training.seed}"]
        words += [f"data_dir={config.data_dir}", f"paths.runs={self.config.paths.runs}"]
        if self.config.paths.cache is not None:
            words.append(f"paths.cache={self.config.paths.cache}")
        return [*words, *self._further]

    def training_config(self, training: Chain) -> TrainConfig:
        """The configuration of a training; where it starts from another, without the path of that."""
        own = training.of.split()
        start = list(self._backbone) if training.parent is None else ["backbone=run", "backbone.path=PARENT"]
        config = _composed((*own, *start, *self._further))
        schedule = f"{self.config.schedule}_{config.model.name}"  # a model's own, as mlm's paper_linformer
        if schedule not in config.task.schedules:
            schedule = self.config.schedule
        data_dir = self.data_dir(data_key(config.task.format))
        return settle_schedule(replace(config, seed=training.seed, schedule=schedule, data_dir=data_dir))

    def data_dir(self, key: str) -> str | None:
        """The folder of the data that ``data.KEY`` names; with ``schedule=smoke`` the sample's; None without either."""
        given: str | None = getattr(self.config.data, key)
        if given is not None or self.config.schedule != "smoke":
            return given
        return str(self._sample if key == _OF_SAMPLE else self._sample / key)

    @functools.cached_property
    def _sample(self) -> Path:
        return data_folder(_SAMPLE, None, self.config.paths)

    @property
    def uses_sample(self) -> bool:
        """Whether generated data stands in for any of the paper's."""
        return self.config.schedule == "smoke" and None in to_plain(self.config.data).values()

    @property
    def backbone_words(self) -> tuple[str, ...]:
        return self._backbone

    def lacks_parent(self, training: Chain) -> bool:
        """Whether it is about a pre-training, and starts without one."""
        ablation = self.training_config(training).ablation
        return training.parent is None and bool(ablation.parent_heads or ablation.parent_kind)

    def _find(self, training: Chain) -> RunRecord | None:
        if self.lacks_parent(training):
            return None
        parent = None
        if training.parent is not None:
            parent = self.done(training.parent)
            if parent is None:
                return None
        identity = self._identity(training, parent)
        same = [run for run in self._records if not differences(run.identity, identity)]
        return max(same, key=lambda run: (run.state == "done", str(run.status.get("time", ""))), default=None)

    def _identity(self, training: Chain, parent: RunRecord | None) -> Identity:
        config = self.training_config(training)
        if parent is None:
            return identity_of(to_plain(config), data_hash(config), starting_weights(config.backbone))
        return identity_of(to_plain(config), data_hash(config), weights_hash(parent.path), parent.path)


def data_key(data_format: str) -> str:
    """Return the key of ``data`` that names the folder of a data format."""
    return data_format if data_format in {field.name for field in fields(DataConfig)} else "tables"


@functools.cache
def _mistakes(words: tuple[str, ...]) -> list[str]:
    return diagnose("train", [quote(TrainConfig, word) for word in words], multirun=False, complete=True)


@functools.cache
def _composed(words: tuple[str, ...]) -> Any:
    with composing():
        return OmegaConf.to_object(compose("train", [quote(TrainConfig, word) for word in words]))
