"""Where the attention of a table's tokens goes, beside a uniform one (paper table 7, checklist 103 to 105).

A source is a token of a table's body; what it attends to is one of eight targets. Shares are means over the sources of
all examples, each weighing the same, all layers and all heads.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from mate_cli.attention.plan import DocumentPlan
from mate_cli.encoding.batch import Batch
from mate_cli.models.model import MateModel, MatePreTrainedModel
from mate_cli.models.pattern_attention import PatternAttention
from mate_cli.system.errors import UserError


class Target(NamedTuple):
    """What is attended to, and whether it shares column and row with the source; None where it is not asked."""

    kind: str
    same_column: bool | None = None
    same_row: bool | None = None


TARGETS = (
    Target("[CLS]"),
    Target("question"),
    Target("header", False),
    Target("header", True),
    Target("table", False, False),
    Target("table", False, True),
    Target("table", True, False),
    Target("table", True, True),
)
"""The rows of the paper's table. [SEP] belongs to the question, a histogram row to the table."""

_CLS, _QUESTION, _HEADER, _TABLE = 0, 1, 2, 4


@dataclass(frozen=True)
class Flow:
    """Shares by target, each eight from 0 to 1 and together 1.

    Attributes:
        examples, sources: how many were looked at.
        uniform: float64 ``[8]``, the shares if every source attended to all tokens of its example alike.
        pairs: float64 ``[8]``, the shares of all pairs of a source and a token, whatever their example: what comes of
            a matrix that is uniform over padded inputs, where padding is left out after. Of the readings tried it is
            the nearest to the paper's uniform column, which may have been made so.
        attention: float64 ``[layers, heads, 8]``; None where no model was asked.
        heads: the pattern of each head, a ``mate_cli.attention.Kind``; empty without a model.
    """

    examples: int
    sources: int
    uniform: np.ndarray
    pairs: np.ndarray
    attention: np.ndarray | None = None
    heads: tuple[str, ...] = ()


def uniform_flow(rows: Iterable[Any]) -> Flow:
    """The baselines alone.

    Args:
        rows: the examples of an encoded split, as ``row_of`` gives them.

    Raises:
        UserError: no table has a body.
    """
    sums = _Sums()
    for row in rows:
        sums.add(*(row[name].astype(np.int64) for name in ("row", "column", "segment")))
    return sums.flow()


def attention_flow(model: MatePreTrainedModel, batches: Iterable[Batch]) -> Flow:
    """What a model attends to, beside the baselines; the attention of one layer to one batch is kept at a time.

    Args:
        model: in evaluation mode; its heads follow a pattern (``MateConfig.pattern``).
        batches: on the model's device, with plans of the backend ``eager``.

    Raises:
        UserError: no table has a body.
    """
    encoder = model.base_model
    assert isinstance(encoder, MateModel)
    layers = [module for module in encoder.encoder.modules() if isinstance(module, PatternAttention)]
    kinds = tuple(group.kind for group in layers[0].pattern.groups for _ in range(group.heads))
    sums = _Sums(np.zeros((len(layers), len(kinds), len(TARGETS))))
    with torch.inference_mode(), _observed(layers, sums.attend):
        for batch in batches:
            assert isinstance(batch.plan, DocumentPlan)
            documents = [ids.T for ids in batch.token_types[:, [2, 1, 0]].split(batch.plan.pieces)]
            sums.begin(documents)
            encoder.encode(**batch.encoder_inputs)
    return sums.flow(kinds)


class Aims(NamedTuple):
    """The tokens of one document that are sources, bool ``[n]``, and what each of them meets at each token.

    Attributes:
        by_target: float32 ``[sources * n, 8]``, 1 where source and token meet as ``TARGETS`` says, else 0.
    """

    source: Tensor
    by_target: Tensor

    def sums(self, attention: Tensor) -> Tensor:
        """Attention ``[heads, n, n]`` to its sums over the sources, float64 ``[heads, 8]``."""
        return (attention[:, self.source].flatten(1) @ self.by_target).double()


def aims(row: Tensor, column: Tensor, segment: Tensor) -> Aims:
    """The aims of one document, from integers ``[n]``."""
    kind = torch.where(segment == 0, _QUESTION, torch.where(row == 0, _HEADER, _TABLE))
    kind[0] = _CLS
    source = kind == _TABLE
    same_column = (column[source, None] == column).long()
    same_row = (row[source, None] == row).long()
    target = kind + (kind == _HEADER) * same_column + (kind == _TABLE) * (2 * same_column + same_row)
    return Aims(source, F.one_hot(target.flatten(), len(TARGETS)).float())


def count_pairs(row: np.ndarray, column: np.ndarray, segment: np.ndarray) -> np.ndarray:
    """How many pairs of a source and a token meet at each target, int64 ``[8]``; linear in the tokens.

    Args:
        row, column, segment: of the tokens of one document, int64 ``[n]``.
    """
    in_table, in_header = (segment != 0) & (row > 0), (segment != 0) & (row == 0)
    sources, header = int(in_table.sum()), int(in_header.sum())
    width = int(column.max()) + 1
    columns, headers = (np.bincount(column[inside], minlength=width) for inside in (in_table, in_header))
    cells = np.bincount(row[in_table] * width + column[in_table])
    of_cell, of_row, of_column = ((sizes**2).sum() for sizes in (cells, np.bincount(row[in_table]), columns))
    under_header = (columns * headers).sum()
    question = len(row) - 1 - header - sources
    of_texts = [sources, sources * question, sources * header - under_header, under_header]
    other = sources**2 - of_row - of_column + of_cell
    return np.array([*of_texts, other, of_row - of_cell, of_column - of_cell, of_cell], dtype=np.int64)


class _Sums:
    """Sums over sources in float64, which divided by the number of sources are shares.

    Args:
        attention: zeros ``[layers, heads, 8]`` where a model is observed.
    """

    def __init__(self, attention: np.ndarray | None = None) -> None:
        self.attention = attention
        self.pairs = np.zeros(len(TARGETS), dtype=np.int64)
        self.uniform = np.zeros(len(TARGETS))
        self.examples = 0
        self._aims: list[Aims] = []

    def add(self, row: np.ndarray, column: np.ndarray, segment: np.ndarray) -> None:
        pairs = count_pairs(row, column, segment)
        self.pairs += pairs
        self.uniform += pairs / len(row)
        self.examples += 1

    def begin(self, documents: Sequence[Tensor]) -> None:
        """Add documents, row, column and segment ``[3, n]`` of each, whose attention is to come."""
        self._aims = [aims(*document) for document in documents]
        for document in documents:
            self.add(*document.cpu().numpy())

    def attend(self, layer: int, attention: Sequence[Tensor]) -> None:
        """Add what the heads of a layer do in each of the documents begun."""
        assert self.attention is not None
        for own, document in zip(self._aims, attention, strict=True):
            self.attention[layer] += own.sums(document).cpu().numpy()

    def flow(self, kinds: tuple[str, ...] = ()) -> Flow:
        sources = round(self.uniform.sum())
        if not sources:
            raise UserError("no table of the split has a row below its header: there is nothing to look at")
        attention = None if self.attention is None else self.attention / sources
        return Flow(self.examples, sources, self.uniform / sources, self.pairs / self.pairs.sum(), attention, kinds)


@contextmanager
def _observed(layers: Sequence[PatternAttention], look: Callable[[int, Sequence[Tensor]], None]) -> Iterator[None]:
    """Show ``look`` the number of each layer that is about to compute, and its attention to each document."""
    numbers = {id(layer): number for number, layer in enumerate(layers)}

    def before(layer: PatternAttention, given: tuple[Tensor, Any]) -> None:
        look(numbers[id(layer)], layer.probabilities(*given))

    hooks = [layer.register_forward_pre_hook(before) for layer in layers]
    try:
        yield
    finally:
        for hook in hooks:
            hook.remove()
