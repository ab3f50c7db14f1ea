"""Write ``real_tables.jsonl``: ``make real-tables``, after ``mate prepare`` has fetched the four data sets."""

from __future__ import annotations

from random import Random
from typing import Any

from mate_cli.bench.real_tables import FILE, TokenCounts, token_counts
from mate_cli.config.bench import REAL_TABLES
from mate_cli.config.catalogue import typed_options
from mate_cli.config.model import BackboneConfig
from mate_cli.config.paths import PathsConfig
from mate_cli.config.task import TaskConfig
from mate_cli.encoding.batch import layout_of
from mate_cli.encoding.encode import rows_that_fit
from mate_cli.encoding.features import EncodingOptions
from mate_cli.encoding.source import SplitSource
from mate_cli.encoding.tokenizer import CellTokenizer
from mate_cli.system.distribution import package_folder
from mate_cli.system.files import write_json_lines
from mate_cli.training.splits import data_source

EXAMPLES, SEED = 24, 0
_UNCUT = 1 << 20


def draw(source: SplitSource, sentences: int, examples: int, seed: int) -> list[TokenCounts]:
    """Draw examples of a split and count the tokens of their questions and cells, with ``sentences`` of passages."""
    drawn = Random(seed).sample(source.read().examples, examples)
    tokenizer = CellTokenizer(package_folder(BackboneConfig().vocabulary))
    rows = rows_that_fit(drawn, tokenizer, EncodingOptions(_UNCUT, sentences))
    return [token_counts(layout_of([row])) for row in rows]


def main() -> None:
    """Draw from the training split of each data set."""
    tasks = typed_options("task", TaskConfig)
    lines: list[dict[str, Any]] = [{"written_by": "make real-tables", "seed": SEED}]
    for name in REAL_TABLES:
        source = data_source(tasks[name], "train", None, PathsConfig())
        counts = draw(source, tasks[name].sentences, EXAMPLES, SEED)
        lines += [{"data": name, "question": question, "cells": cells.tolist()} for question, cells in counts]
    write_json_lines(FILE, lines)


if __name__ == "__main__":
    main()
