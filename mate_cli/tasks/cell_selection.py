"""Cell selection (paper section 4.1): a softmax over the body cells of a table, trained with weak supervision.

Cells are packed: ``cell_logits`` is ``[cells]`` over all documents of a micro-batch, ``cell_document`` ``[cells]`` the
document of each cell.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from mate_cli.config.choices import one_for_each
from mate_cli.config.task import OBJECTIVES, Objective
from mate_cli.encoding.batch import Batch
from mate_cli.encoding.row_fields import row_field
from mate_cli.models.model import MatePreTrainedModel
from mate_cli.tables.table import Coordinate
from mate_cli.tasks.grouped import first_best_by_group, log_softmax_by_group
from mate_cli.tasks.task import Task, Verdict

_NEVER = -1e30
"""Log-probability of cells that are not candidates: finite, so that differences are not NaN."""


@dataclass(frozen=True, slots=True)
class CellPrediction:
    """The cells of one question, best first, with their probabilities (they sum to 1 over the table)."""

    id: str
    cells: tuple[Coordinate, ...]
    probabilities: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class CellSelection(Task):
    """The objective of PointR's selector (paper section 4.1)."""

    objective: Objective = "mml"
    metric: str = "hits@1"
    title: str = "Hits@1"

    def scorable(self, rows: Any) -> np.ndarray:
        return row_field(rows, "has_candidate").astype(bool)

    def logits(self, model: MatePreTrainedModel, batch: Batch) -> Tensor:
        logits: Tensor = model(**batch.encoder_inputs, cell=batch.cell, cells=len(batch.cell_document))
        return logits

    def losses(self, logits: Tensor, batch: Batch) -> Tensor:
        return cell_loss(logits, batch.cell_document, batch.is_candidate, len(batch.label), self.objective)[0]

    def predictions(self, logits: Tensor, batch: Batch) -> list[CellPrediction]:
        return rank_cells(
            batch.ids, logits[: len(batch.cell_document)], batch.cell_document, batch.cell_row, batch.cell_column
        )

    def verdicts(self, predictions: Sequence[CellPrediction], batch: Batch) -> list[Verdict]:
        candidates = candidates_of(batch)
        return [Verdict(p.id, 1.0, p.cells[:1] != () and p.cells[0] in candidates[p.id]) for p in predictions]


def candidates_of(batch: Batch) -> dict[str, set[Coordinate]]:
    """The candidate cells of each example of a batch, by its id."""
    candidates: dict[str, set[Coordinate]] = {example_id: set() for example_id in batch.ids}
    for cell in batch.is_candidate.nonzero().squeeze(1).tolist():
        place = (int(batch.cell_row[cell]), int(batch.cell_column[cell]))
        candidates[batch.ids[int(batch.cell_document[cell])]].add(place)
    return candidates


def cell_loss(
    cell_logits: Tensor, cell_document: Tensor, is_candidate: Tensor, documents: int, objective: Objective = "mml"
) -> tuple[Tensor, Tensor]:
    """Cross-entropy of a softmax over the body cells of each input with a target distribution over its candidates.

    The target has no gradient. ``mml``: the model's distribution restricted to the candidates, which gives the
    gradient of -log sum_C p (paper section 4.1; docs/notes.md, note 23); ``hard_em``: the likeliest candidate (the
    first of equals); ``uniform``: all candidates alike.

    Args:
        cell_logits: float ``[cells]``; cell_document: int64 ``[cells]``; is_candidate: bool ``[cells]``.

    Returns:
        the loss of each document ``[documents]``, 0 without a candidate, and the documents with a candidate, bool
        ``[documents]``.
    """
    log_p = log_softmax_by_group(cell_logits, cell_document, documents)
    # Masks instead of indices: the number of candidates would be a shape.
    among = torch.where(is_candidate, log_p.detach(), _NEVER)
    target = torch.where(is_candidate, _TARGETS[objective](among, cell_document, documents), 0)
    loss = log_p.new_zeros(documents).index_add(0, cell_document, -target * log_p)
    count = log_p.new_zeros(documents).index_add(0, cell_document, is_candidate.to(log_p.dtype))
    return loss, count > 0


def rank_cells(
    ids: list[str], cell_logits: Tensor, cell_document: Tensor, cell_row: Tensor, cell_column: Tensor
) -> list[CellPrediction]:
    """Rank the cells of each document by probability; of equals, the earlier cell comes first."""
    probability = log_softmax_by_group(cell_logits.float(), cell_document, len(ids)).exp().cpu()
    rows, columns, document = cell_row.tolist(), cell_column.tolist(), cell_document.cpu()
    predictions = []
    for number, example_id in enumerate(ids):
        order = (document == number).nonzero().squeeze(1)
        order = order[torch.sort(probability[order], descending=True, stable=True).indices]
        cells = tuple((rows[i], columns[i]) for i in order.tolist())
        predictions.append(CellPrediction(example_id, cells, tuple(probability[order].tolist())))
    return predictions


def _mml_target(among: Tensor, document: Tensor, documents: int) -> Tensor:
    return log_softmax_by_group(among, document, documents).exp()


def _hard_em_target(among: Tensor, document: Tensor, documents: int) -> Tensor:
    place = torch.arange(len(among), device=among.device)
    return (place == first_best_by_group(among, document, documents)[document]).to(among.dtype)


def _uniform_target(among: Tensor, document: Tensor, documents: int) -> Tensor:
    is_candidate = (among > _NEVER).to(among.dtype)
    count = among.new_zeros(documents).index_add(0, document, is_candidate)
    return count.clamp(min=1).reciprocal()[document]


_TARGETS = one_for_each(OBJECTIVES, {"mml": _mml_target, "hard_em": _hard_em_target, "uniform": _uniform_target})
