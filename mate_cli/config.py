"""The typed configuration of every command: a dataclass per group, each key with its meaning and limits.

Hydra fills these classes from ``conf/`` and the command line; commands receive the objects, never a
``DictConfig``. ``key()`` holds what the key means (shown by ``mate COMMAND --help``) beside what it may be
(checked by ``mate_cli.config_rules``).
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import yaml
from omegaconf import MISSING, OmegaConf
from omegaconf.errors import OmegaConfBaseException

from mate_cli.config_analysis import SUBJECTS, TASK_READERS, AnalysisConfig
from mate_cli.config_bench import BenchConfig
from mate_cli.config_hardware import HardwareConfig
from mate_cli.config_model import BENCH_HEADS, HEADS, BackboneConfig, ModelConfig
from mate_cli.config_paths import PathsConfig
from mate_cli.config_report import ReportConfig
from mate_cli.config_reproduce import ReproduceConfig
from mate_cli.config_rules import key, none_given, problems, several_given, unknown_name
from mate_cli.config_runs import OUTPUTS, RunsConfig
from mate_cli.config_task import EXPANSIONS, KINDS, SPLITS, ScheduleConfig, TaskConfig
from mate_cli.errors import UserError

LOGGERS = ("csv", "tensorboard", "wandb")
SELECTORS = ("oracle", "tfidf_cell", "tfidf_sentence")

# What is scored, and what answers: the keys of one line belong together, those of two exclude each other.
EVALUATED = (("run",), ("selector", "reader"), ("predictions", "reference"))
PREDICTING = (("run",), ("selector", "reader"))

# Keys that decide where a run is written and how it is told, not what comes out.
NOT_HASHED = ("paths", "logger", "resume", "name", "overwrite")


@dataclass
class LoggerConfig:
    """Where the curves go (metrics.csv is always written)."""

    name: str = key(MISSING, "name of the option", choices=LOGGERS)
    project: str = key("mate", "wandb: name of the project", text=True)
    group: str | None = key(None, "wandb: group of runs; null: those that differ by nothing but the seed", text=True)


@dataclass
class AblationConfig:
    """What is taken away, or tried instead; the option changes keys of other groups."""

    name: str = key("none", "name of the option")
    heads: str | None = key(None, "model.heads that it is about; null: any", choices=HEADS)
    parent_heads: str | None = key(None, "model.heads that the run of backbone.path has; null: any", choices=HEADS)
    parent_kind: str | None = key(None, "task.kind that the run of backbone.path has; null: any", choices=KINDS)


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
    data_dir: str | None = key(None, "folder of the unpacked data (sample needs none)", text=True)
    name: str | None = key(None, "name of the run folder; null: made from the configuration", text=True)
    resume: bool = key(False, "continue the run of that name from its last checkpoint")
    overwrite: bool = key(False, "replace the run of that name")
    seed: int = key(0, "seed of everything random", low=0, high=2**32 - 1)

    def problems(self) -> list[str]:
        """The schedule exists; a run is either continued or replaced; the model can be trained, and ablated so."""
        both = ["resume and overwrite: set at most one of them to true"] if self.resume and self.overwrite else []
        return schedule_problems(self) + both + bench_only_problems(self.model) + self._ablation_problems()

    def _ablation_problems(self) -> list[str]:
        ablation, found = self.ablation, []
        if ablation.heads not in (None, self.model.heads):
            found.append(
                f"ablation={ablation.name} is about heads={ablation.heads}, "
                f"and model={self.model.name} has heads={self.model.heads}"
            )
        if (ablation.parent_heads or ablation.parent_kind) and self.backbone.source != "run":
            found.append(f"ablation={ablation.name} starts from a run: leave out backbone={self.backbone.name}")
        return found


@dataclass
class PrepareConfig:
    """Read, check and encode the data of a task into the cache; fetch it first where data_dir is null."""

    task: TaskConfig = field(default_factory=TaskConfig)
    model: ModelConfig = field(default_factory=ModelConfig)
    backbone: BackboneConfig = field(default_factory=BackboneConfig)
    paths: PathsConfig = field(default_factory=PathsConfig)
    schedule: str | None = key(None, "schedule whose max_tokens counts; null: the task's default")
    data_dir: str | None = key(
        None,
        "folder of the unpacked data; null: the official files of hybridqa, sqa, wtq, tabfact are fetched",
        text=True,
    )
    mirror: str | None = key(
        None, "address under which the official files are by their names, in place of their own", text=True
    )
    workers: int | None = key(None, "processes that encode; null: by the number of cores", low=1)
    encode: bool = key(True, "false: count what the data has, and no more")
    to: str | None = key(
        None,
        "task=mlm: folder or address for the shards, null: the cache; else: folder for the counts, statistics.json",
        text=True,
    )

    def problems(self) -> list[str]:
        """The schedule exists; the model is one to train; a corpus is counted as it is encoded."""
        uncounted = not self.encode and self.task.kind == "masked_language"
        found = ["encode=false belongs to tasks with questions, and task=mlm has none"] if uncounted else []
        if self.mirror is not None and not self.mirror.startswith(("http://", "https://")):
            found.append(f"mirror={self.mirror} is no address; begin it with https:// or http://")
        return schedule_problems(self) + bench_only_problems(self.model) + found


@dataclass
class EvaluateConfig:
    """Score a trained run, a selector with a reader, or a file of answers, with the official metric."""

    run: str | None = key(None, "run folder, scored by itself", text=True)
    selector: str | None = key(
        None, f"stage 1: run folder of a cell selector, or one of {', '.join(SELECTORS)}", text=True
    )
    reader: str | None = key(None, "stage 2: run folder of a reader", text=True)
    predictions: str | None = key(None, "file of answers in the format of HybridQA, SQA or WTQ", text=True)
    reference: str | None = key(
        None,
        "what to score predictions against: HybridQA's reference file, the file of SQA's or WTQ's questions",
        text=True,
    )
    hardware: HardwareConfig = field(default_factory=HardwareConfig)
    paths: PathsConfig = field(default_factory=PathsConfig)
    split: str = key("dev", "which part of the data", choices=SPLITS)
    data_dir: str | None = key(None, "folder of the unpacked data; null: as in training", text=True)
    max_tokens: int | None = key(None, "run: tokens of an input, longer cells are cut; null: as in training", low=16)
    expansion: str | None = key(
        None, "run: what cells get of their linked passages; null: as in training", choices=EXPANSIONS
    )
    blank_question: bool = key(False, "run: take the questions away: what the tables alone give away")
    top: int = key(1, "selector: how many of its cells the reader reads; the answer has the best joint score", low=1)
    weight: float | None = key(
        None,
        "selector, top above 1: weight in p(cell) p(span)^weight; null: as fitted on split=train",
        low=0,
    )
    limit: int | None = key(None, "selector: this many questions, drawn at random; null: all", low=1)
    to: str | None = key(
        None, "selector: folder for answers and scores; null: <paths.runs>/pointr/<selector>+<reader>", text=True
    )

    def missing(self) -> list[str]:
        """A line where nothing is named to score."""
        return none_given(self, EVALUATED)

    def problems(self) -> list[str]:
        """One thing is scored, with the keys that belong to it."""
        found = several_given(self, EVALUATED)
        chosen = {"top": self.top > 1, "weight": self.weight is not None, "limit": self.limit, "to": self.to}
        if self.selector is None:
            found += [f"{name} belongs to selector and reader" for name, own in chosen.items() if own]
        if self.run is None:
            own = {
                "blank_question": self.blank_question,
                "max_tokens": self.max_tokens,
                "expansion": self.expansion,
            }
            found += [f"{name} belongs to run" for name, value in own.items() if value]
        if self.selector in SELECTORS and (self.top > 1 or self.weight is not None):
            found.append(f"top and weight need a trained selector's probabilities; selector={self.selector} has none")
        return found


@dataclass
class PredictConfig:
    """Answer a question on a table of your own."""

    run: str | None = key(None, "run folder: the answer is a cell, cells and an operator, or a label", text=True)
    selector: str | None = key(None, "stage 1: run folder of a cell selector", text=True)
    reader: str | None = key(None, "stage 2: run folder of a reader: the answer is a span of a cell", text=True)
    table: str = key(MISSING, "CSV file whose first line is the header; or HTML, JSON, Parquet", text=True)
    passages: str | None = key(
        None, "JSON file {key: passage}; a cell links by [[key]] or [[key|words shown]] in the table", text=True
    )
    question: str = key(MISSING, "the question or the statement, as it is", text=True)
    max_tokens: int | None = key(None, "run: tokens of an input, longer cells are cut; null: as in training", low=16)
    before: list[str] | None = key(None, "run of task=sqa: the questions before it in the conversation, first to last")
    hardware: HardwareConfig = field(default_factory=HardwareConfig)
    paths: PathsConfig = field(default_factory=PathsConfig)
    top: int = key(5, "how many cells to show, and to read where there is a reader", low=1)
    weight: float = key(1.0, "weight of the reader in p(cell) p(span)^weight", low=0)
    output: str = key("rich", "a marked table, or JSON", choices=OUTPUTS)

    def missing(self) -> list[str]:
        """A line where no run is named."""
        return none_given(self, PREDICTING)

    def problems(self) -> list[str]:
        """One run, or one of each stage."""
        alone = ["weight belongs to selector and reader"] if self.selector is None and self.weight != 1 else []
        own = {"before": self.before, "max_tokens": self.max_tokens} if self.run is None else {}
        return (
            several_given(self, PREDICTING) + alone + [f"{name} belongs to run" for name, set_ in own.items() if set_]
        )


@dataclass
class AnalyzeConfig:
    """Analyse generated tables, the data of a task, or what runs answered."""

    analysis: AnalysisConfig = field(default_factory=AnalysisConfig)
    run: str | None = key(
        None,
        "errors: run folder, of a reader the folder of a pipeline's answers; robustness, flow: run folder",
        text=True,
    )
    runs: list[str] | None = key(None, "compare: folders like that, the first of which the others are held against")
    task: TaskConfig | None = None
    model: ModelConfig = field(default_factory=ModelConfig)
    backbone: BackboneConfig = field(default_factory=BackboneConfig)
    hardware: HardwareConfig = field(default_factory=HardwareConfig)
    paths: PathsConfig = field(default_factory=PathsConfig)
    schedule: str | None = key(None, "coverage, flow: schedule whose max_tokens counts; null: the task's default")
    data_dir: str | None = key(None, "folder of the unpacked data; null: as in training (sample needs none)", text=True)
    split: str = key("dev", "which part of the data", choices=SPLITS)
    max_tokens: int | None = key(None, "robustness: tokens of an input; null: as in training", low=16)
    to: str = key("./analysis", "folder for what is written", text=True)

    def missing(self) -> list[str]:
        """A line where it is not said what to look at."""
        subject = SUBJECTS.get(self.analysis.name)
        if subject is None or getattr(self, subject) is not None:
            return []
        if self.analysis.name != "flow":
            return [f"{subject} is missing: write {subject}=..."]
        return [] if self.task is not None else ["run is missing: write run=..., or task=NAME with backbone=..."]

    def problems(self) -> list[str]:
        """What is given belongs to the analysis; the schedule exists."""
        given = [own for own in ("run", "runs") if getattr(self, own) is not None]
        found = [
            f"{own} belongs to analysis={' or '.join(name for name, subject in SUBJECTS.items() if subject == own)}"
            for own in given
            if SUBJECTS.get(self.analysis.name) != own
        ]
        if self.runs is not None and len(self.runs) == 1:
            found.append(f"runs=[{self.runs[0]}]: nothing to compare it with")
        if self.analysis.name == "flow" and self.run is None:
            found += bench_only_problems(self.model)
        if self.analysis.baseline_only and self.run is not None:
            found.append("analysis.baseline_only looks at no run: leave out run, and add task=NAME")
        if self.analysis.name != "robustness" and self.max_tokens is not None:
            found.append("max_tokens belongs to analysis=robustness")
        if self.analysis.name in TASK_READERS:
            return found + self._task_problems()
        alone, readers = {"task": self.task, "schedule": self.schedule}, " or ".join(TASK_READERS)
        return found + [f"{name} belongs to analysis={readers}" for name, own in alone.items() if own is not None]

    def _task_problems(self) -> list[str]:
        if self.task is not None:
            return schedule_problems(self)
        alone = {"data_dir": self.data_dir if self.run is None else None, "schedule": self.schedule}
        return [f"{name} says how to read a task: add task=NAME" for name, value in alone.items() if value is not None]


@dataclass
class ExportConfig:
    """Write a run's best model as a folder for Hugging Face's libraries, with a model card."""

    run: str = key(MISSING, "run folder", text=True)
    to: str = key(MISSING, "folder to write", text=True)
    overwrite: bool = key(False, "replace the files of an export that stands there")


ROOTS: dict[str, type] = {
    "prepare": PrepareConfig,
    "train": TrainConfig,
    "evaluate": EvaluateConfig,
    "predict": PredictConfig,
    "analyze": AnalyzeConfig,
    "bench": BenchConfig,
    "export": ExportConfig,
    "runs": RunsConfig,
    "reproduce": ReproduceConfig,
    "report": ReportConfig,
}


def schedule_problems(config: TrainConfig | PrepareConfig | AnalyzeConfig) -> list[str]:
    """A line where the schedule that the configuration asks for does not exist."""
    assert config.task is not None
    name = config.schedule or config.task.default_schedule
    known = config.task.schedules
    return [] if name in known else [unknown_name("schedule", name, known)]


def bench_only_problems(model: ModelConfig) -> list[str]:
    """A line where a model is not for training."""
    if model.heads not in BENCH_HEADS:
        return []
    files = sorted((conf_folder() / "model").glob("*.yaml"))
    heads = {file.stem: yaml.safe_load(file.read_text(encoding="utf-8")).get("heads") for file in files}
    others = ", ".join(name for name, own in heads.items() if own not in BENCH_HEADS)
    return [f"model={model.heads} is for mate bench only; models to train: {others}"]


def active_schedule(config: TrainConfig | PrepareConfig | AnalyzeConfig) -> ScheduleConfig:
    """The schedule the configuration asks for; ``schedule_problems`` says when there is none."""
    assert config.task is not None
    return config.task.schedules[config.schedule or config.task.default_schedule]


def cache_folder(paths: PathsConfig) -> Path:
    """Folder for prepared data: ``paths.cache``, else ``$MATE_CACHE``, else ``~/.cache/mate``."""
    return Path(paths.cache or os.environ.get("MATE_CACHE") or "~/.cache/mate").expanduser()


def conf_folder() -> Path:
    return shipped_folder("conf")


def shipped_folder(name: str) -> Path:
    """A folder of shipped YAML files: inside the package (wheel) or beside it (checkout)."""
    package = Path(__file__).resolve().parent
    inside = package / name
    return inside if inside.is_dir() else package.parent / name


def to_plain(config: Any) -> dict[str, Any]:
    """The configuration as plain dictionaries and scalars, ready for YAML, JSON and checkpoints."""
    return asdict(config)


def leaves(record: Any, prefix: str = "") -> dict[str, Any]:
    """Every value of nested mappings by its keys joined by dots."""
    if not isinstance(record, Mapping):
        return {prefix: record}
    found: dict[str, Any] = {}
    for name, value in record.items():
        found |= leaves(value, f"{prefix}.{name}" if prefix else str(name))
    return found


def config_hash(config: TrainConfig) -> str:
    """sha256 (hex) of what decides a run's result: everything but where it is written and how it is told."""
    return plain_hash(to_plain(config))


def plain_hash(plain: Mapping[str, Any]) -> str:
    """``config_hash`` of a configuration as ``to_plain`` or a run's ``config.yaml`` has it."""
    hashed = {name: value for name, value in plain.items() if name not in NOT_HASHED}
    return hashlib.sha256(json.dumps(hashed, sort_keys=True).encode()).hexdigest()


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
        plain = yaml.safe_load(file.read_text(encoding="utf-8"))
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


def escape(text: str) -> str:
    """Text for a configuration value that means itself: OmegaConf reads no ``${...}`` out of it."""
    return re.sub(r"(\\*)\$\{", r"\1\1\\${", text)


def _literal(node: Any) -> Any:
    if isinstance(node, dict):
        return {name: _literal(value) for name, value in node.items()}
    return escape(node) if isinstance(node, str) else node
