"""Files and folders that are there whole or not at all, and locks that end with the process that holds them."""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import re
import shutil
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from uuid import uuid4

from filelock import BaseFileLock, FileLock, Timeout

from mate_cli.system.errors import TRY_AGAIN, UserError, disk_reason
from mate_cli.system.stopping import has_ended

LOCK = ".lock"
"""The file in a folder by which one process keeps it to itself."""

_PATIENCE = 10.0  # seconds for the processes of a killed run to end
_PART = 1 << 20  # bytes of a file that are hashed at once


def write_text(path: Path, text: str) -> None:
    """Write a file so that no other process sees half of it.

    Raises:
        OSError: it cannot be written; nothing is left of the attempt, and what was there stays.
    """
    with replacing(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def append_text(path: Path, text: str) -> None:
    """Append to a file, or make it.

    Raises:
        OSError: it cannot be written; it is as it was, and not there if it was not.
    """
    size = path.stat().st_size if path.exists() else None
    try:
        with path.open("a", encoding="utf-8", newline="") as file:
            file.write(text)
    except OSError:
        with suppress(OSError):  # nothing can be taken back from a device
            if size is None:
                path.unlink(missing_ok=True)
            else:
                os.truncate(path, size)
        raise


def write_json(path: Path, value: Mapping[str, Any]) -> None:
    write_text(path, json.dumps(value, indent=2, ensure_ascii=False) + "\n")


def write_json_lines(path: Path, values: Iterable[Mapping[str, Any]]) -> None:
    """One object a line."""
    write_text(path, "".join(json.dumps(value, ensure_ascii=False) + "\n" for value in values))


def read_json_lines(path: Path) -> list[dict[str, Any]]:
    """Read one object from each line of a file, which may be packed by gzip (``.gz``).

    Raises:
        OSError, ValueError: the file cannot be read, or is something else.
    """
    packed = path.suffix == ".gz"
    try:
        with gzip.open(path, "rt", encoding="utf-8") if packed else path.open(encoding="utf-8") as file:
            values = [json.loads(line) for line in file]  # str.splitlines would also cut inside of texts, at U+2028
    except (EOFError, zlib.error) as error:
        raise gzip.BadGzipFile(str(error)) from error
    if not all(isinstance(value, dict) for value in values):
        raise ValueError("a line is no object")
    return values


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A file beside ``path`` to write, which then takes its place; what killed processes left of it is removed."""
    remove_leftovers(path)
    temporary = temporary_of(path)
    try:
        yield temporary
        os.replace(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def temporary_of(path: Path) -> Path:
    """The name, hidden and of this process, under which a file or folder is made before it gets its own."""
    return path.with_name(f".{path.name}.{os.getpid()}.tmp")


def remove_leftovers(path: Path) -> None:
    """Remove what processes that have ended left of a file or folder; nothing else in a folder that may be a user's."""
    left = re.compile(re.escape(f".{path.name}.") + r"(\d+)\.tmp")
    for beside in path.parent.iterdir() if path.parent.is_dir() else ():
        match = left.fullmatch(beside.name)
        if match is not None and has_ended(int(match[1])):
            remove(beside)


def remove(path: Path) -> None:
    """Remove a file, or a folder with all that is in it; it may be gone already."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)


def hold(folder: Path) -> BaseFileLock:
    """Keep a folder to this process, until the lock is released or the process ends, however it ends.

    Raises:
        UserError: another process holds it.
    """
    lock = FileLock(folder / LOCK, timeout=_PATIENCE)
    try:
        lock.acquire()
    except Timeout as error:
        raise UserError(
            f"{folder} is in use by another process: wait until that has ended, or name another folder", TRY_AGAIN
        ) from error
    return lock


@contextmanager
def in_turn(file: Path, waiting: Callable[[], None] = lambda: None) -> Iterator[None]:
    """One process after the other; ``file`` is the lock, and ``waiting`` is called where another one is first."""
    file.parent.mkdir(parents=True, exist_ok=True)
    lock = FileLock(file)
    try:
        lock.acquire(timeout=0.5)
    except Timeout:
        waiting()
        lock.acquire()
    try:
        yield
    finally:
        lock.release()


@contextmanager
def made_once(folder: Path, waiting: Callable[[], None] = lambda: None) -> Iterator[Path | None]:
    """A new folder to fill, which takes the name ``folder`` at the end; None where another process has just made it.

    What killed processes left of it is removed.

    Raises:
        OSError: it cannot be written; nothing is left of the attempt.
    """
    with in_turn(folder.parent.parent / "locks" / f"{folder.parent.name}-{folder.name}.lock", waiting):
        if folder.is_dir():
            yield None
            return
        for leftover in folder.parent.glob(f"{folder.name}.*.partial"):  # nobody makes one now
            remove(leftover)
        partial = folder.with_name(f"{folder.name}.{uuid4().hex[:8]}.partial")
        try:
            partial.mkdir(parents=True)
            yield partial
            partial.rename(folder)
        finally:
            shutil.rmtree(partial, ignore_errors=True)


@contextmanager
def writing_cache(what: str, folder: Path) -> Iterator[None]:
    """Turn errors in writing ``what`` to a folder of the cache into a ``UserError``.

    Raises:
        UserError: it cannot be written.
    """
    try:
        yield
    except OSError as error:
        raise UserError(
            f"cannot write {what} to {folder}: {disk_reason(error)}; set paths.cache or MATE_CACHE to a folder with "
            "space that you may write to",
            exit_code=1,
        ) from error


def content_hash(files: Iterable[Path]) -> str:
    """A hash of the names and bytes of files; a file that is missing counts as missing.

    Raises:
        UserError: a file cannot be read.
    """
    digest = hashlib.blake2b(digest_size=20)
    for file in files:
        try:
            for part in _hashed(file):
                digest.update(part)
        except OSError as error:
            raise UserError(f"cannot read {file}: {error.strerror}") from error
    return digest.hexdigest()


def _hashed(path: Path) -> Iterator[bytes]:
    """Yield what is hashed of a file: its name and size, then its bytes, part by part, as it may have gigabytes."""
    if not path.is_file():
        yield os.fsencode(f"{path.name}\0missing\0")
        return
    with path.open("rb") as file:
        yield os.fsencode(f"{path.name}\0{os.fstat(file.fileno()).st_size}\0")
        while part := file.read(_PART):
            yield part


def weight_files(folder: Path) -> list[Path]:
    """List the files with a model's tensors: safetensors, else PyTorch's, else the index of TensorFlow's."""
    kinds = ("model*.safetensors", "pytorch_model*.bin", "*.index")
    return next((files for kind in kinds if (files := sorted(folder.glob(kind)))), [])
