"""Shards of a corpus: Arrow files of tables as word pieces, with a manifest.

::

    manifest.json      source and vocabulary of the shards; once complete, the tables of each and those held out
    shard-00000.arrow  a record batch with a row per table (``SCHEMA``)
    shard-00000.json   record of the shard, written last: a shard with a record is complete

A folder of shards may be at any address of fsspec. Files appear complete or not at all.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow as pa
from fsspec import AbstractFileSystem
from fsspec.core import url_to_fs
from fsspec.implementations.local import LocalFileSystem

from mate_cli.encoding.table_pieces import TablePieces
from mate_cli.system.errors import UserError, disk_reason
from mate_cli.system.files import LOCK, in_turn, replacing

VERSION = 1  # of the format

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
    """Counts of a shard: tables, their pieces, broken tables, and the first reasons for these."""

    tables: int
    pieces: int
    broken: int
    reasons: tuple[str, ...] = ()


@dataclass(frozen=True)
class Manifest:
    """The content of a folder of shards.

    Attributes:
        source: address of the tables; fingerprint: hash of everything that decides the shards.
        vocabulary: hash of the vocabulary of the pieces.
        shards: number of shards when complete.
        tables: number of tables of each shard, ``[shards]``; held_out: numbers of its tables for validation. Both empty
            until all shards are complete.
        pieces, broken, reasons: sums over the shards, and the first reasons why tables are broken.
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
    version: int = VERSION

    @property
    def is_complete(self) -> bool:
        return len(self.tables) == self.shards


class ShardFolder:
    """A folder of shards.

    Args:
        url: a folder, or any address of fsspec.

    Raises:
        UserError: the address is not valid.
    """

    def __init__(self, url: str) -> None:
        try:
            fs, self._root = url_to_fs(url)
        except (ImportError, ValueError) as error:
            raise UserError(f"{url}: not a valid address ({error})") from error
        self.url, self._is_local = url, isinstance(fs, LocalFileSystem)

    @property
    def _fs(self) -> AbstractFileSystem:
        # The one of a parent process does not work after a fork; fsspec caches one per process.
        return url_to_fs(self.url)[0]

    def manifest(self) -> Manifest | None:
        """Read the manifest; None if there is none.

        Raises:
            UserError: it has another version, or is not a manifest.
        """
        content = self._read_json(_MANIFEST)
        if content is None:
            return None
        try:
            manifest = Manifest(**content)
            held_out = tuple(tuple(rows) for rows in manifest.held_out)
            manifest = replace(manifest, tables=tuple(manifest.tables), held_out=held_out)
        except TypeError as error:
            raise UserError(f"{self.url}/{_MANIFEST}: not the manifest of a corpus; choose another folder") from error
        if manifest.version != VERSION:
            raise UserError(f"{self.url}: shards of version {manifest.version}, expected {VERSION}; {_AGAIN}")
        return manifest

    def write_manifest(self, manifest: Manifest) -> None:
        self._write(_MANIFEST, _json(asdict(manifest)))

    def record(self, number: int) -> ShardRecord | None:
        """Read the record of a shard; None if the shard is missing or incomplete."""
        content = self._read_json(f"{_name(number)}.json")
        return None if content is None else ShardRecord(**content)

    def write(self, number: int, tables: Sequence[TablePieces], record: ShardRecord, vocabulary: str) -> None:
        """Write a shard, then its record."""
        schema = SCHEMA.with_metadata({"vocabulary": vocabulary})
        columns = ([getattr(table, field.name) for table in tables] for field in schema)
        arrays = [pa.array(column, field.type) for column, field in zip(columns, schema, strict=True)]
        batch = pa.record_batch(arrays, schema=schema)
        sink = pa.BufferOutputStream()
        with pa.ipc.new_file(sink, schema) as writer:
            writer.write_batch(batch)
        self._write(f"{_name(number)}.arrow", sink.getvalue().to_pybytes())
        self._write(f"{_name(number)}.json", _json(asdict(record)))

    def read(self, number: int, vocabulary: str, cache: Path | None = None) -> Shard:
        """Read a shard, memory-mapped if possible.

        Args:
            vocabulary: expected hash of its vocabulary.
            cache: folder for copies of remote files; None keeps them in memory.

        Raises:
            UserError: it is missing, broken, or has another vocabulary.
        """
        name = f"{_name(number)}.arrow"
        try:
            with pa.ipc.open_file(self._opened(name, cache)) as file:
                metadata, batch = file.schema.metadata or {}, file.get_batch(0)
        except (OSError, pa.ArrowException) as error:
            reason = str(error).partition("\n")[0]
            raise UserError(
                f"{self.url}/{name} cannot be read ({reason}); remove it with its .json and {_AGAIN}"
            ) from error
        if metadata.get(b"vocabulary", b"").decode() != vocabulary:
            raise UserError(
                f"{self.url}/{name} was made with another vocabulary than the backbone's; set the backbone of "
                "mate prepare, or prepare the tables again"
            )
        return Shard(batch)

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Lock the folder against other processes of this machine."""
        with ExitStack() as held:
            if self._is_local:
                try:
                    held.enter_context(in_turn(Path(self._root, LOCK)))
                except OSError as error:
                    raise self._unwritable(LOCK, error) from error
            yield

    def _opened(self, name: str, cache: Path | None) -> Any:
        """Open a file for Arrow: memory-mapped, if it is local or ``cache`` can hold a copy."""
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
        """Write a file at once: by renaming in a file system, in one request to an object store."""
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
    """The tables of a shard, read one at a time from the file."""

    def __init__(self, batch: pa.RecordBatch) -> None:
        self._batch = batch
        lists = ((name, batch.column(name)) for name in _LISTS)
        self._lists = {name: (column.values.to_numpy(), column.offsets.to_numpy()) for name, column in lists}
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


def _name(number: int) -> str:
    return f"shard-{number:05d}"


def _json(content: dict[str, Any]) -> bytes:
    return (json.dumps(content, ensure_ascii=False) + "\n").encode()
