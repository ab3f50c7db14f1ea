"""Read a corpus for pre-training: tables with the texts around them, from a folder or any address of fsspec.

Every file below the folder with one of these endings is a table, or holds one per line:

- ``.json``: a table of Wikipedia (``title``, ``header``, ``data``, and around it ``section_title``, ``section_text``,
  ``intro``); for a file in ``tables_tok/``, the passages of its links in ``request_tok/`` beside that. Or one of the
  shapes of ``tables.user_json``
- ``.jsonl``: such an object per line, with the optional keys ``passages`` (link -> text) and ``uid`` (its id)
- ``.csv``, ``.tsv``, ``.parquet``, ``.html``, ``.htm``: as ``mate predict`` reads them

A corpus of millions of tables is best kept in a few ``.jsonl`` files.
"""

from __future__ import annotations

import hashlib
import json
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import IO, Any, TypeGuard

import numpy as np
from fsspec import AbstractFileSystem
from fsspec.core import url_to_fs
from fsspec.implementations.local import LocalFileSystem

from mate_cli.system.errors import UserError
from mate_cli.tables.table import Table
from mate_cli.tables.text_files import JsonObject, parse_json, read_json
from mate_cli.tables.user_json import json_table
from mate_cli.tables.user_table import read_table
from mate_cli.tables.wiki_table import parse_passages, parse_table

_ENDINGS = (".json", ".jsonl", ".csv", ".tsv", ".parquet", ".html", ".htm")
_TABLES, _PASSAGES = "tables_tok", "request_tok"
_TEXTS = ("title", "section_title", "section_text", "intro")
_VERSION_KEYS = ("mtime", "ETag", "etag", "LastModified", "last_modified", "updated", "created")
_MAX_LINE = 1 << 26  # bytes
FILES, BYTES = 1000, 16 << 20
"""Size of a portion: files of one table each, or bytes of a file of lines."""

MIN_HELD_OUT = 64
"""Fewer tables are too few to validate with: a small corpus holds out a larger share, but at most half."""


@dataclass(frozen=True, slots=True)
class CorpusTable:
    """A table, the texts around it, and the passages that its cells link to.

    Attributes:
        texts: title, section and introduction, without repeats and empty ones; otherwise the table's title.
        passages: link -> text; a link may have none.
    """

    table: Table
    texts: tuple[str, ...]
    passages: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Broken:
    """A table that cannot be read: its name and the reason."""

    name: str
    reason: str


@dataclass(frozen=True, slots=True)
class Portion:
    """Tables of a corpus that are read in one go.

    Attributes:
        names: files below the corpus's folder, with a table each; or a single file of lines.
        lines: range of bytes in which the lines to read begin; None for other files.
    """

    names: tuple[str, ...]
    lines: tuple[int, int] | None = None


class _UnreachableError(UserError):
    """A file exists but cannot be fetched now; the table is not broken."""


class Corpus:
    """The list of the tables of a folder. It can be sent to another process, which then reads portions of it.

    Args:
        url: a folder, or an address like ``s3://bucket/tables``.

    Raises:
        UserError: the folder does not exist or has no tables, or the address cannot be reached.
    """

    def __init__(self, url: str) -> None:
        self.url = url
        self._fs, self._root, files = _listed(url)
        self._files = {name: info for name, info in files.items() if _may_hold_tables(name)}
        if not self._files:
            raise UserError(
                f"data_dir={url}: no tables among its {len(files):,} files; the names of tables end in "
                f"{', '.join(_ENDINGS)}"
            )

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_files": {}}  # another process gets portions, and needs no list

    @property
    def fingerprint(self) -> str:
        """Hash of names, sizes and modification times (or tags) of the files; their content is not read."""
        facts = [
            [name, info["size"], next((str(info[key]) for key in _VERSION_KEYS if key in info), "")]
            for name, info in self._files.items()
        ]
        return hashlib.sha256(json.dumps(facts).encode()).hexdigest()

    def portions(self, files: int = FILES, line_bytes: int = BYTES) -> list[Portion]:
        """Divide the corpus into portions in the order of the names: always the same for the same files."""
        single = [name for name in self._files if _ending(name) != ".jsonl"]
        portions = [Portion(tuple(single[at : at + files])) for at in range(0, len(single), files)]
        for name in (name for name in self._files if _ending(name) == ".jsonl"):
            size = int(self._files[name]["size"])
            portions += [Portion((name,), (at, min(at + line_bytes, size))) for at in range(0, size, line_bytes)]
        return portions

    def read(self, portion: Portion) -> Iterator[CorpusTable | Broken]:
        """Yield the tables of a portion in order, with ``Broken`` in the place of each that cannot be read.

        Raises:
            UserError: a file of another machine cannot be fetched.
        """
        if portion.lines is not None:
            yield from self._read_lines(portion.names[0], *portion.lines)
            return
        for name in portion.names:
            with self._local(name) as path:
                try:
                    yield _checked(self._read_file(name, path))
                except _UnreachableError:
                    raise
                except UserError as error:
                    yield Broken(name, str(error).replace(str(path), name))

    def _read_file(self, name: str, path: Path) -> CorpusTable:
        content = read_json(path) if _ending(name) == ".json" else None
        if not _is_wikipedia_table(content):
            return _without_texts(read_table(path), str(PurePosixPath(name).with_suffix("")))
        beside = f"/{name}".replace(f"/{_TABLES}/", f"/{_PASSAGES}/").removeprefix("/")
        passages: dict[str, str] = {}
        if beside != name and self._fs.exists(f"{self._root}/{beside}"):
            with self._local(beside) as file:
                passages = parse_passages(JsonObject.of(read_json(file), beside), {})
        return _wikipedia(JsonObject(content, str(path)), PurePosixPath(name).stem, passages)

    def _read_lines(self, name: str, start: int, end: int) -> Iterator[CorpusTable | Broken]:
        """Yield the tables of the lines that begin between two bytes of a file."""
        with _fetching(name), self._fs.open(f"{self._root}/{name}", "rb") as file:
            file.seek(max(start - 1, 0))
            if start:
                _skip_line(file)  # the end of a line that begins before
            while (at := file.tell()) < end:
                line = file.readline(_MAX_LINE)
                if len(line) == _MAX_LINE and not line.endswith(b"\n"):
                    yield Broken(f"{name}:{at}", f"{name}:{at}: a line of more than {_MAX_LINE >> 20} MiB")
                    _skip_line(file)
                elif line := line.strip():
                    yield _parse_line(line, f"{name}:{at}")

    @contextmanager
    def _local(self, name: str) -> Iterator[Path]:
        """Give a local path to a file of the corpus, a temporary copy if it is remote."""
        remote = f"{self._root}/{name}"
        if isinstance(self._fs, LocalFileSystem):
            yield Path(remote)
            return
        with tempfile.TemporaryDirectory(prefix="mate-") as folder:
            path = Path(folder, PurePosixPath(name).name)
            with _fetching(name):
                self._fs.get_file(remote, str(path))
            yield path


def _listed(url: str) -> tuple[AbstractFileSystem, str, dict[str, dict[str, Any]]]:
    """Return the file system of an address, its root there, and the files below it: name -> facts, sorted by name."""
    try:
        fs, root = url_to_fs(url)
        root = root.rstrip("/")
        if not fs.isdir(root):
            raise UserError(f"data_dir={url}: no such folder")
        files = fs.find(root, detail=True)
    except (ImportError, ValueError, OSError) as error:
        reason = " ".join(str(error).split()) or type(error).__name__
        raise UserError(f"data_dir={url}: cannot be listed ({reason})") from error
    return fs, root, {path.removeprefix(root).lstrip("/"): files[path] for path in sorted(files)}


@contextmanager
def _fetching(name: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise _UnreachableError(f"{name}: cannot be fetched ({error}); the same command resumes here", 1) from error


def _ending(name: str) -> str:
    return PurePosixPath(name).suffix.lower()


def _may_hold_tables(name: str) -> bool:
    path = PurePosixPath(name)
    hidden = any(part.startswith(".") for part in path.parts)
    return _ending(name) in _ENDINGS and _PASSAGES not in path.parts and not hidden


def _is_wikipedia_table(content: Any) -> TypeGuard[dict[str, Any]]:
    return isinstance(content, dict) and "data" in content


def _skip_line(file: IO[bytes]) -> None:
    while (part := file.readline(_MAX_LINE)) and not part.endswith(b"\n"):
        pass


def _parse_line(line: bytes, where: str) -> CorpusTable | Broken:
    try:
        content = parse_json(line.decode(), where)
        if not _is_wikipedia_table(content):
            return _checked(_without_texts(json_table(content, Path(where)), where))
        entry = JsonObject(content, where)
        passages = parse_passages(entry.object("passages"), {}) if "passages" in entry else {}
        return _checked(_wikipedia(entry, entry.text("uid") if "uid" in entry else where, passages))
    except UnicodeDecodeError as error:
        return Broken(where, f"{where}: not UTF-8 at byte {error.start} of the line")
    except UserError as error:
        return Broken(where, str(error))


def _wikipedia(content: JsonObject, name: str, passages: Mapping[str, str]) -> CorpusTable:
    texts = (content.text(key).strip() for key in _TEXTS if content.content.get(key) is not None)
    return CorpusTable(parse_table(content, name), tuple(dict.fromkeys(filter(None, texts))), passages)


def _without_texts(table: Table, name: str) -> CorpusTable:
    return CorpusTable(replace(table, id=name), tuple(filter(None, [table.title.strip()])), {})


def _checked(entry: CorpusTable) -> CorpusTable:
    if not (entry.table.header and entry.table.rows):
        raise UserError(f"{entry.table.id}: no rows below the header")
    return entry


def page_hashes(pages: Iterable[str]) -> np.ndarray:
    """Return the first eight bytes of the SHA-256 of each page name, uint64 ``[pages]``."""
    digests = (hashlib.sha256(page.encode()).digest()[:8] for page in pages)
    return np.frombuffer(b"".join(digests), dtype=">u8").astype(np.uint64)


def are_held_out(hashes: np.ndarray, count: int) -> np.ndarray:
    """Choose the tables to validate with: those of the pages with the lowest hashes, bool ``[tables]``.

    Tables of one page share their texts, so all of them are held out or none; the result may exceed ``count``.

    Args:
        hashes: of the page of each table, uint64 ``[tables]``.
        count: tables to hold out, raised to ``MIN_HELD_OUT`` and limited to half of the tables.
    """
    count = min(max(count, MIN_HELD_OUT), len(hashes) // 2)
    if not count:
        return np.zeros(len(hashes), dtype=bool)
    return np.asarray(hashes <= np.partition(hashes, count - 1)[count - 1])
