"""The rows of a training: those without a loss are left out, and with `task.ambiguous=false` more."""

import io

import numpy as np
import pytest
from datasets import Dataset
from rich.console import Console

from mate_cli.system.errors import UserError
from mate_cli.training.rows import keep_learnable, without_ambiguous

ROWS = Dataset.from_dict({"id": list("abcde")})


def test_rows_without_a_loss_are_left_out_and_counted() -> None:
    console = Console(file=io.StringIO(), width=200)
    kept = keep_learnable(ROWS, np.array([True, False, True, False, True]), console)
    assert kept["id"][:] == ["a", "c", "e"]
    assert console.file.getvalue() == "train: 2 of 5 examples have no answer to learn from; left out\n"


def test_all_rows_with_a_loss_stay_without_a_word() -> None:
    console = Console(file=io.StringIO())
    assert keep_learnable(ROWS, np.ones(5, dtype=bool), console) is ROWS
    assert console.file.getvalue() == ""


def test_training_needs_a_row_with_a_loss() -> None:
    with pytest.raises(UserError, match="none of the 5 training examples has an answer"):
        keep_learnable(ROWS, np.zeros(5, dtype=bool), Console(quiet=True))


def with_candidates(*candidates: list[int]) -> Dataset:
    entries = [{"id": str(number), "candidate_rows": own} for number, own in enumerate(candidates)]
    return Dataset.from_list(entries).with_format("numpy")


def test_only_questions_with_several_candidates_go_and_their_number_is_told() -> None:
    console = Console(file=io.StringIO(), width=200)
    kept = without_ambiguous(with_candidates([], [1], [1, 1], [0, 2, 3], [4]), console)
    assert kept["id"][:].tolist() == ["0", "1", "4"]
    assert console.file.getvalue() == "train: 2 of 5 questions have several candidates; left out\n"
    assert without_ambiguous(kept, console) is kept


def test_training_needs_a_question_with_one_candidate() -> None:
    with pytest.raises(UserError, match="leaves no question with a candidate"):
        without_ambiguous(with_candidates([], [1, 2]), Console(quiet=True))
