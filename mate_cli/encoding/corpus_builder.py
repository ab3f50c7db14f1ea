"""A corpus of tables to shards, by several processes; killed and started again it goes on and ends the same."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, replace
from itertools import islice
from multiprocessing import get_context
from pathlib import Path

import numpy as np

from mate_cli.encoding.cache import code_hash
from mate_cli.encoding.shards import Manifest, ShardFolder, ShardRecord
from mate_cli.encoding.table_pieces import table_pieces
from mate_cli.encoding.tokenizer import CellTokenizer
from mate_cli.system.errors import UserError
from mate_cli.system.stopping import become_worker
from mate_cli.tables.corpus import BYTES, FILES, Broken, Corpus, CorpusTable, Portion, are_held_out, page_hashes

_CELLS_AT_ONCE = 20_000
_REASONS = 3


@dataclass(frozen=True)
class CorpusOptions:
    """How a corpus becomes shards.

    Attributes:
        held_out: share of the tables for validation (the release's is one in a thousand); at least
            ``corpus.MIN_HELD_OUT``.
        files, line_bytes: how much of the corpus is a shard (``Corpus.portions``).
    """

    held_out: float = 0.001
    files: int = FILES
    line_bytes: int = BYTES


def fingerprint(corpus: Corpus, tokenizer: CellTokenizer, options: CorpusOptions) -> str:
    """A hash of all that decides the shards."""
    parts = repr((corpus.fingerprint, tokenizer.fingerprint, options, code_hash()))
    return hashlib.sha256(parts.encode()).hexdigest()


def build_shards(
    corpus: Corpus,
    folder: ShardFolder,
    tokenizer: CellTokenizer,
    options: CorpusOptions,
    processes: int = 1,
    advance: Callable[[ShardRecord, bool, int], None] = lambda record, is_new, shards: None,
) -> Manifest:
    """Make the shards that are not there yet, each of a portion of the corpus, then the manifest.

    No more than a portion for each process is in memory, however large the corpus.

    Args:
        advance: is told of each shard, whether it was made now or found, and how many there are in all.

    Raises:
        UserError: the folder holds another corpus or cannot be written, no table can be read, or a process was killed.
    """
    portions = corpus.portions(options.files, options.line_bytes)
    if not portions:
        raise UserError(f"{corpus.url}: its files of tables are empty")
    started = Manifest(corpus.url, fingerprint(corpus, tokenizer, options), tokenizer.fingerprint, len(portions))
    present = _finished(folder, started)
    if present is None:
        with folder.alone():  # another process may finish meanwhile
            present = _finished(folder, started)
            if present is None:
                folder.write_manifest(started)
                work = _Work(corpus, folder, tokenizer.folder, tokenizer.fingerprint)
                records = _made(work, portions, processes, advance)
                present = _completed(started, records)
                present = replace(present, held_out=held_out(folder, present, options.held_out))
                folder.write_manifest(present)
    return present


def _finished(folder: ShardFolder, started: Manifest) -> Manifest | None:
    """The manifest of the folder where all shards are there."""
    present = folder.manifest()
    if present is not None and present.fingerprint != started.fingerprint:
        raise UserError(
            f"{folder.url} holds shards of another corpus, or made with another vocabulary, other options or another "
            "version of mate; choose another folder with to=DIR"
        )
    return present if present is not None and present.is_complete else None


def held_out(folder: ShardFolder, manifest: Manifest, share: float) -> tuple[tuple[int, ...], ...]:
    """Which tables of each shard are for validation: those whose page has the lowest hashes.

    Tables of one page share their texts, so they are held out together. A table is always on the same side for the
    same corpus.
    """
    hashes = [page_hashes(folder.read(number, manifest.vocabulary).pages) for number in range(manifest.shards)]
    every = np.concatenate(hashes)
    chosen = np.split(are_held_out(every, round(share * len(every))), np.cumsum([len(own) for own in hashes])[:-1])
    return tuple(tuple(np.flatnonzero(own).tolist()) for own in chosen)


@dataclass(frozen=True)
class _Work:
    """What a process needs to make shards."""

    corpus: Corpus
    folder: ShardFolder
    tokenizer_folder: Path
    vocabulary: str


def _made(
    work: _Work, portions: list[Portion], processes: int, advance: Callable[[ShardRecord, bool, int], None]
) -> list[ShardRecord]:
    """Make the shards that are missing; the record of each, in order."""
    records: dict[int, ShardRecord] = {}
    for number, record, is_new in _records(work, portions, processes):
        records[number] = record
        advance(record, is_new, len(portions))
    return [records[number] for number in range(len(portions))]


def _records(work: _Work, portions: list[Portion], processes: int) -> Iterator[tuple[int, ShardRecord, bool]]:
    """The record of each shard, as they come, and whether it was made now."""
    missing = []
    for number, portion in enumerate(portions):
        record = work.folder.record(number)
        if record is None:
            missing.append((number, portion))
        else:
            yield number, record, False
    if processes <= 1 or len(missing) <= 1:
        maker = _Maker(work)
        made: Iterable[tuple[int, ShardRecord]] = ((number, maker.make(number, own)) for number, own in missing)
    else:
        made = _in_processes(work, missing, processes)
    yield from ((number, record, True) for number, record in made)


def _in_processes(
    work: _Work, missing: Sequence[tuple[int, Portion]], processes: int
) -> Iterator[tuple[int, ShardRecord]]:
    # Not forked: file systems that talk to other machines have threads.
    pool = ProcessPoolExecutor(processes, get_context("spawn"), initializer=_start_worker, initargs=(work,))
    waiting = iter(missing)
    running: set[Future[tuple[int, ShardRecord]]] = set()
    try:
        while True:
            for number, portion in islice(waiting, 2 * processes - len(running)):
                running.add(pool.submit(_make_in_worker, number, portion))
            if not running:
                return
            done, running = wait(running, return_when=FIRST_COMPLETED)
            yield from (future.result() for future in done)
    except BrokenProcessPool as error:
        raise UserError(
            "a process was killed, maybe for lack of memory; the same command with fewer workers goes on", 1
        ) from error
    finally:
        pool.shutdown(cancel_futures=True)


class _Maker:
    def __init__(self, work: _Work) -> None:
        self.work, self.tokenizer = work, CellTokenizer(work.tokenizer_folder)

    def make(self, number: int, portion: Portion) -> ShardRecord:
        """Read a portion, tokenise it, write the shard."""
        tables, broken = [], list[Broken]()
        for some in _groups(self.work.corpus.read(portion)):
            broken += (own for own in some if isinstance(own, Broken))
            tables += table_pieces([own for own in some if isinstance(own, CorpusTable)], self.tokenizer)
        pieces = sum(len(own.text_ids) + len(own.cell_ids) for own in tables)
        record = ShardRecord(len(tables), pieces, len(broken), tuple(own.reason for own in broken[:_REASONS]))
        self.work.folder.write(number, tables, record, self.work.vocabulary)
        return record


def _groups(found: Iterable[CorpusTable | Broken]) -> Iterator[list[CorpusTable | Broken]]:
    """Tables to tokenise at once: as many as have so many cells together."""
    group, cells = list[CorpusTable | Broken](), 0
    for own in found:
        group.append(own)
        if isinstance(own, CorpusTable):
            cells += own.table.num_rows * own.table.num_columns
        if cells >= _CELLS_AT_ONCE:
            yield group
            group, cells = [], 0
    if group:
        yield group


_worker: _Maker


def _start_worker(work: _Work) -> None:
    global _worker
    become_worker()
    _worker = _Maker(work)


def _make_in_worker(number: int, portion: Portion) -> tuple[int, ShardRecord]:
    return number, _worker.make(number, portion)


def _completed(started: Manifest, records: list[ShardRecord]) -> Manifest:
    reasons = tuple(reason for record in records for reason in record.reasons)[:_REASONS]
    tables = tuple(record.tables for record in records)
    broken = sum(record.broken for record in records)
    if not sum(tables):
        first = (
            f"none of {broken} tables can be read; the first: {reasons[0]}" if reasons else "there are no tables in it"
        )
        raise UserError(f"{started.source}: {first}")
    return replace(
        started, tables=tables, pieces=sum(record.pieces for record in records), broken=broken, reasons=reasons
    )
