"""Batches brought to one shape hold the same examples as those that are not."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from mate_cli.attention import PatternPlanner, widest_shape
from mate_cli.encoding.batch import Batch, Collator
from mate_cli.encoding.encode import encode, row_of
from mate_cli.encoding.features import EncodingOptions
from mate_cli.encoding.fixed import FixedCollator
from mate_cli.encoding.tokenizer import CellTokenizer
from mate_cli.tables.table import Cell, Example, Table

SHAPE = widest_shape(documents=3, tokens=40)
PLANNER = PatternPlanner(("row", "column"), "blocks")


def rows_of(tokenizer: CellTokenizer, count: int) -> list[dict[str, object]]:
    """Tables of one, two, … rows, each with a candidate."""
    examples = [
        Example(
            f"q{number}",
            "who",
            Table("t", (Cell("x"), Cell("y")), ((Cell("red"), Cell("12")),) * (number + 1)),
            candidates=((number, 1),),
            label=number % 2,
        )
        for number in range(count)
    ]
    encoded = encode(examples, tokenizer, EncodingOptions())
    return [row_of(example, own) for example, own in zip(examples, encoded, strict=True)]


def both(tokenizer: CellTokenizer, count: int) -> tuple[Batch, Batch]:
    rows = rows_of(tokenizer, count)
    return Collator(PLANNER)(rows), FixedCollator(PLANNER, SHAPE)(rows)


@pytest.mark.parametrize("count", [1, 2, 3])
def test_tokens_stand_in_places_of_one_length(tokenizer: CellTokenizer, count: int) -> None:
    plain, fixed = both(tokenizer, count)
    assert fixed.document.tolist() == np.repeat(range(3), 40).tolist()
    assert fixed.first[:3].tolist() == [0, 40, 80]
    for number in range(count):
        own = plain.document == number
        length = int(own.sum())
        for name in ("input_ids", "token_types", "positions", "cell", "header"):
            values = getattr(fixed, name)[40 * number : 40 * (number + 1)]
            assert torch.equal(values[:length], getattr(plain, name)[own]), name
            filler = -1 if name in ("cell", "header") else 0
            assert (values[length:] == filler).all()
    assert (fixed.cell[40 * count :] == -1).all()


@pytest.mark.parametrize("count", [1, 2, 3])
def test_what_fills_up_is_gone_where_predictions_are_read(tokenizer: CellTokenizer, count: int) -> None:
    plain, fixed = both(tokenizer, count)
    host = fixed.on_host()
    assert host.ids == plain.ids
    assert host.document.tolist() == np.repeat(range(count), 40).tolist()
    for name in (
        "cell_document",
        "cell_row",
        "cell_column",
        "cell_header",
        "header_document",
        "is_candidate",
        "label",
        "operator",
    ):
        assert torch.equal(getattr(host, name), getattr(plain, name)), name
    for name in ("cell_value", "answer_value"):
        torch.testing.assert_close(getattr(host, name), getattr(plain, name), equal_nan=True)


def test_every_batch_has_the_same_sizes(tokenizer: CellTokenizer) -> None:
    one, other = (both(tokenizer, count)[1] for count in (1, 3))
    for name, value in vars(one).items():
        if isinstance(value, torch.Tensor):
            assert value.shape == getattr(other, name).shape, name


def test_what_is_too_long_or_too_many_is_refused(tokenizer: CellTokenizer) -> None:
    rows = rows_of(tokenizer, 4)
    with pytest.raises(ValueError, match="4 examples for a batch of 3"):
        FixedCollator(PLANNER, SHAPE)(rows)
    with pytest.raises(ValueError, match="tokens, the fixed shape 5"):
        FixedCollator(PLANNER, widest_shape(3, 5))(rows[:1])
