"""Compare exports for ONNX Runtime with their model on WikiTableQuestions, and write results/onnx: `make onnx-graphs`.

Each question is a batch of its own. The speed is the processor time of one thread, from encoded table to answer, of the
three in turn, so that other processes on the machine disturb them alike.

    OMP_NUM_THREADS=1 python docs/onnx_graphs.py MODEL FLOAT32 INT8 DATA
"""

from __future__ import annotations

import random
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from tabulate import tabulate

from mate_cli.config.hardware import HardwareConfig
from mate_cli.encoding.encode import rows_that_fit
from mate_cli.encoding.source import DataSource
from mate_cli.inference.answerer import Answerer
from mate_cli.metrics.statistics import Interval, mean_interval, paired_bootstrap
from mate_cli.metrics.wtq import gold_values
from mate_cli.runs.folder import RunFolder, load_run_config
from mate_cli.system.distribution import released_model
from mate_cli.system.processor import processor_flags, processor_name
from mate_cli.tables.prediction_files import TAGGED, read_tagged

TO = Path(__file__).parents[1] / "results" / "onnx" / "README.md"
QUESTIONS, SEED, MAX_TOKENS = 500, 0, 1024
LENGTHS, TABLES, ROUNDS = (128, 300, 1024), 4, 10
NAMES = ("PyTorch float32", "ONNX float32", "ONNX int8")


def main(words: Sequence[str]) -> None:
    *folders, data = map(Path, words)
    model, *graphs = map(_opened, folders)
    split = DataSource("wtq", data, "test").read()
    asked = random.Random(SEED).sample(split.examples, QUESTIONS)
    rows = rows_that_fit(asked, model.tokenizer, model.options)
    assert len(rows) == QUESTIONS, "tables that do not fit are read by no model"
    agreement = _agreement(model, graphs, asked, rows, read_tagged(data / TAGGED))
    TO.parent.mkdir(exist_ok=True)
    TO.write_text(_page(folders, agreement, _speed([model, *graphs], rows)), encoding="utf-8")


def _opened(folder: Path) -> Answerer:
    hardware = HardwareConfig(name="cpu", accelerator="cpu", precision="32", micro_batch=1)
    return Answerer(RunFolder(folder), load_run_config(folder, MAX_TOKENS), hardware)


def _agreement(
    model: Answerer, graphs: Sequence[Answerer], asked: Sequence[Any], rows: Sequence[Any], tagged: Any
) -> list[list[str]]:
    """Lines of a table: of each model its accuracy and how far its logits and answers are from the first one's."""
    answering, gold = model.kind.answering, gold_values(asked, tagged)
    assert answering is not None
    everyone = [model, *graphs]
    right = np.zeros((len(everyone), len(asked)), dtype=bool)
    same, apart = np.zeros_like(right), np.zeros(right.shape)
    for number, (example, row) in enumerate(zip(asked, rows, strict=True)):
        found = [_answered(one, row) for one in everyone]
        for place, (answer, logits) in enumerate(found):
            right[place, number] = answering.is_right(example, answer, gold[example.id])
            same[place, number] = answering.chosen(answer) == answering.chosen(found[0][0])
            apart[place, number] = max(float(abs(a - b).max()) for a, b in zip(logits, found[0][1], strict=True))
    return [
        [
            name,
            _per_cent(mean_interval(right[place])),
            _per_cent(paired_bootstrap(right[place], right[0])) if place else "",
            f"{same[place].sum()} of {len(asked)}",
            f"{apart[place].max():.1e}",
        ]
        for place, name in enumerate(NAMES)
    ]


def _answered(one: Answerer, row: Any) -> tuple[Any, list[torch.Tensor]]:
    """The answer and the logits of the cells, columns and operators of the table."""
    batch = one.collator([row])
    with torch.no_grad():
        logits = one.task.logits(one.model, batch)
    (answer,) = one.task.predictions(logits, batch)
    cells, headers = len(batch.cell_document), len(batch.header_document)
    return answer, [logits.places[:cells], logits.columns[:headers], logits.operators]


def _speed(everyone: Sequence[Answerer], rows: Sequence[Any]) -> list[list[str]]:
    """Lines of a table: the milliseconds of each model for the questions whose inputs are nearest to each length."""
    lines = []
    for length in LENGTHS:
        chosen = sorted(rows, key=lambda row: abs(len(row["input_ids"]) - length))[:TABLES]
        seconds: list[list[float]] = [[] for _ in everyone]
        for turn in range(ROUNDS + 1):
            for row in chosen:
                for one, times in zip(everyone, seconds, strict=True):
                    start = time.process_time()
                    one.predict([one.collator([row])])
                    if turn:  # the first one warms up
                        times.append(time.process_time() - start)
        tokens = [len(row["input_ids"]) for row in chosen]
        ratios = [np.quantile(np.divide(times, seconds[0]), [0.25, 0.5, 0.75]) for times in seconds[1:]]
        shown = [f"{np.median(times) * 1000:.0f}" for times in seconds]
        shown += [f"{middle:.2f} ({low:.2f} to {high:.2f})" for low, middle, high in ratios]
        lines.append([f"{min(tokens)} to {max(tokens)}", *shown])
    return lines


def _per_cent(interval: Interval) -> str:
    return " ".join([f"{100 * interval.mean:.1f}", f"({100 * interval.low:.1f} to {100 * interval.high:.1f})"])


def _page(folders: Sequence[Path], agreement: Sequence[Sequence[str]], speed: Sequence[Sequence[str]]) -> str:
    sizes = [f"{RunFolder(folder).weights_file.stat().st_size / 1e6:.0f} MB" for folder in folders]
    agreement = [[name, size, *rest] for (name, *rest), size in zip(agreement, sizes, strict=True)]
    columns = [
        "",
        "file",
        "accuracy, per cent",
        "difference to PyTorch",
        "same answers",
        "largest difference of a logit",
    ]
    of_speed = ["tokens", *(f"{name}, ms" for name in NAMES), *(f"{name} / PyTorch" for name in NAMES[1:])]
    instructions = ", ".join(sorted(processor_flags() & {"avx512f", "avx512_vnni", "amx_int8"}))
    return f"""# Exports for ONNX Runtime

The released model ({released_model()}), and its exports by `mate export format=onnx max_tokens={MAX_TOKENS}`,
with and without `quantize=int8`, on {QUESTIONS} questions of WikiTableQuestions' test split (drawn with seed {SEED}),
one at a time. Written by `make onnx-graphs DATA=FOLDER`. Intervals are of 95%, those of differences by the paired
bootstrap.

{tabulate(agreement, columns, tablefmt="github", disable_numparse=True)}

Milliseconds of processor time, one thread, from the encoded table to the answer: the median of {ROUNDS} rounds over
the {TABLES} tables nearest to each length. The three took turns; other programs ran on the machine, so read the ratios
(median and quartiles). Processor: {processor_name()} with {instructions or "neither AVX-512 nor AMX"}. PyTorch
{torch.__version__} attends by rows and columns with the backend that `mate predict` takes, the graphs by a dense mask.

{tabulate(speed, of_speed, tablefmt="github", disable_numparse=True)}
"""


if __name__ == "__main__":
    main(sys.argv[1:])
