"""The trial that picks a backend, and what is remembered of it."""

import json

import numpy as np
import pytest
import torch

from mate_cli.attention import BACKENDS, HeadGroup, Pattern, full_pattern, mate_pattern
from mate_cli.attention import autotune as tuning
from mate_cli.attention.autotune import Trial, autotune, candidates, measure
from mate_cli.system import products
from tests.attention.layouts import document, layout
from tests.compilers import NATIVE

ROW_OR_COLUMN = Pattern((HeadGroup("row_or_column", 2),))


@pytest.fixture
def batch():
    return layout([document(5, True, 6, 4, np.random.default_rng(0))], [2])


@pytest.fixture
def trials(monkeypatch):
    """Trials in which `ragged` wins, and how many there were."""
    made = []

    def trial(*arguments):
        made.append(arguments)
        return {"dense": 2.0, "ragged": 1.0, "blocks": 3.0}

    monkeypatch.setattr(tuning, "measure", trial)
    return made


def choose(batch, memory):
    return autotune(trial_of(mate_pattern(4), layout=batch), memory)


def trial_of(pattern, dtype=torch.float32, device="cpu", dropout=0.0, layout=None):
    return Trial(layout, pattern, 16, dtype, device, dropout)


def test_the_fastest_is_taken_and_remembered(batch, trials, tmp_path):
    memory = tmp_path / "cache" / "autotune.json"
    assert [choose(batch, memory), choose(batch, memory)] == ["ragged", "ragged"]
    assert len(trials) == 1
    assert list(json.loads(memory.read_text()).values()) == ["ragged"]
    assert [file.name for file in memory.parent.iterdir()] == ["autotune.json"]


def test_other_batches_have_other_answers(batch, trials, tmp_path):
    longer = layout([document(5, True, 60, 4, np.random.default_rng(0))], [2])
    for own in (batch, longer, batch, longer):
        choose(own, tmp_path / "autotune.json")
    assert len(trials) == 2


@pytest.mark.parametrize("content", ["no JSON", "[]", '{"%s": "fast"}'])
def test_a_memory_that_makes_no_sense_is_measured_anew(batch, trials, tmp_path, content):
    memory = tmp_path / "autotune.json"
    choose(batch, memory)
    (key,) = json.loads(memory.read_text())
    memory.write_text(content.replace("%s", key))
    assert choose(batch, memory) == "ragged"
    assert len(trials) == 2


def test_a_memory_that_cannot_be_written_stops_nothing(batch, trials, tmp_path):
    (tmp_path / "file").write_text("")
    assert choose(batch, tmp_path / "file" / "autotune.json") == "ragged"


def test_candidates_are_exact_and_run_there():
    assert candidates(trial_of(mate_pattern(4))) == ["dense", *NATIVE, "ragged", "blocks"]
    assert candidates(trial_of(ROW_OR_COLUMN)) == ["dense", *NATIVE]
    assert candidates(trial_of(mate_pattern(4), device="cuda")) == ["dense", "flex"]
    assert candidates(trial_of(full_pattern(4), torch.bfloat16, "cuda")) == ["dense", "flex", "varlen"]
    assert not any(BACKENDS[name].needs_gpu for name in candidates(trial_of(mate_pattern(4))))


def test_candidates_have_dropout_where_it_is_asked_for():
    for device in ("cpu", "cuda"):
        names = candidates(trial_of(mate_pattern(4), torch.bfloat16, device, dropout=0.1))
        assert names
        assert all(BACKENDS[name].has_dropout for name in names)


@pytest.mark.parametrize("dropout", [0.0, 0.1])
def test_a_trial_times_every_candidate(batch, dropout):
    trial = trial_of(mate_pattern(4), dropout=dropout, layout=batch)
    seconds = measure(trial)
    assert list(seconds) == candidates(trial)
    assert all(0 < taken < 60 for taken in seconds.values())


def test_a_trial_with_dropout_is_remembered_apart(batch, trials, tmp_path):
    for dropout in (0.0, 0.1, 0.0, 0.1):
        autotune(trial_of(mate_pattern(4), dropout=dropout, layout=batch), tmp_path / "autotune.json")
    assert len(trials) == 2


@pytest.mark.parametrize(
    ("module", "function", "answer"),
    [
        (tuning, "processor_name", "another processor"),
        (torch.backends.cpu, "get_cpu_capability", "AVX1024"),
        (products, "processor_flags", {"amx_bf16"}),
        (products, "processor_flags", {"avx512_bf16"}),
    ],
    ids=str,
)
def test_another_processor_has_another_answer(batch, trials, tmp_path, monkeypatch, module, function, answer):
    """The names of virtual processors tell little of their instructions."""
    monkeypatch.setattr(products, "processor_flags", lambda: {"avx2", "amx_bf16", "avx512_bf16"})
    choose(batch, tmp_path / "autotune.json")
    monkeypatch.setattr(module, function, lambda: answer)
    choose(batch, tmp_path / "autotune.json")
    choose(batch, tmp_path / "autotune.json")
    assert len(trials) == 2
