"""Tables with what is written about them, from a folder or any address that fsspec knows: what pre-training reads.

Every file below the folder whose name ends in one of these is a table, or holds one in each line:

- ``.json``: a table of Wikipedia (``title``, ``header``, ``data``, and around it ``section_title``, ``section_text``,
  ``intro``); where it stands in ``tables_tok/``, the passages of its links in ``request_tok/`` beside that. Or one
  of the shapes of ``tables.user_json``
- ``.jsonl``: such an object in each line, ``passages`` (link -> text) and ``uid`` (its id) among its keys
- ``.csv``, ``.tsv``, ``.parquet``, ``.html``, ``.htm``: as ``mate predict`` reads them

So a corpus of millions of tables is best kept in a few files of lines.
"""

from __future__ import annotations

import hashlib
import json
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import IO, Any, TypeGuard

from fsspec import AbstractFileSystem
from fsspec.core import url_to_fs
from fsspec.implementations.local import LocalFileSystem

from mate_cli.system.errors import UserError
from mate_cli.tables.json_file import JsonObject, parse_json, read_json
from mate_cli.tables.table import Table
from mate_cli.tables.user_json import json_table
from mate_cli.tables.user_table import read_table
from mate_cli.tables.wiki_table import parse_passages, parse_table

_ENDINGS = (".json", ".jsonl", ".csv", ".tsv", ".parquet", ".html", ".htm")
_TABLES, _PASSAGES = "tables_tok", "request_tok"
_TEXTS = ("title", "section_title", "section_text", "intro")
_CHANGED = ("mtime", "ETag", "etag", "LastModified", "last_modified", "updated", "created")
_LONGEST_LINE = 1 << 26  # bytes
FILES, BYTES = 1000, 16 << 20
"""How much a portion holds: files of one table each, or bytes of a file of lines."""


@dataclass(frozen=True, slots=True)
class CorpusTable:
    """A table, what is written around it, and the passages that its cells link to.

    Attributes:
        texts: title, section and introduction, each once, none empty; of a table that stands alone, its title.
        passages: link -> text; a link may have none.
    """

    table: Table
    texts: tuple[str, ...]
    passages: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Broken:
    """A table that cannot be read: where it should be, and why it is not."""

    name: str
    reason: str


@dataclass(frozen=True, slots=True)
class Portion:
    """Tables of a corpus that are read in one go.

    Attributes:
        names: files below the corpus's folder, with a table each; or a single file of lines.
        lines: of a file of lines, its lines that begin at these bytes, first and end; None for other files.
    """

    names: tuple[str, ...]
    lines: tuple[int, int] | None = None


class _UnreachableError(UserError):
    """A file is there, but not to be had now: not the table's fault."""


class Corpus:
    """The tables of a folder, listed but not read; a process that it is sent to can read portions of it.

    Args:
        url: a folder, or an address like ``s3://bucket/tables``.

    Raises:
        UserError: there is no such folder or no table in it, or the address cannot be reached.
    """

    def __init__(self, url: str) -> None:
        self.url = url
        self._fs, self._root, files = _listed(url)
        self._files = {name: info for name, info in files.items() if _may_hold_tables(name)}
        if not self._files:
            raise UserError(
                f"data_dir={url}: no tables among its {len(files):,} files; put tables there that end in "
                f"{', '.join(_ENDINGS)}"
            )

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_files": {}}  # the list stays here: another process is told what to read

    @property
    def fingerprint(self) -> str:
        """A hash of names, sizes and times of change (or tags) of the files; their content is not read."""
        facts = [
            [name, info["size"], next((str(info[key]) for key in _CHANGED if key in info), "")]
            for name, info in self._files.items()
        ]
        return hashlib.sha256(json.dumps(facts).encode()).hexdigest()

    def portions(self, files: int = FILES, line_bytes: int = BYTES) -> list[Portion]:
        """The whole corpus in portions, in the order of the names: always the same for the same files."""
        alone = [name for name in self._files if not name.endswith(".jsonl")]
        found = [Portion(tuple(alone[at : at + files])) for at in range(0, len(alone), files)]
        for name in (name for name in self._files if name.endswith(".jsonl")):
            size = int(self._files[name]["size"])
            found += [Portion((name,), (at, min(at + line_bytes, size))) for at in range(0, size, line_bytes)]
        return found

    def read(self, portion: Portion) -> Iterator[CorpusTable | Broken]:
        """The tables of a portion one after another, and in their places those that are broken.

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
        content = read_json(path) if name.endswith(".json") else None
        if not _is_of_wikipedia(content):
            return _alone(read_table(path), str(PurePosixPath(name).with_suffix("")))
        beside = f"/{name}".replace(f"/{_TABLES}/", f"/{_PASSAGES}/").removeprefix("/")
        passages: dict[str, str] = {}
        if beside != name and self._fs.exists(f"{self._root}/{beside}"):
            with self._local(beside) as file:
                passages = parse_passages(JsonObject.of(read_json(file), beside), {})
        return _wikipedia(JsonObject(content, str(path)), PurePosixPath(name).stem, passages)

    def _read_lines(self, name: str, start: int, end: int) -> Iterator[CorpusTable | Broken]:
        """The tables of the lines that begin within some bytes of a file."""
        with _fetching(name), self._fs.open(f"{self._root}/{name}", "rb") as file:
            file.seek(max(start - 1, 0))
            if start:
                _pass_over(file)  # the end of a line that begins before
            while (at := file.tell()) < end:
                line = file.readline(_LONGEST_LINE)
                if len(line) == _LONGEST_LINE and not line.endswith(b"\n"):
                    yield Broken(f"{name}:{at}", f"{name}:{at}: a line of more than {_LONGEST_LINE >> 20} MiB")
                    _pass_over(file)
                elif line := line.strip():
                    yield _of_line(line, f"{name}:{at}")

    @contextmanager
    def _local(self, name: str) -> Iterator[Path]:
        """A file of the corpus on this machine, as long as it is needed."""
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
    """The file system of an address, its root there, and the files below it: name -> facts, sorted by name."""
    try:
        fs, root = url_to_fs(url)
        root = root.rstrip("/")
        if not fs.isdir(root):
            raise UserError(f"data_dir={url}: there is no such folder")
        found = fs.find(root, detail=True)
    except (ImportError, ValueError, OSError) as error:
        reason = " ".join(str(error).split()) or type(error).__name__
        raise UserError(f"data_dir={url}: cannot be listed ({reason})") from error
    return fs, root, {path.removeprefix(root).lstrip("/"): found[path] for path in sorted(found)}


@contextmanager
def _fetching(name: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise _UnreachableError(
            f"{name}: cannot be fetched ({error}); the same command goes on from here", 1
        ) from error


def _may_hold_tables(name: str) -> bool:
    path = PurePosixPath(name)
    hidden = any(part.startswith(".") for part in path.parts)
    return path.suffix.lower() in _ENDINGS and _PASSAGES not in path.parts and not hidden


def _is_of_wikipedia(content: Any) -> TypeGuard[dict[str, Any]]:
    return isinstance(content, dict) and "data" in content


def _pass_over(file: IO[bytes]) -> None:
    """Go on to where the next line begins."""
    while (part := file.readline(_LONGEST_LINE)) and not part.endswith(b"\n"):
        pass


def _of_line(line: bytes, where: str) -> CorpusTable | Broken:
    try:
        content = parse_json(line.decode(), where)
        if not _is_of_wikipedia(content):
            return _checked(_alone(json_table(content, Path(where)), where))
        held = JsonObject(content, where)
        passages = parse_passages(held.object("passages"), {}) if "passages" in held else {}
        return _checked(_wikipedia(held, held.text("uid") if "uid" in held else where, passages))
    except UnicodeDecodeError as error:
        return Broken(where, f"{where}: not UTF-8 at byte {error.start} of the line")
    except UserError as error:
        return Broken(where, str(error))


def _wikipedia(content: JsonObject, name: str, passages: Mapping[str, str]) -> CorpusTable:
    texts = (content.text(key).strip() for key in _TEXTS if content.content.get(key) is not None)
    return CorpusTable(parse_table(content, name), tuple(dict.fromkeys(filter(None, texts))), passages)


def _alone(table: Table, name: str) -> CorpusTable:
    return CorpusTable(replace(table, id=name), tuple(filter(None, [table.title.strip()])), {})


def _checked(own: CorpusTable) -> CorpusTable:
    if not (own.table.header and own.table.rows):
        raise UserError(f"{own.table.id}: no rows below the header")
    return own
