"""Encode examples in several processes and write their rows to one Arrow file."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from mate_cli.encoding.encode import encode, row_of
from mate_cli.encoding.features import ARRAYS, EncodingOptions, TooLarge
from mate_cli.encoding.report import ExampleReport, outcome_of
from mate_cli.encoding.tokenizer import CellTokenizer
from mate_cli.system.errors import UserError
from mate_cli.system.stopping import become_worker, stop_if_asked
from mate_cli.tables.table import Example

_CHUNK = 64  # examples, at least: all those of one table go together
_SMALL = ("segment", "prev_label", "numeric_relation", "labels")

SCHEMA = pa.schema(
    [
        ("id", pa.string()),
        ("subset", pa.string()),
        ("reasoning", pa.string()),
        ("candidate_rows", pa.list_(pa.int32())),
        ("candidate_columns", pa.list_(pa.int32())),
        ("has_candidate", pa.bool_()),
        ("answer_value", pa.float32()),
        ("label", pa.int8()),
        ("operator", pa.int8()),
        ("length", pa.int32()),
        ("cell_value", pa.list_(pa.float32())),
        *((name, pa.list_(pa.uint8() if name in _SMALL else pa.int32())) for name in ARRAYS),
    ]
)
"""The columns of ``encode.row_of`` without spans."""

READING_SCHEMA = pa.schema(
    [
        *SCHEMA,
        ("answers", pa.list_(pa.string())),
        ("texts", pa.list_(pa.string())),
        ("span_first", pa.int32()),
        ("span_last", pa.int32()),
        ("char_start", pa.list_(pa.int32())),
        ("char_end", pa.list_(pa.int32())),
    ]
)
"""The columns with spans."""


def write_rows(
    path: Path,
    examples: Sequence[Example],
    tokenizer: CellTokenizer,
    options: EncodingOptions,
    processes: int,
    advance: Callable[[int], None],
) -> list[ExampleReport]:
    """Encode examples and write their rows, sorted by table id; return the report of each, in that order.

    Args:
        advance: called with the number of examples just done.

    Raises:
        UserError: a process was killed.
        KeyboardInterrupt: this process was asked to stop.
    """
    outcomes: list[ExampleReport] = []
    with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_stream(sink, _schema(options)) as writer:
        for batch, reports in _encoded_chunks(examples, tokenizer, options, processes):
            if batch.num_rows:
                writer.write_batch(batch)
            outcomes += reports
            advance(len(reports))
            stop_if_asked()
    return outcomes


def _encoded_chunks(
    examples: Sequence[Example], tokenizer: CellTokenizer, options: EncodingOptions, processes: int
) -> Iterator[tuple[pa.RecordBatch, list[ExampleReport]]]:
    chunks = _chunks(examples)
    if processes <= 1:
        yield from (_encode_chunk([examples[i] for i in chunk], tokenizer, options) for chunk in chunks)
        return
    # Forked processes get the examples without a copy.
    pool = ProcessPoolExecutor(processes, initializer=_start_worker, initargs=(examples, tokenizer.folder, options))
    try:
        yield from pool.map(_encode_in_worker, chunks)
    except BrokenProcessPool as error:
        raise UserError("an encoding process was killed, maybe for lack of memory; use fewer processes", 1) from error
    finally:
        pool.shutdown(cancel_futures=True)


def _chunks(examples: Sequence[Example]) -> list[list[int]]:
    """Divide the numbers of examples, sorted by table, into chunks that keep the examples of a table together."""
    order = sorted(range(len(examples)), key=lambda number: examples[number].table.id)
    chunks: list[list[int]] = []
    for _, numbers in groupby(order, key=lambda number: examples[number].table.id):
        if not chunks or len(chunks[-1]) >= _CHUNK:
            chunks.append([])
        chunks[-1] += numbers
    return chunks


def _encode_chunk(
    examples: list[Example], tokenizer: CellTokenizer, options: EncodingOptions
) -> tuple[pa.RecordBatch, list[ExampleReport]]:
    rows, outcomes = [], []
    for example, encoded in zip(examples, encode(examples, tokenizer, options), strict=True):
        outcomes.append(outcome_of(example, encoded))
        if not isinstance(encoded.outcome, TooLarge):
            rows.append(row_of(example, encoded))
    schema = _schema(options)
    return pa.record_batch([_column(field, rows) for field in schema], schema=schema), outcomes


def _schema(options: EncodingOptions) -> pa.Schema:
    return READING_SCHEMA if options.spans else SCHEMA


def _column(field: pa.Field, rows: list[dict[str, Any]]) -> pa.Array:
    values = [row[field.name] for row in rows]
    if not pa.types.is_list(field.type) or pa.types.is_string(field.type.value_type):
        return pa.array(values, type=field.type)
    kind = field.type.value_type.to_pandas_dtype()  # Arrow copies an array of its own type at once
    return pa.array([np.asarray(value, dtype=kind) for value in values], type=field.type)


_worker: tuple[Sequence[Example], CellTokenizer, EncodingOptions]


def _start_worker(examples: Sequence[Example], tokenizer_folder: Path, options: EncodingOptions) -> None:
    global _worker
    become_worker()
    gc.freeze()  # otherwise each full collection visits all examples, and so copies their memory
    _worker = examples, CellTokenizer(tokenizer_folder), options


def _encode_in_worker(chunk: list[int]) -> tuple[pa.RecordBatch, list[ExampleReport]]:
    examples, tokenizer, options = _worker
    return _encode_chunk([examples[number] for number in chunk], tokenizer, options)
