"""The configuration of a task: the data, what is predicted from it, and the schedules to train with."""

from __future__ import annotations

from dataclasses import dataclass, field

from omegaconf import MISSING

from mate_cli.config_rules import key

INPUTS = ("both", "table", "passages")
KINDS = ("cell_selection",)
OBJECTIVES = ("mml", "hard_em", "uniform")
READERS = ("sample", "hybridqa")
SPLITS = ("train", "dev", "test")


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
    bias_correction: bool = key(False, "correct Adam's averages for their start at 0; BERT does not")
    clip_norm: float | None = key(10.0, "gradients are scaled down to this norm; null: never", above=0)
    max_tokens: int = key(2048, "tokens per example; longer cells are cut", low=16)
    dropout: float = key(0.0, "share of states dropped in training", low=0, below=1)
    attention_dropout: float = key(0.0, "share of attention weights dropped in training", low=0, below=1)
    validate_every: int | None = key(None, "steps between validations; null: only at the end", low=1)
    save_every: int = key(200, "steps between checkpoints", low=1)

    def problems(self) -> list[str]:
        """Exactly one of steps and epochs says how long to train."""
        if (self.steps is None) == (self.epochs is None):
            return ["steps and epochs: set exactly one of them, the other to null"]
        return []


@dataclass
class TaskConfig:
    """The data, the question put to it, and how to train on it."""

    name: str = key(MISSING, "name of the option")
    kind: str = key("cell_selection", "what is predicted", choices=KINDS)
    reader: str = key(MISSING, "which data format is read", choices=READERS)
    input: str = key("both", "what the model sees: both, the table alone, the passages alone", choices=INPUTS)
    sentences: int = key(5, "sentences of linked passages added to the cells, per question", low=0)
    objective: str = key("mml", "how several candidate cells share the loss", choices=OBJECTIVES)
    report_split: str = key("dev", "the split whose score ends a training", choices=SPLITS)
    default_schedule: str = key(MISSING, "the schedule where none is named")
    schedules: dict[str, ScheduleConfig] = field(default_factory=dict)
