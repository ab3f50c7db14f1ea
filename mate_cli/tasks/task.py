"""What a kind of task adds to training, validation and prediction; the rest is the same for all."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
from torch import Tensor

from mate_cli.encoding.batch import Batch
from mate_cli.encoding.features import EncodingOptions
from mate_cli.encoding.source import SplitSource
from mate_cli.models.configuration import MateConfig
from mate_cli.models.model import MatePreTrainedModel


class Prediction(Protocol):
    """What is predicted for an example: a dataclass of plain values."""

    @property
    def id(self) -> str: ...


class Verdict(NamedTuple):
    """Whether a prediction is right; of several for one question, the most confident one counts."""

    question: str
    confidence: float
    right: bool


class Task(Protocol):
    """One kind of task.

    Attributes:
        metric: name of the validation score in the logs ("hits@1"), and ``title``, the same for people.
    """

    @property
    def metric(self) -> str: ...
    @property
    def title(self) -> str: ...

    def prepare_model(self, config: MateConfig) -> None:
        """Write into the configuration of a new model what the task says about it."""
        ...

    def encoding(self, options: EncodingOptions) -> EncodingOptions:
        """The options with what the task needs changed."""
        ...

    def source(self, split: SplitSource, training: bool) -> SplitSource:
        """The examples made of a split, to train on or to predict."""
        ...

    def scorable(self, rows: Any) -> np.ndarray:
        """Which encoded rows (column name -> values) have a loss, bool ``[rows]``."""
        ...

    def logits(self, model: MatePreTrainedModel, batch: Batch) -> Any:
        """The scores of whatever competes in a batch, float32 at least: a tensor or a named tuple of tensors."""
        ...

    def losses(self, logits: Any, batch: Batch) -> Tensor:
        """The loss of each example ``[examples]``; 0 where it is not scorable. In a stream, of all that has one."""
        ...

    def predictions(self, logits: Any, batch: Batch) -> Sequence[Prediction]:
        """One for each example, in order."""
        ...

    def verdicts(self, predictions: Sequence[Any], batch: Batch) -> list[Verdict]:
        """One for each prediction, by the answers in the batch."""
        ...


class SeesAll:
    """Part of a ``Task`` that learns from the examples of a split and predicts them as they are, encoded like any."""

    __slots__ = ()

    def prepare_model(self, config: MateConfig) -> None:
        pass

    def encoding(self, options: EncodingOptions) -> EncodingOptions:
        return options

    def source(self, split: SplitSource, training: bool) -> SplitSource:
        return split
