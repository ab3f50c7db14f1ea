"""Questions on one table, one after the other, by a model that stays in memory."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from mate_cli.attention.plan import DocumentPlan
from mate_cli.config.train import TrainConfig
from mate_cli.encoding.batch import Collator
from mate_cli.encoding.encode import row_of
from mate_cli.inference.answerer import Answerer
from mate_cli.inference.caveats import caveats, withheld
from mate_cli.inference.onnx_model import OnnxModel
from mate_cli.inference.reading import Advance, Assembled, silent
from mate_cli.models.model import MateModel
from mate_cli.models.observed import attention_layers, observed, reason_unobservable
from mate_cli.models.variants import make_planner
from mate_cli.system.errors import UserError
from mate_cli.tables.table import Example, Table


class TableAttention(NamedTuple):
    """The attention of a question to a table, the mean over its tokens, all layers and heads.

    Attributes:
        columns, rows: float64 ``[columns]`` and ``[rows]``, shares of the attention that goes to the table's body.
    """

    columns: np.ndarray
    rows: np.ndarray


class Session:
    """A table, what answers questions on it, and the questions so far.

    Args:
        top, threshold: as in ``mate predict``.

    Attributes:
        asked: the conversation so far: the last question, after those that it follows up on.
        record: the last answer, with the fields that ``mate predict output=json`` prints; None: none yet.
    """

    def __init__(
        self, answerer: Answerer, trained: TrainConfig, table: Table, top: int, threshold: float | None
    ) -> None:
        self.answerer, self.trained = answerer, trained
        self.top, self.threshold = top, threshold
        self.example = Example("question", "", table)
        self.asked: list[str] = []
        self.record: dict[str, Any] | None = None

    def ask(self, question: str, follows_up: bool = False, advance: Advance = silent) -> dict[str, Any]:
        """Answer a question.

        Args:
            follows_up: on the question before it.
            advance: as in ``Answerer.record``.

        Raises:
            UserError: the table does not fit with the question, or there is nothing that it could follow up on.
        """
        if follows_up and not self.trained.task.traits.converses:
            raise UserError("this model was not trained on conversations: ask the whole question")
        if follows_up and not self.asked:
            raise UserError("there is no question yet to follow up on")
        before = self.asked if follows_up else []
        asked = Example("question", question, self.example.table)
        record = self.answerer.record(asked, before, self.top, advance)
        remarks = [*self.answerer.remarks, *caveats(self.trained, record)]
        self.record = withheld(record, self.threshold) | {"warnings": remarks}
        self.example, self.asked = asked, [*before, question]
        return self.record

    def attention(self) -> TableAttention:
        """Compute the attention of the last question, asked alone, to the table.

        Raises:
            UserError: the model's attention cannot be looked at.
        """
        if reason := reason_unobservable(self.trained.model):
            raise UserError(f"this model {reason}")
        if isinstance(self.answerer.model, OnnxModel):
            raise UserError("this model is a graph, which shows no attention; ask the run that it was exported from")
        model = self.answerer.model
        reading, _ = self.answerer.answered(self.example)
        if isinstance(reading, Assembled):
            parts = f"{reading.parts:,} parts of the table"
            raise UserError(f"this answer was put together from those of {parts}, each with its own attention")
        batch = Collator(make_planner(model.config, "eager"))([row_of(reading.read, reading.encoded)])
        assert isinstance(batch.plan, DocumentPlan)
        assert isinstance(model.base_model, MateModel)
        sums: list[Tensor] = []
        segment, column, row = batch.token_types[:, 0], batch.token_types[:, 1], batch.token_types[:, 2]
        question = segment == 0

        def look(layer: int, attention: Any) -> None:
            (document,) = attention
            sums.append(document[:, question].double().mean(dim=(0, 1)))

        with torch.no_grad(), observed(attention_layers(model), look):
            model.base_model.encode(**batch.to(model.device).encoder_inputs)
        received = torch.stack(sums).mean(dim=0).cpu().numpy() * ((segment != 0) & (row > 0)).numpy()
        table, shares = self.example.table, received / received.sum()
        # Row 0 is the header, which got 0 above; the others are those read.
        of_read = np.bincount(row, shares, reading.read.table.num_rows + 1)[1:]
        of_rows = np.zeros(table.num_rows)
        of_rows[list(reading.rows or range(table.num_rows))] = of_read
        return TableAttention(np.bincount(column, shares, table.num_columns + 1)[1:], of_rows)
