"""Convert a corpus of tables to shards, with several processes; after a kill the same command resumes."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, replace
from functools import lru_cache
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
    """Options of the conversion.

    Attributes:
        held_out: share of the tables for validation, as in the release; at least ``corpus.MIN_HELD_OUT`` tables.
        files, line_bytes: size of the portion of the corpus in a shard (``Corpus.portions``).
    """

    held_out: float = 0.001
    files: int = FILES
    line_bytes: int = BYTES


def fingerprint(corpus: Corpus, tokenizer: CellTokenizer, options: CorpusOptions) -> str:
    """Hash everything that decides the shards."""
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
    """Make the missing shards, each of a portion of the corpus, then the manifest; hold one portion per process.

    Args:
        advance: called for each shard with its record, whether it was made now, and the number of all shards.

    Raises:
        UserError: the folder has another corpus or cannot be written, no table can be read, or a process was killed.
    """
    portions = corpus.portions(options.files, options.line_bytes)
    if not portions:
        raise UserError(f"{corpus.url}: all files of tables are empty")
    started = Manifest(corpus.url, fingerprint(corpus, tokenizer, options), tokenizer.fingerprint, len(portions))
    present = _finished(folder, started)
    if present is None:
        with folder.alone():  # another process may finish meanwhile
            present = _finished(folder, started)
            if present is None:
                folder.write_manifest(started)
                records: dict[int, ShardRecord] = {}
                for number, record, is_new in _records(_Work(corpus, folder, tokenizer.folder), portions, processes):
                    records[number] = record
                    advance(record, is_new, len(portions))
                present = _completed(started, [records[number] for number in range(len(portions))])
                present = replace(present, held_out=held_out(folder, present, options.held_out))
                folder.write_manifest(present)
    return present


def _finished(folder: ShardFolder, started: Manifest) -> Manifest | None:
    """Return the manifest of the folder if all shards are complete."""
    present = folder.manifest()
    if present is not None and present.fingerprint != started.fingerprint:
        raise UserError(
            f"{folder.url} has shards of another corpus, vocabulary, options or version of mate; choose another "
            "folder with to=DIR"
        )
    return present if present is not None and present.is_complete else None


def held_out(folder: ShardFolder, manifest: Manifest, share: float) -> tuple[tuple[int, ...], ...]:
    """Choose the tables of each shard for validation (``corpus.are_held_out``), always the same for a corpus."""
    by_shard = [page_hashes(folder.read(number, manifest.vocabulary).pages) for number in range(manifest.shards)]
    hashes = np.concatenate(by_shard)
    is_held_out = are_held_out(hashes, round(share * len(hashes)))
    chosen = np.split(is_held_out, np.cumsum([len(shard) for shard in by_shard])[:-1])
    return tuple(tuple(np.flatnonzero(shard).tolist()) for shard in chosen)


@dataclass(frozen=True)
class _Work:
    """Makes shards; another process that gets it loads the tokenizer again."""

    corpus: Corpus
    folder: ShardFolder
    tokenizer_folder: Path

    def make(self, number: int, portion: Portion) -> tuple[int, ShardRecord]:
        """Read a portion, tokenize it and write the shard; return its number and record."""
        tokenizer = _tokenizer(self.tokenizer_folder)
        tables, broken = [], list[Broken]()
        for group in _groups(self.corpus.read(portion)):
            broken += (entry for entry in group if isinstance(entry, Broken))
            tables += table_pieces([entry for entry in group if isinstance(entry, CorpusTable)], tokenizer)
        pieces = sum(len(table.text_ids) + len(table.cell_ids) for table in tables)
        record = ShardRecord(len(tables), pieces, len(broken), tuple(entry.reason for entry in broken[:_REASONS]))
        self.folder.write(number, tables, record, tokenizer.fingerprint)
        return number, record


@lru_cache(maxsize=1)
def _tokenizer(folder: Path) -> CellTokenizer:
    return CellTokenizer(folder)


def _records(work: _Work, portions: list[Portion], processes: int) -> Iterator[tuple[int, ShardRecord, bool]]:
    """Make the missing shards; yield each number and record, in any order, and whether the shard was made now."""
    missing = []
    for number, portion in enumerate(portions):
        record = work.folder.record(number)
        if record is None:
            missing.append((number, portion))
        else:
            yield number, record, False
    if processes <= 1 or len(missing) <= 1:
        made: Iterable[tuple[int, ShardRecord]] = (work.make(number, portion) for number, portion in missing)
    else:
        made = _in_processes(work, missing, processes)
    yield from ((number, record, True) for number, record in made)


def _in_processes(
    work: _Work, missing: Sequence[tuple[int, Portion]], processes: int
) -> Iterator[tuple[int, ShardRecord]]:
    # Not forked: file systems that talk to other machines have threads.
    pool = ProcessPoolExecutor(processes, get_context("spawn"), initializer=become_worker)
    try:
        yield from (future.result() for future in as_completed([pool.submit(work.make, *part) for part in missing]))
    except BrokenProcessPool as error:
        raise UserError(
            "a process was killed, maybe for lack of memory; the same command with fewer workers resumes", 1
        ) from error
    finally:
        pool.shutdown(cancel_futures=True)


def _groups(entries: Iterable[CorpusTable | Broken]) -> Iterator[list[CorpusTable | Broken]]:
    """Group tables to tokenize at once, by their number of cells."""
    group, cells = list[CorpusTable | Broken](), 0
    for entry in entries:
        group.append(entry)
        if isinstance(entry, CorpusTable):
            cells += entry.table.num_rows * entry.table.num_columns
        if cells >= _CELLS_AT_ONCE:
            yield group
            group, cells = [], 0
    if group:
        yield group


def _completed(started: Manifest, records: list[ShardRecord]) -> Manifest:
    reasons = tuple(reason for record in records for reason in record.reasons)[:_REASONS]
    tables = tuple(record.tables for record in records)
    broken = sum(record.broken for record in records)
    if not sum(tables):
        problem = f"none of {broken} tables can be read; the first: {reasons[0]}" if reasons else "no tables in it"
        raise UserError(f"{started.source}: {problem}")
    pieces = sum(record.pieces for record in records)
    return replace(started, tables=tables, pieces=pieces, broken=broken, reasons=reasons)
