"""Attention flow from table tokens to eight kinds of targets, beside that of uniform attention (paper table 7).

A source is a token of a table's body. Shares are means over the sources of all examples, all weighted alike, over all
layers and all heads.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from mate_cli.attention.plan import DocumentPlan
from mate_cli.encoding.batch import Batch
from mate_cli.models.model import MateModel, MatePreTrainedModel
from mate_cli.models.observed import attention_layers, observed
from mate_cli.system.errors import UserError


class Target(NamedTuple):
    """A kind of token, and whether it shares column and row with the source; None if that does not matter."""

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
    """Shares by target, from 0 to 1, with sum 1.

    Attributes:
        examples, sources: how many there were.
        uniform: float64 ``[8]``, the shares if every source attended equally to all tokens of its example.
        pairs: float64 ``[8]``, the shares of all pairs of a source and a token in all examples: the result of a matrix
            that is uniform over padded inputs and from which padding is then removed. Of the readings tried it is the
            nearest to the paper's uniform column, which may have been computed so.
        attention: float64 ``[layers, heads, 8]``; None without a model.
        heads: the pattern of each head, a ``mate_cli.attention.Kind``; empty without a model.
    """

    examples: int
    sources: int
    uniform: np.ndarray
    pairs: np.ndarray
    attention: np.ndarray | None = None
    heads: tuple[str, ...] = ()


def uniform_flow(rows: Iterable[Any]) -> Flow:
    """Compute the baselines alone.

    Args:
        rows: the examples of an encoded split, as returned by ``row_of``.

    Raises:
        UserError: no table has a body.
    """
    sums = _Sums()
    for row in rows:
        sums.add(*(row[name].astype(np.int64) for name in ("row", "column", "segment")))
    return sums.flow()


def attention_flow(model: MatePreTrainedModel, batches: Iterable[Batch]) -> Flow:
    """Compute the attention of a model beside the baselines; memory holds one layer's attention to one batch.

    Args:
        model: in evaluation mode, with heads that follow a pattern (``MateConfig.pattern``).
        batches: on the model's device, with plans of the backend ``eager``.

    Raises:
        UserError: no table has a body.
    """
    encoder, layers = model.base_model, attention_layers(model)
    assert isinstance(encoder, MateModel)
    kinds = tuple(group.kind for group in layers[0].pattern.groups for _ in range(group.heads))
    sums = _Sums(np.zeros((len(layers), len(kinds), len(TARGETS))))
    with torch.inference_mode(), observed(layers, sums.attend):
        for batch in batches:
            assert isinstance(batch.plan, DocumentPlan)
            documents = [ids.T for ids in batch.token_types[:, [2, 1, 0]].split(batch.plan.pieces)]
            sums.begin(documents)
            encoder.encode(**batch.encoder_inputs)
    return sums.flow(kinds)


class PairTargets(NamedTuple):
    """The targets of the pairs of one document.

    Attributes:
        source: bool ``[n]``, which tokens are sources.
        by_target: float32 ``[sources * n, 8]``, one-hot target of each pair of a source and a token.
    """

    source: Tensor
    by_target: Tensor

    def sums(self, attention: Tensor) -> Tensor:
        """Sum attention ``[heads, n, n]`` over the sources, float64 ``[heads, 8]``."""
        return (attention[:, self.source].flatten(1) @ self.by_target).double()


def pair_targets(row: Tensor, column: Tensor, segment: Tensor) -> PairTargets:
    """Return the targets in one document, from integers ``[n]``."""
    kind = torch.where(segment == 0, _QUESTION, torch.where(row == 0, _HEADER, _TABLE))
    kind[0] = _CLS
    source = kind == _TABLE
    same_column = (column[source, None] == column).long()
    same_row = (row[source, None] == row).long()
    target = kind + (kind == _HEADER) * same_column + (kind == _TABLE) * (2 * same_column + same_row)
    return PairTargets(source, F.one_hot(target.flatten(), len(TARGETS)).float())


def count_pairs(row: np.ndarray, column: np.ndarray, segment: np.ndarray) -> np.ndarray:
    """Count the pairs of a source and a token by target, int64 ``[8]``, in time linear in the tokens.

    Args:
        row, column, segment: int64 ``[n]``, of the tokens of one document.
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
    """Sums over sources in float64; divided by the number of sources they are shares.

    Args:
        attention: zeros ``[layers, heads, 8]`` if a model is observed.
    """

    def __init__(self, attention: np.ndarray | None = None) -> None:
        self.attention = attention
        self.pairs = np.zeros(len(TARGETS), dtype=np.int64)
        self.uniform = np.zeros(len(TARGETS))
        self.examples = 0
        self._targets: list[PairTargets] = []

    def add(self, row: np.ndarray, column: np.ndarray, segment: np.ndarray) -> None:
        pairs = count_pairs(row, column, segment)
        self.pairs += pairs
        self.uniform += pairs / len(row)
        self.examples += 1

    def begin(self, documents: Sequence[Tensor]) -> None:
        """Add documents, given as row, column and segment ``[3, n]``, before their attention is known."""
        self._targets = [pair_targets(*document) for document in documents]
        for document in documents:
            self.add(*document.cpu().numpy())

    def attend(self, layer: int, attention: Sequence[Tensor]) -> None:
        """Add the attention of a layer's heads to each document of ``begin``."""
        assert self.attention is not None
        for document_targets, document in zip(self._targets, attention, strict=True):
            self.attention[layer] += document_targets.sums(document).cpu().numpy()

    def flow(self, kinds: tuple[str, ...] = ()) -> Flow:
        sources = round(self.uniform.sum())
        if not sources:
            raise UserError("no table of the split has a row below its header, so it has no attention flow")
        attention = None if self.attention is None else self.attention / sources
        return Flow(self.examples, sources, self.uniform / sources, self.pairs / self.pairs.sum(), attention, kinds)
