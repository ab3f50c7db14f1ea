"""Shards of a corpus: Arrow files of tables in word pieces, and the manifest that says what they are.

::

    manifest.json      what the shards are made of and with; once all are there, how many tables each has and holds out
    shard-00000.arrow  a record batch with a row for each table, as ``SCHEMA``
    shard-00000.json   what became of the tables of the shard; written after it, so what has one is whole

A folder of shards may be anywhere that fsspec reaches. What is written appears whole or not at all.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from fsspec import AbstractFileSystem
from fsspec.core import url_to_fs
from fsspec.implementations.local import LocalFileSystem

from mate_cli.encoding.table_pieces import TablePieces
from mate_cli.system.errors import UserError, disk_reason
from mate_cli.system.files import LOCK, in_turn, remove_leftovers, replacing

VERSION = 1
"""Of the format."""

_MANIFEST = "manifest.json"
_LISTS = ("text_ids", "text_ends", "cell_ids", "cell_ends", "column_rank", "inv_column_rank")
_AGAIN = "run mate prepare task=mlm again"

SCHEMA = pa.schema(
    [
        ("id", pa.string()),
        ("page", pa.string()),
        ("columns", pa.int32()),
        *((name, pa.list_(pa.int32())) for name in _LISTS),
    ]
)
"""The columns of a shard: the fields of ``TablePieces``."""


@dataclass(frozen=True)
class ShardRecord:
    """What became of the tables of a shard: how many are there, how many were broken, and the first reasons."""

    tables: int
    pieces: int
    broken: int
    reasons: tuple[str, ...] = ()


@dataclass(frozen=True)
class Manifest:
    """What a folder of shards holds.

    Attributes:
        source: where the tables came from, in words; fingerprint: hash of all that decides the shards.
        vocabulary: hash of the vocabulary of the pieces.
        shards: how many there are to be.
        tables: of each shard, ``[shards]``; held_out: the numbers of its tables that are for validation. Both empty
            until all shards are there.
        pieces, broken, reasons: sums over the shards, and the first reasons why tables could not be read.
    """

    source: str
    fingerprint: str
    vocabulary: str
    shards: int
    tables: tuple[int, ...] = ()
    held_out: tuple[tuple[int, ...], ...] = ()
    pieces: int = 0
    broken: int = 0
    reasons: tuple[str, ...] = ()
    version: int = field(default=VERSION)

    @property
    def is_complete(self) -> bool:
        return len(self.tables) == self.shards


class ShardFolder:
    """A folder of shards, anywhere.

    Args:
        url: a folder or an address.

    Raises:
        UserError: the address cannot be understood.
    """

    def __init__(self, url: str) -> None:
        try:
            fs, self._root = url_to_fs(url)
        except (ImportError, ValueError) as error:
            raise UserError(f"{url}: no address that can be reached ({error})") from error
        self.url, self._is_local = url, isinstance(fs, LocalFileSystem)

    @property
    def _fs(self) -> AbstractFileSystem:
        # That of another process, from which this one was forked, would not work; fsspec keeps one for each.
        return url_to_fs(self.url)[0]

    def manifest(self) -> Manifest | None:
        """The manifest; None where there is none.

        Raises:
            UserError: it is of another version, or no manifest.
        """
        content = self._read_json(_MANIFEST)
        if content is None:
            return None
        try:
            own = Manifest(**content)
            held_out = tuple(tuple(rows) for rows in own.held_out)
            own = Manifest(**{**asdict(own), "tables": tuple(own.tables), "held_out": held_out})
        except TypeError as error:
            raise UserError(f"{self.url}/{_MANIFEST} is no manifest of a corpus; choose another folder") from error
        if own.version != VERSION:
            raise UserError(f"{self.url} holds shards of version {own.version}, and this is {VERSION}; {_AGAIN}")
        return own

    def write_manifest(self, manifest: Manifest) -> None:
        self._write(_MANIFEST, _json(asdict(manifest)))

    def record(self, number: int) -> ShardRecord | None:
        """What became of the tables of a shard; None where it is not there, or not whole."""
        content = self._read_json(f"{_name(number)}.json")
        return None if content is None else ShardRecord(**content)

    def write(self, number: int, tables: Sequence[TablePieces], record: ShardRecord, vocabulary: str) -> None:
        """Write a shard, then its record."""
        schema = SCHEMA.with_metadata({"vocabulary": vocabulary})
        batch = pa.record_batch([_column(name, tables) for name in schema.names], schema=schema)
        sink = pa.BufferOutputStream()
        with pa.ipc.new_file(sink, schema) as writer:
            writer.write_batch(batch)
        self._write(f"{_name(number)}.arrow", sink.getvalue().to_pybytes())
        self._write(f"{_name(number)}.json", _json(asdict(record)))

    def read(self, number: int, vocabulary: str, cache: Path | None = None) -> Shard:
        """A shard, memory-mapped where it can be.

        Args:
            vocabulary: hash of the vocabulary that its pieces must be of.
            cache: where the files of another machine are kept; None: in memory.

        Raises:
            UserError: it is not there, broken, or of another vocabulary.
        """
        name = f"{_name(number)}.arrow"
        try:
            with pa.ipc.open_file(self._opened(name, cache)) as file:
                found, batch = (file.schema.metadata or {}).get(b"vocabulary", b"").decode(), file.get_batch(0)
        except (OSError, pa.ArrowException) as error:
            reason = str(error).partition("\n")[0]
            raise UserError(
                f"{self.url}/{name} cannot be read ({reason}); remove it with its .json and {_AGAIN}"
            ) from error
        if found != vocabulary:
            raise UserError(
                f"{self.url}/{name} was made with another vocabulary than the backbone's; name the backbone of "
                "mate prepare, or prepare the tables anew"
            )
        return Shard(batch)

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Keep other processes of this machine from making the same shards; what killed ones left half is removed."""
        with ExitStack() as held:
            if self._is_local:
                try:
                    held.enter_context(in_turn(Path(self._root, LOCK)))
                    remove_leftovers(Path(self._root), ".*.tmp")
                except OSError as error:
                    raise self._unwritable(LOCK, error) from error
            yield

    def _opened(self, name: str, cache: Path | None) -> Any:
        """A file as Arrow reads it: memory-mapped where it is on this machine, or can be kept there."""
        if self._is_local:
            return pa.memory_map(str(Path(self._root, name)))
        if cache is None:
            return pa.BufferReader(self._fs.cat_file(f"{self._root}/{name}"))
        path = cache / name
        if not path.exists():
            cache.mkdir(parents=True, exist_ok=True)
            with replacing(path) as temporary:
                self._fs.get_file(f"{self._root}/{name}", str(temporary))
        return pa.memory_map(str(path))

    def _read_json(self, name: str) -> dict[str, Any] | None:
        try:
            return dict(json.loads(self._fs.cat_file(f"{self._root}/{name}")))
        except FileNotFoundError:
            return None
        except (OSError, ValueError, TypeError) as error:
            raise UserError(f"{self.url}/{name} cannot be read ({error}); remove it and {_AGAIN}") from error

    def _write(self, name: str, content: bytes) -> None:
        """So that no other process sees half of it: renamed in a file system, put in one go in a store of objects."""
        try:
            if not self._is_local:
                self._fs.pipe_file(f"{self._root}/{name}", content)
                return
            path = Path(self._root, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            with replacing(path) as temporary:
                temporary.write_bytes(content)
        except OSError as error:
            raise self._unwritable(name, error) from error

    def _unwritable(self, name: str, error: OSError) -> UserError:
        return UserError(
            f"cannot write {self.url}/{name} ({disk_reason(error)}); choose another folder with to=DIR", exit_code=1
        )


class Shard:
    """The tables of a shard, read one at a time out of the file."""

    def __init__(self, batch: pa.RecordBatch) -> None:
        self._batch = batch
        self._lists = {name: _list_parts(batch.column(name)) for name in _LISTS}
        self._columns = batch.column("columns").to_numpy()

    def __len__(self) -> int:
        return int(self._batch.num_rows)

    def __getitem__(self, number: int) -> TablePieces:
        lists = {name: values[ends[number] : ends[number + 1]] for name, (values, ends) in self._lists.items()}
        name, page = (str(self._batch.column(key)[number].as_py()) for key in ("id", "page"))
        return TablePieces(id=name, page=page, columns=int(self._columns[number]), **lists)

    @property
    def pages(self) -> list[str]:
        """The page of each table."""
        return list(self._batch.column("page").to_pylist())


def _list_parts(column: pa.ListArray) -> tuple[np.ndarray, np.ndarray]:
    return column.values.to_numpy(), column.offsets.to_numpy()


def _column(name: str, tables: Sequence[TablePieces]) -> pa.Array:
    values = [getattr(own, name) for own in tables]
    if name not in _LISTS:
        return pa.array(values, type=SCHEMA.field(name).type)
    ends = np.cumsum([0, *map(len, values)], dtype=np.int32)
    flat = np.concatenate([np.zeros(0, dtype=np.int32), *values])
    return pa.ListArray.from_arrays(pa.array(ends), pa.array(flat), type=SCHEMA.field(name).type)


def _name(number: int) -> str:
    return f"shard-{number:05d}"


def _json(content: dict[str, Any]) -> bytes:
    return (json.dumps(content, ensure_ascii=False) + "\n").encode()
