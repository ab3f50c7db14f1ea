"""Which tokens of a statement its table has: the second loss of entailment, against loops over tokens."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.nn import functional as F

from mate_cli.encoding.batch import Batch, Collator
from mate_cli.models.entailment import StatementLogits
from mate_cli.tasks.entailment import EntailmentTask, has_one_among, mention_losses
from tests.tasks.packed_tables import FULL, table_row

# Pieces of the statement, of the table, of a histogram row; 7 stands in the other document's table alone.
DOCUMENTS = [([101, 7, 8, 8, 102], [8, 9, 9], [7]), ([101, 7, 102], [7], [])]


def row(number: int, label: int) -> dict[str, object]:
    parts = DOCUMENTS[number]
    types = np.zeros((sum(map(len, parts)), 7), dtype=np.int64)
    types[:, 0] = np.repeat([0, 1, 2], [len(part) for part in parts])
    types[:, 1:3] = types[:, :1] > 0
    ids = np.array([piece for part in parts for piece in part])
    return table_row(str(number), types, input_ids=ids, label=label)


def batch(*labels: int) -> Batch:
    return Collator(FULL)([row(number, label) for number, label in enumerate(labels)])


def test_each_token_is_judged_by_the_tokens_behind_its_own_statement() -> None:
    packed = batch(1, 0)
    logits = torch.randn(len(packed.input_ids), generator=torch.manual_seed(2)) * 3
    expected, start = [], 0
    for statement, table, histogram in DOCUMENTS:
        own = logits[start : start + len(statement)].sigmoid().tolist()
        there = [piece in table + histogram for piece in statement]
        expected.append(np.mean([-np.log(p if right else 1 - p) for p, right in zip(own, there, strict=True)]))
        start += len(statement) + len(table) + len(histogram)
    assert mention_losses(logits, packed).tolist() == pytest.approx(expected, rel=1e-5)


def test_the_loss_is_that_of_the_label_and_a_share_of_that_of_the_words() -> None:
    packed = batch(1, -1)
    labels, mentions = torch.tensor([[0.3, -0.2], [1.0, 0.0]]), torch.ones(len(packed.input_ids))
    logits = StatementLogits(labels, mentions)
    expected = F.cross_entropy(labels[:1], torch.tensor([1])) + 0.25 * mention_losses(mentions, packed)[0]
    assert EntailmentTask(mentions=0.25).losses(logits, packed).tolist() == pytest.approx([expected.item(), 0.0])


@given(st.lists(st.tuples(st.integers(0, 5), st.booleans()), max_size=12))
def test_a_piece_is_found_among_the_chosen_wherever_they_stand(tokens: list[tuple[int, bool]]) -> None:
    pieces = torch.tensor([piece for piece, _ in tokens], dtype=torch.int64)
    chosen = torch.tensor([own for _, own in tokens], dtype=torch.bool)
    among = {piece for piece, own in tokens if own}
    assert has_one_among(pieces, chosen).tolist() == [piece in among for piece, _ in tokens]
