"""Cell selection (PointR stage 1): a softmax over the body cells of a table and its weakly supervised loss.

Everything here works on packed cells: ``cell_logits`` is ``[cells]`` over all documents of a micro-batch and
``cell_document`` ``[cells]`` says which document each belongs to.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
import torch
from torch import Tensor

from mate_cli.encoding.batch import Batch
from mate_cli.models.model import MatePreTrainedModel
from mate_cli.tables.table import Coordinate
from mate_cli.tasks.grouped import first_best_by_group, logsumexp_by_group
from mate_cli.tasks.task import SeesAll, Verdict

Objective = Literal["mml", "hard_em", "uniform"]
OBJECTIVES: tuple[str, ...] = get_args(Objective)

_NEVER = -1e30
"""The log-probability of what is no candidate: finite, for the differences of two of them to be numbers."""


@dataclass(frozen=True, slots=True)
class CellPrediction:
    """The cells of one question, best first, with their probabilities (they sum to 1 over the table)."""

    id: str
    cells: tuple[Coordinate, ...]
    probabilities: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class CellSelection(SeesAll):
    """The task of a cell selector (checklist 28-38), see ``mate_cli.tasks.task.Task``."""

    objective: Objective = "mml"
    metric: str = "hits@1"
    title: str = "Hits@1"

    def scorable(self, rows: Any) -> np.ndarray:
        return np.asarray(rows["has_candidate"], dtype=bool)

    def logits(self, model: MatePreTrainedModel, batch: Batch) -> Tensor:
        logits: Tensor = model(**batch.encoder_inputs, cell=batch.cell, cells=len(batch.cell_document))
        return logits

    def losses(self, logits: Tensor, batch: Batch) -> Tensor:
        return cell_loss(logits, batch.cell_document, batch.is_candidate, len(batch.label), self.objective)[0]

    def predictions(self, logits: Tensor, batch: Batch) -> list[CellPrediction]:
        own = logits[: len(batch.cell_document)]
        return rank_cells(batch.ids, own, batch.cell_document, batch.cell_row, batch.cell_column)

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


def cell_log_probabilities(cell_logits: Tensor, cell_document: Tensor, documents: int) -> Tensor:
    """Log-softmax of the cell logits within each document (paper section 5.1, checklist 32).

    The softmax runs over the body cells that are present; header and question take no part (upstream leaves
    this open, spec 4.4). float32 or float64 ``[cells]`` in, the same out.
    """
    return cell_logits - logsumexp_by_group(cell_logits, cell_document, documents)[cell_document]


def cell_loss(
    cell_logits: Tensor,
    cell_document: Tensor,
    is_candidate: Tensor,
    documents: int,
    objective: Objective = "mml",
) -> tuple[Tensor, Tensor]:
    """Cross-entropy of the cell softmax against a target spread over the candidate cells.

    The target q holds no gradient. ``mml``: the model's own distribution restricted to the candidates, so that
    the gradient is the one of -log sum_C p (paper section 5.1; checklist 33, 34); ``hard_em``: all mass on the
    likeliest candidate (the first of equals); ``uniform``: equal mass on each.

    Args:
        cell_logits: float ``[cells]``; cell_document: int64 ``[cells]``; is_candidate: bool ``[cells]``.

    Returns:
        the loss of each document ``[documents]``, 0 where it has no candidate, and whether it has one, bool
        ``[documents]``.
    """
    log_p = cell_log_probabilities(cell_logits, cell_document, documents)
    # Masks, not indices of the candidates: their number would be a shape.
    among = torch.where(is_candidate, log_p.detach(), _NEVER)
    target = torch.where(is_candidate, _TARGETS[objective](among, cell_document, documents), 0)
    loss = log_p.new_zeros(documents).index_add(0, cell_document, -target * log_p)
    count = log_p.new_zeros(documents).index_add(0, cell_document, is_candidate.to(log_p.dtype))
    return loss, count > 0


def rank_cells(
    ids: list[str], cell_logits: Tensor, cell_document: Tensor, cell_row: Tensor, cell_column: Tensor
) -> list[CellPrediction]:
    """One ranking per document: probability descending, of equals the earlier cell first (checklist 37, 38)."""
    probability = cell_log_probabilities(cell_logits.float(), cell_document, len(ids)).exp().cpu()
    rows, columns, document = cell_row.tolist(), cell_column.tolist(), cell_document.cpu()
    predictions = []
    for number, example_id in enumerate(ids):
        own = (document == number).nonzero().squeeze(1)
        own = own[torch.sort(probability[own], descending=True, stable=True).indices]
        cells = tuple((rows[i], columns[i]) for i in own.tolist())
        predictions.append(CellPrediction(example_id, cells, tuple(probability[own].tolist())))
    return predictions


def _mml_target(among: Tensor, document: Tensor, documents: int) -> Tensor:
    return (among - logsumexp_by_group(among, document, documents)[document]).exp()


def _hard_em_target(among: Tensor, document: Tensor, documents: int) -> Tensor:
    place = torch.arange(len(among), device=among.device)
    return (place == first_best_by_group(among, document, documents)[document]).to(among.dtype)


def _uniform_target(among: Tensor, document: Tensor, documents: int) -> Tensor:
    is_candidate = (among > _NEVER).to(among.dtype)
    count = among.new_zeros(documents).index_add(0, document, is_candidate)
    return count.clamp(min=1).reciprocal()[document]


_TARGETS = {"mml": _mml_target, "hard_em": _hard_em_target, "uniform": _uniform_target}
