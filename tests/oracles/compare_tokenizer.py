"""Our encoding beside Hugging Face's TapasTokenizer: the same arrays, and how much faster, on one core.

    python tests/oracles/compare_tokenizer.py DATA_DIR VOCABULARY_FOLDER [--tables 100] [--rounds 5]

Takes every n-th table of the HybridQA training split with all its questions. Both sides get the questions of
a table together; rounds are interleaved. Prints examples per second and compares ids, segments, columns and
rows wherever the Hugging Face tokeniser accepts the table. Exits with 1 where an array differs or a speed is
under its bound.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from itertools import groupby
from pathlib import Path
from typing import Any

os.environ["TOKENIZERS_PARALLELISM"] = "false"
os.environ["OMP_NUM_THREADS"] = "1"

import numpy as np
import pandas as pd
from rich.console import Console
from rich.table import Table as Grid
from transformers import TapasTokenizer

from mate_cli.encoding.encode import encode
from mate_cli.encoding.features import Encoded, EncodingOptions, TooLarge
from mate_cli.encoding.tokenizer import CellTokenizer
from mate_cli.tables.hybridqa import read_split
from mate_cli.tables.table import Example, Table

UNCUT = 8192  # tokens; TapasTokenizer is compared without truncation, where it would drop rows
BATCH = 64
TIMES_FASTER, EXAMPLES_A_SECOND = 10, 100


def main() -> int:
    arguments = read_arguments()
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    examples = some_examples(arguments.data_dir, arguments.tables)
    tokenizer, theirs = CellTokenizer(arguments.vocabulary), hugging_face_tokenizer(arguments.vocabulary)
    table_only, whole = EncodingOptions(UNCUT, input="table"), EncodingOptions(2048)
    runs: dict[str, Callable[[], Any]] = {
        "TapasTokenizer": lambda: [hugging_face(group, theirs) for group in by_table(examples)],
        "ours, without expansion": lambda: ours(examples, tokenizer, table_only),
        "ours, with expansion": lambda: ours(examples, tokenizer, whole),
    }
    seconds = interleaved(runs, arguments.rounds)
    speeds = {name: len(examples) / statistics.median(own) for name, own in seconds.items()}
    same, different, refused = compare(examples, tokenizer, theirs, table_only)
    print_table(speeds, seconds, len(examples))
    print(f"arrays: {same} equal, {different} different, {refused} refused by TapasTokenizer")
    slow = speeds["ours, without expansion"] < TIMES_FASTER * speeds["TapasTokenizer"]
    return int(slow or speeds["ours, with expansion"] < EXAMPLES_A_SECOND or different > 0)


def read_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data_dir", type=Path)
    parser.add_argument("vocabulary", type=Path, help="folder with an uncased BERT vocab.txt")
    parser.add_argument("--tables", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=5)
    return parser.parse_args()


def some_examples(data_dir: Path, tables: int) -> list[Example]:
    examples = sorted(read_split(data_dir, "train").examples, key=lambda example: example.table.id)
    ids = sorted({example.table.id for example in examples})
    chosen = set(ids[:: max(len(ids) // tables, 1)][:tables])
    return [example for example in examples if example.table.id in chosen]


def hugging_face_tokenizer(folder: Path) -> TapasTokenizer:
    """TAPAS's vocabulary is BERT's with [unused0] named [EMPTY]."""
    words = (folder / "vocab.txt").read_text(encoding="utf-8").replace("[unused0]\n", "[EMPTY]\n", 1)
    with tempfile.TemporaryDirectory() as scratch:
        path = Path(scratch, "vocab.txt")
        path.write_text(words, encoding="utf-8")
        return TapasTokenizer(str(path), model_max_length=UNCUT)


def by_table(examples: list[Example]) -> Iterator[list[Example]]:
    for _, group in groupby(examples, key=lambda example: example.table.id):
        yield list(group)


def hugging_face(examples: list[Example], tokenizer: TapasTokenizer) -> Any:
    """Input ids and token types of questions about one table, or None where it is refused."""
    try:
        return tokenizer(table=frame(examples[0].table), queries=[example.question for example in examples])
    except (ValueError, KeyError, IndexError):
        return None


def frame(table: Table) -> pd.DataFrame:
    """Cells of white space become "-": TapasTokenizer drops "", where TAPAS itself has [EMPTY] (oracle g)."""
    header, *rows = [[cell.text if cell.text.strip() else "-" for cell in row] for row in (table.header, *table.rows)]
    return pd.DataFrame(rows, columns=header, dtype=object)


def ours(examples: list[Example], tokenizer: CellTokenizer, options: EncodingOptions) -> list[Encoded]:
    batches = (examples[start : start + BATCH] for start in range(0, len(examples), BATCH))
    return [encoded for batch in batches for encoded in encode(batch, tokenizer, options)]


def interleaved(runs: dict[str, Callable[[], Any]], rounds: int) -> dict[str, list[float]]:
    seconds: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(rounds):
        for name, run in runs.items():
            start = time.process_time()
            run()
            seconds[name].append(time.process_time() - start)
    return seconds


def compare(
    examples: list[Example], tokenizer: CellTokenizer, theirs: TapasTokenizer, options: EncodingOptions
) -> tuple[int, int, int]:
    """How many examples have the same ids, segments, columns, rows; how many differ; how many are refused.

    A cell "nan" counts as refused: TapasTokenizer takes it for a missing value, TAPAS for a word (note 7).
    """
    same = different = refused = 0
    for group in by_table(examples):
        expected = hugging_face(group, theirs)
        for number, encoded in enumerate(encode(group, tokenizer, options)):
            if expected is None or has_nan(group[0].table) or isinstance(encoded.outcome, TooLarge):
                refused += 1
                continue
            own = encoded.outcome
            types = np.stack([own.segment, own.column, own.row], axis=1).tolist()
            equal = own.input_ids.tolist() == expected["input_ids"][number] and types == [
                token[:3] for token in expected["token_type_ids"][number]
            ]
            same, different = same + equal, different + (not equal)
            if not equal:
                print(f"differs: {group[number].id} on table {group[number].table.id}")
    return same, different, refused


def has_nan(table: Table) -> bool:
    return any(cell.text.strip().lower() == "nan" for row in (table.header, *table.rows) for cell in row)


def print_table(speeds: dict[str, float], seconds: dict[str, list[float]], examples: int) -> None:
    grid = Grid(title=f"{examples} examples, one core, processor time, median of interleaved rounds")
    for title in ("", "examples/s", "slowest", "fastest", "against TapasTokenizer"):
        grid.add_column(title, justify="right" if title else "left")
    for name, speed in speeds.items():
        slowest, fastest = examples / max(seconds[name]), examples / min(seconds[name])
        factor = speed / speeds["TapasTokenizer"]
        grid.add_row(name, f"{speed:.1f}", f"{slowest:.1f}", f"{fastest:.1f}", f"{factor:.1f}x")
    Console().print(grid)


if __name__ == "__main__":
    sys.exit(main())
