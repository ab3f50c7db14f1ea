"""Span reading (paper section 4.2): a softmax over the spans of a cell, trained on the first place of the answer.

Logits are ``[lengths, tokens]`` over all documents of a micro-batch, at ``[l, t]`` that of the span of l + 1 tokens
from token t. Spans that no cell contains are masked, not left out: so shapes do not depend on the cells.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from mate_cli.config.task import Input
from mate_cli.encoding.batch import Batch
from mate_cli.encoding.features import EncodingOptions
from mate_cli.encoding.row_fields import row_field
from mate_cli.encoding.source import ReadingSource, SplitSource
from mate_cli.metrics.hybridqa import exact_match
from mate_cli.models.configuration import MateConfig
from mate_cli.models.model import MatePreTrainedModel
from mate_cli.tables.reading import TrainingCells, question_id
from mate_cli.tasks.grouped import logsumexp_by_group
from mate_cli.tasks.task import Task, Verdict

_NEVER = -1e30
"""Logit of spans that no cell contains: finite, so that differences are not NaN."""


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


def mask_spans(logits: Tensor, cell: Tensor) -> Tensor:
    """Keep the logits of spans inside one body cell (docs/notes.md, note 26); others become ``_NEVER``.

    Args:
        logits: float ``[lengths, tokens]``; cell: int64 ``[tokens]``, -1 outside the body.
    """
    lengths, tokens = logits.shape
    beyond = F.pad(cell, (0, lengths), value=-1)
    last = torch.stack([beyond[length : length + tokens] for length in range(lengths)])
    return torch.where((cell >= 0) & (last == cell), logits, _NEVER)


def span_loss(logits: Tensor, document: Tensor, answer: Tensor) -> tuple[Tensor, Tensor]:
    """Cross-entropy of the span softmax with the answer's span (paper section 4.2; docs/notes.md, note 18).

    Args:
        logits: float ``[lengths, tokens]``, masked; document: int64 ``[tokens]``.
        answer: int64 ``[documents, 2]``, first and last token, -1 without an answer.

    Returns:
        the loss of each document ``[documents]``, 0 if the answer is none of its spans, and the documents whose answer
        is a span, bool ``[documents]``.
    """
    first, last = answer.unbind(1)
    logit = logits_of(logits, answer)
    is_span = (first >= 0) & (last - first < len(logits)) & ~(logit <= _NEVER)  # NaN has to reach the loss
    return torch.where(is_span, log_sums(logits, document, len(answer)) - logit, 0.0), is_span


def logits_of(logits: Tensor, spans: Tensor) -> Tensor:
    """The logits of spans, int64 ``[spans, 2]`` of first and last tokens; of any other span where one is not there."""
    first, last = spans.unbind(1)
    length = (last - first).clamp(max=len(logits) - 1)
    return logits.flatten()[length * logits.shape[1] + first.clamp(min=0)]


def log_sums(logits: Tensor, document: Tensor, documents: int) -> Tensor:
    """The log of the sum over the spans of each document, ``[documents]``."""
    return logsumexp_by_group(logits.logsumexp(0), document, documents)


def best_spans(logits: Tensor, document: Tensor, documents: int) -> Tensor:
    """The first and last token of each document's best span, int64 ``[documents, 2]``, -1 without spans.

    Of equals the last one: it starts last and, among those, is the longest (docs/notes.md, note 26).

    Args:
        logits: float ``[lengths, tokens]``, masked; document: int64 ``[tokens]``.
    """
    best = logits.amax(0)
    longest = len(logits) - 1 - (logits == best).flip(0).long().argmax(0)
    peak = best.new_full((documents,), -torch.inf).scatter_reduce(0, document, best, "amax")
    place = torch.arange(len(best), device=best.device)
    place = torch.where((best == peak[document]) & (best > _NEVER), place, -1)
    first = torch.full((documents,), -1, device=best.device).scatter_reduce(0, document, place, "amax")
    return torch.stack([first, torch.where(first < 0, -1, first + longest[first])], dim=1)


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
        config.reset_position_index_per_cell = config.reset_position_index_per_column = False

    def encoding(self, options: EncodingOptions) -> EncodingOptions:
        """Add no sentences: the reading text has the whole passages."""
        return replace(options, input="both", sentences=0, histogram_row=False, spans=True)

    def source(self, split: SplitSource, training: bool) -> SplitSource:
        return ReadingSource(split, self.input, self.cells if training else None)

    def scorable(self, rows: Any) -> np.ndarray:
        first, last = row_field(rows, "span_first"), row_field(rows, "span_last")
        return (first >= 0) & (last - first < self.max_span)

    def logits(self, model: MatePreTrainedModel, batch: Batch) -> Tensor:
        logits: Tensor = model(**batch.encoder_inputs)
        return logits

    def losses(self, logits: Tensor, batch: Batch) -> Tensor:
        return span_loss(mask_spans(logits, batch.cell), batch.document, batch.answer_span)[0]

    def predictions(self, logits: Tensor, batch: Batch) -> list[SpanPrediction]:
        logits = mask_spans(logits.detach()[:, : len(batch.cell)], batch.cell)
        spans = best_spans(logits, batch.document, len(batch.ids))
        scores = logits_of(logits, spans)
        probabilities = (scores - log_sums(logits, batch.document, len(batch.ids))).exp()
        return [
            self._prediction(name, batch, first, last, score, probability)
            for name, (first, last), score, probability in zip(
                batch.ids, spans.tolist(), scores.tolist(), probabilities.tolist(), strict=True
            )
        ]

    def _prediction(
        self, name: str, batch: Batch, first: int, last: int, score: float, probability: float
    ) -> SpanPrediction:
        start, end = int(batch.characters[first, 0]), int(batch.characters[last, 1])
        if first < 0 or start >= end:  # the one piece of an empty text is no answer
            return SpanPrediction(name)
        text = batch.texts[int(batch.cell[first])][start:end]
        return SpanPrediction(name, text, start, end, score, probability)

    def verdicts(self, predictions: Sequence[SpanPrediction], batch: Batch) -> list[Verdict]:
        return [
            Verdict(question_id(p.id), p.probability, bool(exact_match(p.text, answers)))
            for p, answers in zip(predictions, batch.answers, strict=True)
        ]
