"""What encoding takes and gives: options, the integer arrays of one example, or why there are none."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from mate_cli.system.errors import UserError
from mate_cli.tables.table import Input

TOKEN_TYPES = (
    "segment",
    "column",
    "row",
    "prev_label",
    "column_rank",
    "inv_column_rank",
    "numeric_relation",
)
"""The token-type features in the order of TAPAS's embedding tables (spec 1.5)."""


Pruning = Literal["none", "hem"]
"""Which columns of a table that does not fit are kept: all, or those nearest to the question."""


@dataclass(frozen=True, slots=True)
class EncodingOptions:
    """How examples become tokens; part of the cache's key.

    Attributes:
        max_tokens: limit of one example, [CLS] and [SEP] included.
        sentences: at most how many sentences of the linked passages are added to the table (checklist 28); None:
            all of them, as where the whole table is read at once.
        input: ``both`` appends the chosen sentences to the cells that link to them; ``table`` appends none;
            ``passages`` keeps the header and in each body cell only its chosen sentences.
        reset_positions: whether positions start again in every cell (checklist 14).
        max_positions: size of the position table; in cells longer than that its last entry repeats.
        histogram_row: whether a row of value counts is added at the bottom of the table (checklist 48); not where
            ``input`` is ``passages``, as it would give the table away.
        spans: whether rows tell where the answer stands and which characters each token is, for a reader.
        prune: which columns stay where the table does not fit: ``none`` goes, cells are cut; ``hem``: those nearest to
            the question (``pruning``).
        whole_answer: whether the candidate cells are the answer together, so that none is labelled where one is lost
            with its column; else each is an answer.

    Raises:
        UserError: a value is out of range, or absolute positions do not reach ``max_tokens``.
    """

    max_tokens: int = 2048
    sentences: int | None = 5
    input: Input = "both"
    reset_positions: bool = True
    max_positions: int = 512
    histogram_row: bool = False
    spans: bool = False
    prune: Pruning = "none"
    whole_answer: bool = False

    def __post_init__(self) -> None:
        if self.max_tokens < 3 or (self.sentences or 0) < 0 or self.max_positions < 1:
            raise UserError(f"encoding needs max_tokens >= 3, sentences >= 0, max_positions >= 1: {self}")
        if self.input not in get_args(Input):
            raise UserError(f"input={self.input!r} is unknown; choose one of {', '.join(get_args(Input))}")
        if self.prune not in get_args(Pruning):
            raise UserError(f"prune={self.prune!r} is unknown; choose one of {', '.join(get_args(Pruning))}")
        if not self.reset_positions and self.max_tokens > self.max_positions:
            raise UserError(
                f"max_tokens={self.max_tokens} is more than the {self.max_positions} positions of the "
                "backbone; lower it or keep reset_positions=true"
            )


@dataclass(frozen=True, slots=True)
class Features:
    """One example: [CLS] question [SEP], header row, body rows. Integer arrays ``[tokens]``, int32, but the last two.

    Attributes:
        segment: 0 in the question, 1 in the table, 2 in the histogram row, whose cells are no body cells.
        column, row: 1-based in the table, the header is row 0, both 0 in the question; never clamped.
        prev_label: 1 on the kept tokens of the cells that answer the question before.
        column_rank, inv_column_rank: rank of the cell's value among the distinct ones of its column, from the lowest
            and from the highest, the first 1; 0 where it has none (spec 1.5); never clamped.
        numeric_relation: how the question's values compare with the cell's: the bits of ``tables.columns``. These
            three come from the table's own texts, and are 0 where only passages or single cells are read.
        position: index into the position table.
        labels: 1 on the kept tokens of candidate cells.
        cell_value: float32 ``[cells]``, of the body cells that are kept, row-major: the numbers of columns of numbers;
            NaN where a cell has none, or one that is not finite.
        characters: int32 ``[tokens, 2]``, first and end, in the text of its cell, of the word that a token is of; 0
            in questions. Only where the options ask for spans.
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
"""The names of the integer arrays ``[tokens]`` that all ``Features`` have."""

NO_SPAN = (-1, -1)


@dataclass(frozen=True, slots=True)
class TooLarge:
    """Why an example cannot be encoded: even one word a cell does not fit.

    Attributes:
        needed: tokens at one word a cell; limit: tokens allowed.
        question_tokens: of the needed ones, those of the question, with [CLS] and [SEP].
    """

    table_id: str
    needed: int
    limit: int
    question_tokens: int

    @property
    def reason(self) -> str:
        """One line for the user: which table, how many tokens it needs, the limit."""
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
    """What became of one example.

    Attributes:
        outcome: the arrays, or why there are none.
        full_length: tokens before anything was cut.
        answer_in_input: whether the kept tokens of some candidate cell contain an answer.
        answer_span: first and last token of the answer where it stands first in a candidate cell; ``NO_SPAN`` where it
            does not, or where the options ask for no spans.
        pruned: how many columns are left out.
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

    @property
    def tokens_cut(self) -> int:
        """How many tokens truncation took; 0 where the example is left out."""
        return 0 if isinstance(self.outcome, TooLarge) else self.full_length - len(self.outcome)
