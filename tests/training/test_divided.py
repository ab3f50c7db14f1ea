"""Batches of several devices in one: shares of one shape, with the dropout of one batch."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

from mate_cli.attention import PatternPlanner, widest_shape
from mate_cli.encoding.fixed import FixedCollator
from mate_cli.encoding.tokenizer import CellTokenizer
from mate_cli.training.divided import DividedBatch, DividingCollator
from mate_cli.training.finite import _by_example
from tests.encoding.test_fixed import rows_of

VOCABULARY = Path(__file__).parents[1] / "encoding" / "vocabulary"
BLOCKS = PatternPlanner(("row", "column"), "blocks")
ONE, TWO, SIX = (FixedCollator(BLOCKS, widest_shape(documents, tokens=40)) for documents in (1, 2, 6))


Rows = list[dict[str, Any]]


@pytest.fixture(scope="module")
def rows() -> Rows:
    return rows_of(CellTokenizer(VOCABULARY), 6)


@pytest.mark.parametrize("name", ["input_ids", "document", "cell", "cell_document", "is_candidate", "label", "first"])
def test_each_device_has_the_batch_of_its_examples(name: str, rows: Rows) -> None:
    batch = DividingCollator(TWO, devices=3, micro_batch=2)(rows)
    assert batch.ids == [row["id"] for row in rows]
    for number, share in enumerate(getattr(batch, name).chunk(3)):
        expected = getattr(TWO(rows[2 * number : 2 * number + 2]), name)
        assert torch.equal(share, expected)
        assert torch.equal(getattr(batch.shares[number], name), expected)


@pytest.mark.parametrize(("collator", "devices"), [(ONE, 6), (TWO, 3), (SIX, 1)])
def test_dropout_does_not_depend_on_the_devices(collator: FixedCollator, devices: int, rows: Rows) -> None:
    batch = DividingCollator(collator, devices, 6 // devices)(rows)
    assert torch.equal(batch.plan.place, SIX(rows).plan.place)


def test_at_the_end_of_a_split_devices_have_nothing_to_predict(rows: Rows) -> None:
    batch, whole = (DividingCollator(TWO, devices=3, micro_batch=2)(own) for own in (rows[:3], rows))
    assert [share.ids for share in batch.shares] == [["q0", "q1"], ["q2"], []]
    assert {name: value.shape for name, value in batch.tensors()} == {n: v.shape for n, v in whole.tensors()}
    assert shapes_of_plan(batch) == shapes_of_plan(whole)


def test_a_loss_that_is_not_finite_is_that_of_its_example(rows: Rows) -> None:
    batch = DividingCollator(TWO, devices=3, micro_batch=2)(rows)
    of_other_host, filler = torch.zeros(9), 7.0
    losses = torch.cat([of_other_host, torch.tensor([1.0, 2.0, filler, 3.0, torch.inf, filler, 5.0, 6.0, filler])])
    expected = {"q0": 1.0, "q1": 2.0, "q2": 3.0, "q3": float("inf"), "q4": 5.0, "q5": 6.0}
    assert _by_example(batch, losses, rank=1, world_size=2) == expected


def shapes_of_plan(batch: DividedBatch) -> list[torch.Size]:
    return [tensor.shape for tensor in batch.plan.tensors()]
