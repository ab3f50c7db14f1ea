"""Span reading (paper section 4.2): a softmax over the spans of a cell, trained on the first place of the answer.

Spans are packed: ``[spans]`` over all documents of a micro-batch, sorted by first token, then by last.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from mate_cli.config.task import Input
from mate_cli.encoding.batch import Batch
from mate_cli.encoding.features import EncodingOptions
from mate_cli.encoding.source import ReadingSource, SplitSource
from mate_cli.metrics.hybridqa import exact_match
from mate_cli.models.configuration import MateConfig
from mate_cli.models.model import MatePreTrainedModel
from mate_cli.tables.reading import TrainingCells, question_id
from mate_cli.tasks.grouped import log_softmax_by_group
from mate_cli.tasks.task import Task, Verdict


@dataclass(frozen=True, slots=True)
class SpanPrediction:
    """The best span of one reading example.

    Attributes:
        id: of the reading example.
        text: the answer, whole words of the reading text with case and accents; "" without a span.
        start, end: characters of the reading text, end exclusive.
        score: the span's logit; probability: p(span | cell), the softmax over the valid spans; both 0 without a span.
    """

    id: str
    text: str = ""
    start: int = 0
    end: int = 0
    score: float = 0.0
    probability: float = 0.0


class Spans(NamedTuple):
    """Spans by their first and last tokens in the batch, int64 ``[spans]`` each, and their documents."""

    first: Tensor
    last: Tensor
    document: Tensor


def valid_spans(cell: Tensor, document: Tensor, max_span: int) -> Spans:
    """All spans of at most ``max_span`` tokens inside one body cell (docs/notes.md, note 26).

    Args:
        cell: int64 ``[tokens]``, -1 outside the body; document: int64 ``[tokens]``.
    """
    place = torch.arange(len(cell), device=cell.device)
    ends_cell = torch.ones_like(cell, dtype=torch.bool)
    ends_cell[:-1] = cell[1:] != cell[:-1]
    last_of_cell = torch.where(ends_cell, place, len(cell)).flip(0).cummin(0).values.flip(0)
    room = torch.where(cell >= 0, (last_of_cell - place + 1).clamp(max=max_span), 0)
    first = place.repeat_interleave(room)
    length = torch.arange(len(first), device=cell.device) - (room.cumsum(0) - room)[first]
    return Spans(first, first + length, document[first])


def span_loss(logits: Tensor, spans: Spans, answer: Tensor) -> tuple[Tensor, Tensor]:
    """Cross-entropy of the span softmax with the answer's span (paper section 4.2; docs/notes.md, note 18).

    Args:
        logits: float ``[spans]``; answer: int64 ``[documents, 2]``, first and last token, -1 without an answer.

    Returns:
        the loss of each document ``[documents]``, 0 if the answer is none of its spans, and the documents whose answer
        is a span, bool ``[documents]``.
    """
    log_p = log_softmax_by_group(logits, spans.document, len(answer))
    first, last = answer[spans.document].unbind(1)
    is_answer = (spans.first == first) & (spans.last == last)
    answered = spans.document[is_answer]
    loss = log_p.new_zeros(len(answer)).index_add(0, answered, -log_p[is_answer])
    return loss, torch.zeros_like(loss, dtype=torch.bool).index_fill(0, answered, True)


def best_spans(logits: Tensor, document: Tensor, documents: int) -> Tensor:
    """The index of each document's best span, int64 ``[documents]``, -1 without spans.

    Of equals the last one: it starts last and, among those, is the longest (docs/notes.md, note 26).
    """
    peak = logits.new_full((documents,), -torch.inf).scatter_reduce(0, document, logits, "amax")
    place = torch.arange(len(logits), device=logits.device)
    best = torch.where(logits == peak[document], place, -1)
    return torch.full((documents,), -1, device=logits.device).scatter_reduce(0, document, best, "amax")


@dataclass(frozen=True, slots=True)
class SpanReading(Task):
    """The objective of PointR's reader (paper section 4.2).

    Attributes:
        max_span: the longest span in pieces; head: ``mlp`` or ``linear``.
        input: the parts of a cell to read; cells: the cells to learn from.
    """

    max_span: int = 20
    head: str = "mlp"
    input: Input = "both"
    cells: TrainingCells = field(default_factory=TrainingCells)
    metric: str = "exact"
    title: str = "exact match given the cells with the answer"

    def prepare_model(self, config: MateConfig) -> None:
        config.max_span, config.span_head = self.max_span, self.head
        # The input is one text, so positions run through it, as in BERT.
        config.reset_position_index_per_cell = False

    def encoding(self, options: EncodingOptions) -> EncodingOptions:
        """Add no sentences: the reading text has the whole passages."""
        return replace(options, input="both", sentences=0, histogram_row=False, spans=True)

    def source(self, split: SplitSource, training: bool) -> SplitSource:
        return ReadingSource(split, self.input, self.cells if training else None)

    def scorable(self, rows: Any) -> np.ndarray:
        first, last = np.asarray(rows["span_first"]), np.asarray(rows["span_last"])
        return (first >= 0) & (last - first < self.max_span)

    def logits(self, model: MatePreTrainedModel, batch: Batch) -> Tensor:
        spans = self._spans(batch)
        logits: Tensor = model(**batch.encoder_inputs, first=spans.first, last=spans.last)
        return logits

    def losses(self, logits: Tensor, batch: Batch) -> Tensor:
        return span_loss(logits, self._spans(batch), batch.answer_span)[0]

    def predictions(self, logits: Tensor, batch: Batch) -> list[SpanPrediction]:
        spans = self._spans(batch)
        log_p = log_softmax_by_group(logits.detach(), spans.document, len(batch.ids))
        best = best_spans(logits.detach(), spans.document, len(batch.ids))
        best = best[best >= 0]
        first, cell = spans.first[best], batch.cell[spans.first[best]]
        places = [spans.document[best], cell, batch.characters[first, 0], batch.characters[spans.last[best], 1]]
        predictions = [SpanPrediction(example) for example in batch.ids]
        for (document, text, start, end), score, probability in zip(
            torch.stack(places, dim=1).tolist(), logits[best].tolist(), log_p[best].exp().tolist(), strict=True
        ):
            if start < end:  # the one piece of an empty text is no answer
                answer = batch.texts[text][start:end]
                predictions[document] = SpanPrediction(batch.ids[document], answer, start, end, score, probability)
        return predictions

    def verdicts(self, predictions: Sequence[SpanPrediction], batch: Batch) -> list[Verdict]:
        return [
            Verdict(question_id(p.id), p.probability, bool(exact_match(p.text, answers)))
            for p, answers in zip(predictions, batch.answers, strict=True)
        ]

    def _spans(self, batch: Batch) -> Spans:
        return valid_spans(batch.cell, batch.document, self.max_span)
