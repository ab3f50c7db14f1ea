"""The words over the figures of a bench."""

from __future__ import annotations

from dataclasses import replace

from mate_cli.bench.point import Point
from mate_cli.reporting.bench_figures import machine_words, title_of

POINT = Point("base", 2, "grid", 2048, 1, "forward", "fp32", "cpu")


def test_a_figure_says_what_was_measured_in_words() -> None:
    assert title_of(POINT) == "BERT-base's size, forward pass, 32 bits, 6 columns"
    real = replace(POINT, size="minilm", layout="wtq", batch=8, mode="training", dropout=0.1, dtype="bf16")
    words = "MiniLM's size, forward and backward pass, 16 bits, attention dropout 0.1"
    assert title_of(real) == f"{words}, batches of 8, tables of WikiTableQuestions' sizes"
    assert title_of(replace(POINT, size="32x2x48")).startswith("an encoder of 32x2x48, forward pass")


def test_a_figure_names_the_machine_as_far_as_it_is_recorded() -> None:
    device = {"cpu": "Some CPU", "instructions": "AVX2", "threads": 2, "device": "cpu"}
    assert machine_words(device) == ["Some CPU", "AVX2", "2 threads"]
    assert machine_words(device | {"gpu": "H200"})[0] == "H200"
    assert machine_words({}) == []
