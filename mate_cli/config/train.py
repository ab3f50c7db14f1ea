"""The configurations of ``mate train`` and ``mate prepare``, with the groups ``ablation`` and ``logger``.

Hydra fills the classes of ``mate_cli.config`` from ``conf/`` and the command line; commands receive the objects, never
a ``DictConfig``. ``key()`` holds what the key means, which ``mate COMMAND --help`` shows, beside what it may be, which
``mate_cli.config.rules`` checks.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from omegaconf import MISSING

from mate_cli.config.hardware import HardwareConfig
from mate_cli.config.kinds import KINDS
from mate_cli.config.model import HEADS, BackboneConfig, ModelConfig, bench_only_problems
from mate_cli.config.paths import PathsConfig
from mate_cli.config.rules import key
from mate_cli.config.task import TaskConfig, schedule_problems, short_key

LOGGERS = ("csv", "tensorboard", "wandb")


@dataclass
class AblationConfig:
    """The part that is taken away, or tried instead; the option changes keys of other groups."""

    name: str = key("none", "name of the option")
    heads: str | None = key(None, "model.heads that it is about; null: any", choices=HEADS)
    parent_heads: str | None = key(None, "model.heads that the run of backbone.path has; null: any", choices=HEADS)
    parent_kind: str | None = key(None, "task.kind that the run of backbone.path has; null: any", choices=tuple(KINDS))


@dataclass
class LoggerConfig:
    """The destination of the curves (metrics.csv is always written)."""

    name: str = key(MISSING, "name of the option", choices=LOGGERS)
    project: str = key("mate", "wandb: name of the project", text=True)
    group: str | None = key(None, "wandb: group of runs; null: those that differ by nothing but the seed", text=True)


@dataclass
class TrainConfig:
    """Train a model on a task; keep the best and the last checkpoint."""

    task: TaskConfig = field(default_factory=TaskConfig)
    model: ModelConfig = field(default_factory=ModelConfig)
    ablation: AblationConfig = field(default_factory=AblationConfig)
    backbone: BackboneConfig = field(default_factory=BackboneConfig)
    hardware: HardwareConfig = field(default_factory=HardwareConfig)
    logger: LoggerConfig = field(default_factory=LoggerConfig)
    paths: PathsConfig = field(default_factory=PathsConfig)
    schedule: str | None = key(None, "name of one of the task's schedules; null: its default")
    lr: float | None = short_key("lr")
    batch: int | None = short_key("batch")
    steps: int | None = short_key("steps")
    epochs: float | None = short_key("epochs")
    max_tokens: int | None = short_key("max_tokens")
    data_dir: str | None = key(None, "folder of the unpacked data (sample takes none)", text=True, reads="folder")
    name: str | None = key(None, "name of the run folder; null: made from the configuration", text=True)
    resume: bool = key(
        False,
        "continue the run of that name, or with these settings, from its last checkpoint; an error if there is none",
    )
    overwrite: bool = key(False, "replace the run of that name")
    dry_run: bool = key(False, "train nothing: count the memory of a device and say what fits, for any hardware")
    seed: int = key(0, "seed of everything random", low=0, high=2**32 - 1)

    def problems(self) -> list[str]:
        """The schedule exists; a run is either continued or replaced; the model can be trained, and ablated so."""
        both = ["resume and overwrite: set at most one of them to true"] if self.resume and self.overwrite else []
        return (
            self._name_problems()
            + schedule_problems(self)
            + both
            + bench_only_problems(self.model)
            + self._ablation_problems()
        )

    def _name_problems(self) -> list[str]:
        """A run lies below the folder of its task."""
        parts = (self.name or "run").split("/")
        if all(part.strip(".") for part in parts):
            return []
        return [f"name={self.name}: write a name below paths.runs, such as my-run, not a place elsewhere"]

    def _ablation_problems(self) -> list[str]:
        ablation, problems = self.ablation, []
        if ablation.heads not in (None, self.model.heads):
            problems.append(
                f"ablation={ablation.name} is about heads={ablation.heads}, "
                f"and model={self.model.name} has heads={self.model.heads}"
            )
        if (ablation.parent_heads or ablation.parent_kind) and self.backbone.source != "run":
            problems.append(f"ablation={ablation.name} starts from a run: leave out backbone={self.backbone.name}")
        return problems


@dataclass
class PrepareConfig:
    """Read, check and encode the data of a task into the cache; fetch it first where data_dir is null."""

    task: TaskConfig = field(default_factory=TaskConfig)
    model: ModelConfig = field(default_factory=ModelConfig)
    backbone: BackboneConfig = field(default_factory=BackboneConfig)
    paths: PathsConfig = field(default_factory=PathsConfig)
    schedule: str | None = key(None, "schedule whose max_tokens counts; null: the task's default")
    max_tokens: int | None = short_key("max_tokens")
    data_dir: str | None = key(
        None,
        "folder of the unpacked data; null: the official files of hybridqa, sqa, wtq, tabfact are fetched",
        text=True,
        reads="folder",
    )
    mirror: str | None = key(
        None, "address under which the official files are by their names, in place of their own", text=True
    )
    workers: int | None = key(None, "processes that encode; null: by the number of cores", low=1)
    encode: bool = key(True, "false: count what the data has, and no more")
    to: str | None = key(
        None,
        "task=mlm: folder or address for the shards, null: the cache; else: folder for the counts, statistics.json, "
        "and for the files of task=queries",
        text=True,
        writes="folder",
    )

    def problems(self) -> list[str]:
        """The schedule exists; the model is one to train; a corpus is counted as it is encoded."""
        uncounted = not self.encode and self.task.traits.learns_from_corpus
        problems = ["encode=false belongs to tasks with questions, and task=mlm has none"] if uncounted else []
        if self.mirror is not None and not self.mirror.startswith(("http://", "https://")):
            problems.append(f"mirror={self.mirror} is no address; begin it with https:// or http://")
        return schedule_problems(self) + bench_only_problems(self.model) + problems
