"""Measure the CPU time of batching and planning per example: `python docs/loading.py`.

It measures CPU time, not wall-clock time, so that other programs on the machine hardly matter.
"""

from __future__ import annotations

import pickle
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from mate_cli.attention import PatternPlanner
from mate_cli.attention.generated import table_layout
from mate_cli.encoding.batch import Collator
from mate_cli.encoding.features import TOKEN_TYPES

BATCH, LENGTHS, SECONDS = 8, (512, 2048, 8192), 2.0
BACKENDS = ("native", "ragged", "varlen", "flex", "blocks")


def main() -> None:
    """Print a line per length and backend: time to collate rows and plan attention, and bytes sent to the device."""
    print("| tokens | backend | ms of a core for each example | bytes for each token |\n|---|---|---|---|")
    for length in LENGTHS:
        rows = [row(length, seed) for seed in range(BATCH)]
        for backend in BACKENDS:
            collator = Collator(PatternPlanner(("row", "column"), backend, low_precision=True))
            sent = len(pickle.dumps(collator(rows))) / (BATCH * length)
            print(f"| {length} | {backend} | {1e3 * cost(lambda c=collator, r=rows: c(r)) / BATCH:.2f} | {sent:.0f} |")


def row(length: int, seed: int) -> dict[str, Any]:
    """Return an encoded example as in the cache: a question and a table of 6 columns, with zero words and labels."""
    layout = table_layout("grid", length, seed=seed)
    named = {"segment": layout.segment, "row": layout.row, "column": layout.column}
    zeros = np.zeros(length, np.int32)
    body = layout.row > 0
    cells = len(np.unique(layout.row[body] * 10 + layout.column[body]))
    return {
        **{name: named.get(name, zeros).astype(np.int32) for name in TOKEN_TYPES},
        **dict.fromkeys(("input_ids", "position", "labels"), zeros),
        "id": str(seed),
        "cell_value": np.zeros(cells, np.float32),
        "answer_value": 0.0,
        "label": -1,
    }


def cost(call: Callable[[], object]) -> float:
    """Return the CPU seconds of a call."""
    call()
    started, calls = time.process_time(), 0
    while time.process_time() - started < SECONDS:
        call()
        calls += 1
    return (time.process_time() - started) / calls


if __name__ == "__main__":
    main()
