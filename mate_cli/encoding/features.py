"""Input and output of encoding: options, and the integer arrays of one example or why it has none."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mate_cli.config.model import Positions
from mate_cli.config.task import Input, Pruning
from mate_cli.system.errors import UserError

TOKEN_TYPES = ("segment", "column", "row", "prev_label", "column_rank", "inv_column_rank", "numeric_relation")
"""The token types in the order of TAPAS's embedding tables (docs/notes.md, note 4)."""


@dataclass(frozen=True, slots=True)
class EncodingOptions:
    """Options of encoding; part of the cache's key.

    Attributes:
        max_tokens: limit of one example, including [CLS] and [SEP].
        sentences: maximum of sentences of linked passages to add to the table (paper section 4.1); None for all.
        input: ``both`` appends the chosen sentences to the cells that link to them; ``table`` appends none;
            ``passages`` keeps the header, and in each body cell only its chosen sentences.
        positions: restart in every ``cell`` (paper section 3.2), count down each ``column`` or through the
            ``sequence``.
        max_positions: size of the position table; its last entry repeats in longer cells, longer columns start again.
        histogram_row: add a row of value counts (``expansion.histogram_row``), unless ``input`` is ``passages``.
        spans: add the answer's span and the characters of each token, for a reader.
        prune: if the table does not fit, ``none`` only cuts cells, ``hem`` first drops columns (``pruning``).
        whole_answer: the candidate cells together are the answer, so none is labelled if one is lost with its column;
            otherwise each is an answer.

    Raises:
        UserError: a value is out of range, or there are fewer absolute positions than ``max_tokens``.
    """

    max_tokens: int = 2048
    sentences: int | None = 5
    input: Input = "both"
    positions: Positions = "cell"
    max_positions: int = 512
    histogram_row: bool = False
    spans: bool = False
    prune: Pruning = "none"
    whole_answer: bool = False

    def __post_init__(self) -> None:
        if self.max_tokens < 3 or (self.sentences or 0) < 0 or self.max_positions < 1:
            raise UserError(f"encoding needs max_tokens >= 3, sentences >= 0, max_positions >= 1: {self}")
        if self.positions == "sequence" and self.max_tokens > self.max_positions:
            raise UserError(
                f"max_tokens={self.max_tokens} is more than the {self.max_positions} positions of the "
                "backbone; lower it or, unless it reads single cells, set model.positions=cell or column"
            )


@dataclass(frozen=True, slots=True)
class Features:
    """One example: [CLS] question [SEP], header row, body rows. int32 arrays ``[tokens]``, except for the last two.

    Attributes:
        segment: 0 in the question, 1 in the table, 2 in the histogram row, whose cells are not body cells.
        column, row: from 1 in the table, the header is row 0, both 0 in the question; never clamped.
        prev_label: 1 on the tokens of the cells that answer the previous question.
        column_rank, inv_column_rank: rank of the cell's value among the distinct values of its column, ascending and
            descending, from 1; 0 without a value; never clamped.
        numeric_relation: comparison of the question's values with the cell's (bits of ``tables.columns``). These three
            come from the table's own texts, and are 0 if only passages or single cells are read.
        position: index into the position table.
        labels: 1 on the tokens of candidate cells.
        cell_value: float32 ``[cells]``, numbers of the kept body cells, row-major; NaN without a finite number.
        characters: int32 ``[tokens, 2]``, start and end, in the text of its cell, of each token's word; 0 in questions;
            None unless the options ask for spans.
    """

    input_ids: np.ndarray
    segment: np.ndarray
    column: np.ndarray
    row: np.ndarray
    prev_label: np.ndarray
    column_rank: np.ndarray
    inv_column_rank: np.ndarray
    numeric_relation: np.ndarray
    position: np.ndarray
    labels: np.ndarray
    cell_value: np.ndarray
    characters: np.ndarray | None = None

    def __len__(self) -> int:
        return len(self.input_ids)


ARRAYS: tuple[str, ...] = ("input_ids", *TOKEN_TYPES, "position", "labels")
"""Names of the integer arrays ``[tokens]`` of all ``Features``."""

NO_SPAN = (-1, -1)
NO_ANSWER = -2  # instead of an operator: the table does not answer the question


@dataclass(frozen=True, slots=True)
class TooLarge:
    """An example that does not fit at one word per cell.

    Attributes:
        needed: tokens at one word per cell; limit: maximum of tokens.
        question_tokens: tokens of the question, with [CLS] and [SEP].
    """

    table_id: str
    needed: int
    limit: int
    question_tokens: int

    @property
    def reason(self) -> str:
        """One line for the user with the table, the tokens needed and the limit."""
        if self.question_tokens > self.limit:
            return (
                f"the question about table {self.table_id!r} alone has {self.question_tokens} tokens; "
                f"the limit is {self.limit} (max_tokens)"
            )
        return (
            f"table {self.table_id!r} needs {self.needed} tokens at one word a cell, {self.question_tokens} "
            f"of them for the question; the limit is {self.limit} (max_tokens)"
        )


@dataclass(frozen=True, slots=True)
class Encoded:
    """The result of encoding one example.

    Attributes:
        outcome: the arrays, or why there are none.
        full_length: number of tokens before any cut.
        answer_in_input: whether the kept tokens of a candidate cell contain an answer.
        answer_span: first and last token of the first answer in a candidate cell; ``NO_SPAN`` if there is none, or the
            options ask for no spans.
        pruned: number of dropped columns.
    """

    outcome: Features | TooLarge
    full_length: int
    answer_in_input: bool
    answer_span: tuple[int, int] = NO_SPAN
    pruned: int = 0

    @property
    def features(self) -> Features:
        """The arrays.

        Raises:
            UserError: the example did not fit.
        """
        if isinstance(self.outcome, TooLarge):
            raise UserError(self.outcome.reason)
        return self.outcome
