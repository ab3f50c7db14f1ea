"""Open trained runs, alone or as the two stages of PointR. Imports no PyTorch, so that errors appear at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from mate_cli.config.evaluation import SELECTORS
from mate_cli.config.kinds import Role
from mate_cli.config.paths import PathsConfig
from mate_cli.config.task import Input
from mate_cli.config.train import TrainConfig
from mate_cli.runs.folder import RunFolder, load_run_config
from mate_cli.system.distribution import QUESTIONS, RELEASED, package_folder
from mate_cli.system.errors import UserError
from mate_cli.system.files import content_hash


@dataclass(frozen=True)
class Stage:
    """A trained run."""

    folder: RunFolder
    config: TrainConfig

    @property
    def name(self) -> str:
        return self.folder.path.resolve().name


@dataclass(frozen=True)
class Pipeline:
    """A selector, trained or one of ``SELECTORS``, and a reader."""

    selector: Stage | str
    reader: Stage

    @property
    def input(self) -> Input:
        """The part of the input that the selector sees, and so the reader; untrained selectors see all."""
        return "both" if isinstance(self.selector, str) else self.selector.config.task.input  # type: ignore[return-value]

    @property
    def name(self) -> str:
        selector = self.selector if isinstance(self.selector, str) else self.selector.name
        return f"{selector}+{self.reader.name}"

    @property
    def identity(self) -> dict[str, str]:
        """The paths of the two runs and hashes of their weights: results of other runs go to other folders."""
        identity: dict[str, str] = {}
        for key, stage in (("selector", self.selector), ("reader", self.reader)):
            if isinstance(stage, str):
                identity[key] = stage
            else:
                identity[key] = str(stage.folder.path.resolve())
                identity[f"{key}_weights"] = content_hash([stage.folder.weights_file])
        return identity


def recorded_stage(key: Role | Literal["run"], path: str, paths: PathsConfig) -> Stage:
    """Open the records of a trained run, whose weights may be elsewhere; otherwise as ``open_stage``."""
    folder, config = RunFolder(Path(path)), load_run_config(path)
    traits = config.task.traits
    if traits.asked is None if key == "run" else traits.role != key:
        unfit = "answers nothing by itself" if key == "run" else f"is no {key}"
        hint = f"; give it as {traits.role}=..." if traits.role else ""
        raise UserError(f"{key}={path}: a run of task={config.task.name} {unfit}{hint}")
    config.paths = paths
    return Stage(folder, config)


def open_stage(key: Role | Literal["run"], path: str, paths: PathsConfig) -> Stage:
    """Open a trained run, with the given ``paths`` instead of those of its training.

    Args:
        key: the key that names it: the role that it must have, or ``run``, which must answer single questions.

    Raises:
        UserError: the run does not exist, has another role, or has no model.
    """
    stage = recorded_stage(key, path, paths)
    if not stage.folder.weights_file.is_file():
        raise UserError(f"{key}={path} has no model yet; train it to the end with resume=true")
    return stage


def open_asked(run: str | None, paths: PathsConfig, part: str = QUESTIONS) -> Stage:
    """Open the run that answers; None: this part of the released model.

    Raises:
        UserError: as ``open_stage``, or there is no released model.
    """
    return open_stage("run", run or str(package_folder(RELEASED, part)), paths)


def open_pipeline(selector: str, reader: str, paths: PathsConfig, untrained: Sequence[str] = SELECTORS) -> Pipeline:
    """Open the two stages and check that they fit together.

    Args:
        untrained: the names of selectors without a run.

    Raises:
        UserError: a run does not exist, has another role or no model, or the two were trained on different data.
    """
    second = open_stage("reader", reader, paths)
    if selector in untrained:
        return Pipeline(selector, second)
    first = open_stage("selector", selector, paths)
    if first.config.task.format != second.config.task.format:
        raise UserError(
            f"selector={selector} was trained on {first.config.task.format}, reader={reader} on "
            f"{second.config.task.format}: the two stages must be of the same data"
        )
    return Pipeline(first, second)
