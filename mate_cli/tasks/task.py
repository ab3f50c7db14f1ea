"""The objective of a kind of task: its losses, predictions and verdicts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
from torch import Tensor
from torch.utils._pytree import tree_map_only

from mate_cli.encoding.batch import Batch
from mate_cli.encoding.features import EncodingOptions
from mate_cli.encoding.source import SplitSource
from mate_cli.models.configuration import MateConfig
from mate_cli.models.model import MatePreTrainedModel


class Prediction(Protocol):
    """The prediction for an example: a dataclass of plain values."""

    @property
    def id(self) -> str: ...


class Verdict(NamedTuple):
    """The correctness of a prediction; of several for one question, the most confident one counts."""

    question: str
    confidence: float
    right: bool


class Task(Protocol):
    """The objective of a kind of task; by default it uses the examples of a split as they are, with the usual encoding.

    Attributes:
        metric: name of the validation score in the logs ("hits@1"); title: its name for people.
    """

    @property
    def metric(self) -> str: ...
    @property
    def title(self) -> str: ...

    def prepare_model(self, config: MateConfig) -> None:
        """Set the options of a new model that depend on the task."""
        return

    def encoding(self, options: EncodingOptions) -> EncodingOptions:
        """Adapt the encoding options to the task."""
        return options

    def source(self, split: SplitSource, training: bool) -> SplitSource:
        """Make the examples of a split, for training or for prediction."""
        return split

    def scorable(self, rows: Any) -> np.ndarray:
        """Mark the encoded rows (column name -> values) that have a loss, bool ``[rows]``."""
        ...

    def logits(self, model: MatePreTrainedModel, batch: Batch) -> Any:
        """Compute the scores of a batch, at least float32: a tensor or a named tuple of tensors."""
        ...

    def losses(self, logits: Any, batch: Batch) -> Tensor:
        """The loss of each example ``[examples]``, 0 if it is not scorable; in a stream, of each masked token."""
        ...

    def predictions(self, logits: Any, batch: Batch) -> Sequence[Prediction]:
        """Predict for each example, in order."""
        ...

    def predict(self, model: MatePreTrainedModel, batch: Batch) -> Sequence[Prediction]:
        """Predict for each example of a batch on any device; the results are on the CPU."""
        logits = tree_map_only(Tensor, Tensor.cpu, self.logits(model, batch))
        return self.predictions(logits, batch.on_host())

    def verdicts(self, predictions: Sequence[Any], batch: Batch) -> list[Verdict]:
        """Judge each prediction by the answers in the batch."""
        ...
