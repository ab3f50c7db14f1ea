"""`task.ambiguous=false`: which questions a training leaves out."""

from __future__ import annotations

import io
from dataclasses import dataclass, replace

import pytest
from datasets import Dataset
from rich.console import Console

from mate_cli.system.errors import UserError
from mate_cli.training.splits import without_ambiguous

CANDIDATES = [[], [1], [1, 1], [0, 2, 3], [4]]


@dataclass(frozen=True)
class Split:
    dataset: Dataset


def rows(candidates):
    entries = [{"id": str(number), "candidate_rows": own} for number, own in enumerate(candidates)]
    return Split(Dataset.from_list(entries).with_format("numpy"))


def test_only_questions_with_several_candidates_go_and_their_number_is_told():
    out = io.StringIO()
    kept = without_ambiguous(rows(CANDIDATES), Console(file=out))
    assert [row["id"] for row in kept.dataset] == ["0", "1", "4"]
    assert out.getvalue() == "train: 2 of 5 questions have several candidates; left out\n"
    again = without_ambiguous(replace(kept), Console(quiet=True))
    assert len(again.dataset) == 3


def test_nothing_to_learn_from_is_one_line():
    with pytest.raises(UserError, match="leaves no question with a candidate"):
        without_ambiguous(rows([[], [1, 2]]), Console(quiet=True))
