"""What a whole table costs: one forward pass, one training step, peak memory.

    python -m tests.training.whole_table [--task hybridqa|wtq] [--data-dir DIR] [--tokens 16384] [--precision 32|bf16]

MiniLM with exact MATE on the CPU, a micro-batch of one example. With ``--data-dir`` it is the one with the longest
table, cut to the limit: of HybridQA's dev split with all of its passages, or of WikiTableQuestions by its rows;
without, a generated one with passages. Prints one JSON object.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import time
from pathlib import Path
from typing import Any

import torch
from hydra import compose, initialize_config_dir
from rich.console import Console

from mate_cli.cli.diagnosis import register_schemas, typed
from mate_cli.config.paths import conf_folder
from mate_cli.config.task import ScheduleConfig, active_schedule
from mate_cli.config.train import TrainConfig
from mate_cli.encoding.encode import encode, row_of
from mate_cli.encoding.tokenizer import CellTokenizer
from mate_cli.kinds.registry import task_of
from mate_cli.tables import hybridqa, wtq
from mate_cli.tables.table import Cell, Example, Table
from mate_cli.training.backend import collator_for
from mate_cli.training.module import TaskModule
from mate_cli.training.splits import encoding_options
from mate_cli.training.starting_model import starting_model

WORDS = "river town king north harbour season record player bridge summer market station"


def generated_example(tokens: int) -> Example:
    """A table of six columns, whose cells link to passages of eight sentences, with more tokens than asked for."""
    words = WORDS.split()
    draw = random.Random(0)
    rows = tokens // (6 * 8 * 14) + 2
    passages = {
        f"/wiki/{row}_{column}": " ".join(f"The {' '.join(draw.choices(words, k=12))} ended." for _ in range(8))
        for row in range(rows)
        for column in range(6)
    }
    cells = [[Cell(draw.choice(words), (f"/wiki/{row}_{column}",)) for column in range(6)] for row in range(rows)]
    table = Table("t", tuple(Cell(word) for word in words[:6]), tuple(tuple(row) for row in cells))
    return Example("q", "Which town has the oldest bridge?", table, ("bridge",), passages, ((0, 0),))


def most_linked_example(folder: Path) -> Example:
    """HybridQA's answerable dev question whose table links to the most words."""
    examples = [example for example in hybridqa.read_split(folder, "dev").examples if example.candidates]

    def words(example: Example) -> int:
        links = (link for row in example.table.rows for cell in row for link in cell.links)
        return sum(len(example.passages[link].split()) for link in links)

    return max(examples, key=words)


def most_rows_example(folder: Path) -> Example:
    """WikiTableQuestions' question with an answer to learn from whose table has the most rows."""
    splits = [wtq.read_split(folder, name) for name in ("train", "dev", "test")]
    examples = [e for split in splits for e in split.examples if e.id not in split.unsupervised]
    return max(examples, key=lambda example: example.table.num_rows)


LONGEST = {"hybridqa": most_linked_example, "wtq": most_rows_example}


def measure(example: Example, task: str, tokens: int, low_precision: bool) -> dict[str, Any]:
    """Seconds of a forward pass and of a whole training step; GiB that the process has had at most."""
    config = _config(task, tokens)
    torch.manual_seed(0)
    model, vocabulary, new = starting_model(config, task_of(config), Console(quiet=True))
    active_schedule(config).max_tokens = tokens
    options = encoding_options(config, task_of(config), model.config)
    (encoded,) = encode([example], CellTokenizer(vocabulary), options)
    batch = collator_for(model.config, config.model, "auto", "cpu", low_precision)([row_of(example, encoded)])
    module = TaskModule(model, task_of(config), ScheduleConfig(batch=1, lr=1e-4, warmup=0.1), 10, new)
    optimizer = module.configure_optimizers()["optimizer"]

    def forward() -> torch.Tensor:
        with torch.autocast("cpu", torch.bfloat16, enabled=low_precision):
            return module.task.losses(module(batch), batch).sum()

    started = time.perf_counter()
    with torch.inference_mode():
        forward()
    between = time.perf_counter()
    forward().backward()
    torch.nn.utils.clip_grad_norm_(module.parameters(), 10.0)
    optimizer.step()
    return {
        "tokens": len(batch.input_ids),
        "uncut_tokens": encoded.full_length,
        "rows": example.table.num_rows,
        "cells": len(batch.cell_document),
        "forward_seconds": round(between - started, 2),
        "training_step_seconds": round(time.perf_counter() - between, 2),
        "peak_gib": round(_peak_bytes() / 2**30, 2),
        "backend": batch.plan.backend,
        "threads": torch.get_num_threads(),
    }


def _config(task: str, tokens: int) -> TrainConfig:
    register_schemas()
    words = [f"task={task}", "task.expansion=all", "backbone=minilm", "schedule=smoke"]
    with initialize_config_dir(str(conf_folder()), version_base="1.3"):
        return typed(compose("train", [*words, f"task.schedules.smoke.max_tokens={tokens}"]))


def _peak_bytes() -> int:
    status = Path("/proc/self/status").read_text(encoding="utf-8")
    return int(re.search(r"VmHWM:\s+(\d+) kB", status)[1]) * 1024  # type: ignore[index]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--task", choices=tuple(LONGEST), default="hybridqa")
    parser.add_argument("--data-dir", type=Path)
    parser.add_argument("--tokens", type=int, default=16_384)
    parser.add_argument("--precision", choices=("32", "bf16"), default="32")
    asked = parser.parse_args()
    example = LONGEST[asked.task](asked.data_dir) if asked.data_dir else generated_example(asked.tokens)
    print(json.dumps(measure(example, asked.task, asked.tokens, asked.precision == "bf16")))


if __name__ == "__main__":
    main()
