"""The configuration of a task: the data, what is predicted from it, and the schedules to train with."""

from __future__ import annotations

from dataclasses import dataclass, field, fields, replace
from typing import Any, Literal, Protocol, get_args

from omegaconf import MISSING

from mate_cli.config.kinds import KINDS, Traits
from mate_cli.config.rules import key, unknown_name

EXPANSIONS = ("tfidf", "all")
Input = Literal["both", "table", "passages"]
"""Parts of a table to read: cells with their linked passages, or one of the two."""

INPUTS: tuple[str, ...] = get_args(Input)
Objective = Literal["mml", "hard_em", "uniform"]
OBJECTIVES: tuple[str, ...] = get_args(Objective)
Noise = Literal["none", "full", "selective", "column"]
NOISES: tuple[str, ...] = get_args(Noise)
_GENERATED = ("synthetic", "synthetic_opposite", "counterfactual", "cs", "everyday")
FORMATS = ("sample", "hybridqa", "sqa", "wtq", "tabfact", "own", "own_qa", "queries", *_GENERATED, "corpus")
MADE_FORMATS = ("queries", *_GENERATED)
DECAYS = ("linear", "cosine", "constant")
Pruning = Literal["none", "hem"]
"""Columns to keep of a table that does not fit: all, or those nearest to the question."""

PRUNINGS: tuple[str, ...] = get_args(Pruning)
SPAN_HEADS = ("mlp", "linear")
SPLITS = ("train", "dev", "test")
LEAST_TOKENS = 16
"""Of an input; a question and a cell hardly fit into fewer."""


@dataclass
class ScheduleConfig:
    """The length and the pace of a training."""

    batch: int = key(MISSING, "examples per optimizer step, over all devices", low=1)
    steps: int | None = key(None, "optimizer steps (either steps or epochs)", low=1)
    epochs: float | None = key(None, "passes over the training data (either steps or epochs)", above=0)
    lr: float = key(MISSING, "peak learning rate", above=0)
    head_lr: float | None = key(None, "peak learning rate of new parameters; null: lr", above=0)
    warmup: float = key(0.05, "share of the steps with a rising learning rate", low=0, high=1)
    decay: str = key("linear", "learning rate after the warm-up: falls to 0, or stays constant", choices=DECAYS)
    weight_decay: float = key(0.01, "AdamW's decay; none for biases and layer norms", low=0)
    bias_correction: bool = key(False, "correct Adam's averages for their start at 0; BERT does not")
    clip_norm: float | None = key(10.0, "gradients are scaled down to this norm; null: never", above=0)
    frozen_layers: int = key(
        0, "first layers of the encoder that keep their weights, and the embeddings with them; 0: all learn", low=0
    )
    max_tokens: int = key(2048, "tokens per example; longer cells are cut", low=LEAST_TOKENS)
    prune: str = key(
        "none",
        "tables that do not fit keep all columns (none), or the nearest to the question (hem), before cells are cut",
        choices=PRUNINGS,
    )
    temperature: float | None = key(None, "kind=table_qa: in place of task.qa.temperature; null: that one", above=0)
    contrast: float = key(0.0, "kind=table_qa: weight of a softmax among the cells of a column", low=0)
    mentions: float = key(
        0.0, "kind=entailment: weight of a loss on which words of the statement the table has too", low=0
    )
    dropout: float = key(0.0, "share of states dropped in training", low=0, below=1)
    attention_dropout: float = key(0.0, "share of attention weights dropped in training", low=0, below=1)
    validate_every: int | None = key(None, "steps between validations; null: only at the end", low=1)
    held_out: float = key(
        0.0,
        "share of train's tables kept out of training, to choose the best checkpoint on; 0: choose it on dev",
        low=0,
        below=1,
    )
    validate_on: int | None = key(None, "examples, drawn once, that a validation scores; null: all", low=1)
    save_every: int = key(200, "steps between checkpoints", low=1)

    def problems(self) -> list[str]:
        """Exactly one of steps and epochs says how long to train."""
        if (self.steps is None) == (self.epochs is None):
            return ["steps and epochs: set exactly one of them, the other to null"]
        return []


_SCHEDULE_KEYS = {field.name: field.metadata for field in fields(ScheduleConfig)}


@dataclass
class SpanConfig:
    """The reader (kind=span_reading): its spans, and the cells it learns from."""

    max_span: int = key(20, "the longest span, in word pieces", low=1)
    head: str = key("mlp", "what scores a span: mlp as in the paper, linear as in the release", choices=SPAN_HEADS)
    traced: bool = key(False, "learn from the cells of the official answer nodes, not from all that hold the answer")
    together: bool = key(False, "one example with all cells of a question, not one for each")
    noisy_cells: str = key(
        "none",
        "together=true: as many other cells, of the whole table, of the same rows and columns, of the same columns",
        choices=NOISES,
    )

    def problems(self) -> list[str]:
        """Noise is next to something."""
        if self.noisy_cells == "none" or self.together:
            return []
        return [f"noisy_cells={self.noisy_cells} needs together=true: a cell without the answer teaches nothing alone"]


@dataclass
class QaConfig:
    """Answers made of cells (kind=table_qa): how cells are scored, and what is learnt about computing with them."""

    aggregation: bool = key(
        False,
        "an operator on the cells (none, sum, average, count), learnt from the answer, or from itself where known",
    )
    difference: bool = key(False, "aggregation: a fifth operator, the difference of two cells; TAPAS has four")
    temperature: float = key(1.0, "what the scores of the cells' words are divided by", above=0)
    zero_head: bool = key(False, "new weights that score cells and columns start at zero, not at random")
    surest: bool = key(True, "where no cell is above a half the surest are the answer; the release's is empty")
    cell_select_pref: float = key(
        0.5,
        "aggregation: a number that stands in the table too is selected while the operators' probability is at most so",
        low=0,
        high=1,
    )
    huber_delta: float = key(1.0, "aggregation: errors of the expected result count squared up to here", above=0)
    answer_loss_cutoff: float | None = key(
        None, "aggregation: a result whose loss is above this teaches nothing; null: all teach", above=0
    )
    history: str | None = key(
        None,
        "a run's predictions-train.jsonl, whose answers are the history of follow-ups in training; null: right answers",
        text=True,
        reads="file",
    )

    def problems(self) -> list[str]:
        """The difference is one operator of several."""
        if self.aggregation or not self.difference:
            return []
        return ["qa.difference adds an operator to others, which need task.qa.aggregation=true"]


@dataclass
class QueriesConfig:
    """Questions made from tables (format=queries); a data_dir that mate prepare wrote keeps its own numbers."""

    questions: int = key(
        30_000, "questions to train on, fewer if the tables give no more; what mate prepare wrote stays", low=1
    )
    dev: int = key(2_000, "questions about the tables that are held out of training, one in 50", low=1)
    conversations: float = key(0.4, "share of the questions that belong to a conversation", low=0, high=1)
    unanswerable: float = key(
        0.4,
        "share of train's look-ups and selections outside of conversations that are asked again, of the table without "
        "the answer",
        low=0,
        high=1,
    )
    seed: int = key(0, "seed of the questions; the seed of a training leaves them as they are", low=0)


@dataclass
class MixedConfig:
    """Examples made from tables that train has beside its own, so that what they taught is not forgotten."""

    format: str | None = key(
        None, "format of examples made from tables that are mixed into train; null: none", choices=MADE_FORMATS
    )
    data_dir: str | None = key(
        None, "folder of the tables that they are made from, or of what mate prepare made", text=True, reads="folder"
    )
    share: float = key(0.25, "share of them in train, or as many as there are", above=0, below=1)

    def problems(self) -> list[str]:
        """A folder belongs to a format."""
        if self.format is not None or self.data_dir is None:
            return []
        return ["mixed.data_dir belongs to examples that are mixed in: name them with mixed.format"]


@dataclass
class MaskingConfig:
    """Examples of a corpus (kind=masked_language): how they are masked, and which tables are held out."""

    share: float = key(0.15, "share of the tokens that are predicted", above=0, below=1)
    whole_cells: bool = key(True, "predict all pieces of a cell together; false: those of a word")
    joined_texts: bool = key(True, "the text is a span of all texts about the table; false: one of them")
    min_text: int = key(8, "pieces of the text, at least, where there are so many", low=1)
    max_text: int = key(32, "pieces of the text, at most, but for the end of a word", low=1)
    held_out: float = key(
        0.001, "share of the tables held out for validation, but at least 64, or half of them", above=0, below=1
    )

    def problems(self) -> list[str]:
        """The limits of the text are in order."""
        if self.min_text <= self.max_text:
            return []
        return [f"min_text={self.min_text} is more than max_text={self.max_text}"]


@dataclass
class TaskConfig:
    """The data, the question put to it, and how to train on it."""

    name: str = key(MISSING, "name of the option")
    kind: str = key("cell_selection", "what is predicted", choices=tuple(KINDS))
    format: str = key(MISSING, "data format to read", choices=FORMATS)
    input: str = key("both", "what the model sees: both, the table alone, the passages alone", choices=INPUTS)
    expansion: str = key(
        "tfidf",
        "what cells get of their linked passages: the sentences nearest to the question, or all",
        choices=EXPANSIONS,
    )
    sentences: int = key(5, "expansion=tfidf: sentences added to the cells, per question (all ignores it)", low=0)
    objective: str = key("mml", "how several candidate cells share the loss", choices=OBJECTIVES)
    span: SpanConfig = field(default_factory=SpanConfig)
    qa: QaConfig = field(default_factory=QaConfig)
    queries: QueriesConfig = field(default_factory=QueriesConfig)
    mixed: MixedConfig = field(default_factory=MixedConfig)
    masking: MaskingConfig = field(default_factory=MaskingConfig)
    ambiguous: bool = key(True, "train on questions with several candidate cells too")
    report_split: str = key("dev", "the split whose score ends a training", choices=SPLITS)
    default_schedule: str = key(MISSING, "the schedule where none is named")
    schedules: dict[str, ScheduleConfig] = field(default_factory=dict)

    def problems(self) -> list[str]:
        """Cells are alternatives only where one of them is the answer; a reader's table is a cell."""
        problems = []
        choosing = [name for name, traits in KINDS.items() if "task.ambiguous" in (traits.uses or ())]
        if self.kind in KINDS and not self.ambiguous and self.kind not in choosing:
            kinds = " and ".join(f"kind={name}" for name in choosing)
            problems.append(f"ambiguous=false belongs to {kinds}, and this is kind={self.kind}")
        if self.kind in KINDS and self.mixed.format not in (None, *self.traits.made_formats):
            own = " or ".join(self.traits.made_formats) or "none"
            problems.append(f"mixed.format={self.mixed.format} is of another kind; kind={self.kind} takes {own}")
        if self.kind in KINDS and self.traits.role == "reader":
            pruned = [name for name, schedule in self.schedules.items() if schedule.prune != "none"]
            problems += [f"schedules.{name}.prune: a reader reads single cells; drop it" for name in pruned]
        return problems

    @property
    def traits(self) -> Traits:
        """The traits of its kind."""
        return KINDS[self.kind]


class Scheduled(Protocol):
    """A command's configuration with a task and the name of one of its schedules (None: the task's default)."""

    @property
    def task(self) -> TaskConfig | None: ...

    @property
    def schedule(self) -> str | None: ...


def short_key(name: str) -> Any:
    """Return a key of a command that sets the key of that name in the schedule in use, within the same limits."""
    meaning = {**_SCHEDULE_KEYS[name]}
    return key(None, f"{meaning.pop('doc')}; null: as the schedule in use says", **meaning)


def schedule_problems(config: Scheduled) -> list[str]:
    """Return a line for a schedule that does not exist, and for a training that is to last twice."""
    assert config.task is not None
    name = config.schedule or config.task.default_schedule
    known = config.task.schedules
    problems = [] if name in known else [unknown_name("schedule", name, known)]
    if {"steps", "epochs"} <= _short_keys(config).keys():
        problems.append("steps and epochs: set at most one of them")
    return problems


def settle_schedule(config: Any) -> Any:
    """Return a command's configuration with its short keys (``lr=``, ``steps=``) moved into the schedule in use.

    They are null then, so that the schedule alone says how a run trains. ``steps`` replaces ``epochs``, and ``epochs``
    replaces ``steps``.
    """
    values: dict[str, Any] = _short_keys(config)
    if not values or getattr(config, "task", None) is None:
        return config
    schedule = replace(active_schedule(config), **values)
    if "steps" in values:
        schedule.epochs = None
    elif "epochs" in values:
        schedule.steps = None
    schedules = {**config.task.schedules, config.schedule or config.task.default_schedule: schedule}
    return replace(config, task=replace(config.task, schedules=schedules), **dict.fromkeys(values))


def _short_keys(config: Any) -> dict[str, Any]:
    values = {name: getattr(config, name, None) for name in _SCHEDULE_KEYS}
    return {name: value for name, value in values.items() if value is not None}


def active_schedule(config: Scheduled) -> ScheduleConfig:
    """The schedule the configuration asks for; ``schedule_problems`` says when there is none."""
    assert config.task is not None
    return config.task.schedules[config.schedule or config.task.default_schedule]
