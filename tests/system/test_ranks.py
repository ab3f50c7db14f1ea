"""What several ranks found, put together, and what they count: as one rank alone would have it."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from unittest import mock

import torch
from hypothesis import given
from hypothesis import strategies as st

from mate_cli.runs.folder import RunFolder
from mate_cli.tasks.task import Verdict
from mate_cli.training.callbacks import Checkpoints
from mate_cli.training.module import TaskModule, most_confident
from mate_cli.training.sampler import rank_share

VERDICTS = st.builds(Verdict, st.sampled_from("abcdef"), st.sampled_from([0.1, 0.5, 0.9]), st.booleans())


def batched(items, size):
    return [items[start : start + size] for start in range(0, len(items), size)]


@given(st.lists(VERDICTS, min_size=1, max_size=30), st.integers(1, 5), st.integers(2, 4))
def test_verdicts_of_all_ranks_are_those_of_one(verdicts, batch, world_size):
    shares = [rank_share(len(verdicts), batch, rank, world_size) for rank in range(world_size)]
    by_rank = [batched([verdicts[place] for place in own], batch) for own in shares]
    module = TaskModule(torch.nn.Linear(1, 1), mock.Mock())
    module._verdicts = by_rank[0]

    def gather(found, own):
        assert own == by_rank[0]
        found[:] = by_rank

    trainer = mock.PropertyMock(return_value=SimpleNamespace(world_size=world_size))
    group = mock.patch.multiple("torch.distributed", is_initialized=lambda: True, all_gather_object=gather)
    with mock.patch.object(TaskModule, "trainer", trainer), group:
        merged = most_confident(module._verdicts_of_all_ranks())
    assert merged == most_confident(batched(verdicts, batch))


def test_the_most_confident_verdict_counts_and_of_equals_the_first():
    batches = [[Verdict("a", 0.5, True), Verdict("b", 0.2, False)], [Verdict("a", 0.5, False), Verdict("b", 0.3, True)]]
    assert most_confident(batches) == [Verdict("a", 0.5, True), Verdict("b", 0.3, True)]


@given(st.integers(0, 500), st.integers(1, 16), st.integers(1, 16))
def test_a_checkpoint_counts_micro_batches_anew(step, before, now):
    counts = dict.fromkeys(("ready", "started", "processed", "completed"), step * before)
    progress = {"total": dict(counts), "current": dict(counts), "is_last_batch": False}
    checkpoint = {"global_step": step, "loops": {"fit_loop": {"epoch_loop.batch_progress": progress}}}
    trainer = SimpleNamespace(accumulate_grad_batches=now)
    Checkpoints(RunFolder(Path("run")), Path(), 1, 1).on_load_checkpoint(trainer, None, checkpoint)
    assert {*progress["total"].values(), *progress["current"].values()} == {step * now}
    assert progress["is_last_batch"] is False
