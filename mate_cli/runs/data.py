"""The data of a training, told from other data by its content: a hash, the same wherever the files lie."""

from __future__ import annotations

import contextlib
import hashlib
import json
from pathlib import Path

from mate_cli.config.paths import PathsConfig, cache_folder
from mate_cli.config.task import TaskConfig
from mate_cli.config.train import TrainConfig
from mate_cli.system.errors import UserError
from mate_cli.system.files import content_hash, write_text
from mate_cli.tables.data_folder import data_folder, mixed_task
from mate_cli.tables.formats import FORMATS

_MANIFEST, _SHARDS = "manifest.json", "shard-*.arrow"
"""Files of a folder of shards (``encoding.shards``); the manifest has a hash of all that decides the shards."""


def data_hash(config: TrainConfig) -> str | None:
    """Return the hash of the data that a configuration names, with mixed examples and history; see ``folder_hash``."""
    task = config.task
    parts = [task_data_hash(task, config.data_dir, config.paths)]
    if task.mixed.format is not None:
        parts.append(task_data_hash(mixed_task(task), task.mixed.data_dir, config.paths))
    if task.qa.history is not None:
        parts.append(content_hash([Path(task.qa.history).expanduser()]))
    known = [part for part in parts if part is not None]
    if len(known) < len(parts):
        return None
    return known[0] if len(known) == 1 else hashlib.sha1(" ".join(known).encode()).hexdigest()


def task_data_hash(task: TaskConfig, data_dir: str | None, paths: PathsConfig) -> str | None:
    """Return ``folder_hash`` of the folder of a task's data, alone; None also where there is no folder."""
    if task.format != "corpus":
        try:
            data_dir = str(data_folder(task, data_dir, paths))
        except UserError:
            return None
    return None if data_dir is None else folder_hash(task.format, data_dir, cache_folder(paths))


def folder_hash(data_format: str, data_dir: str, cache: Path) -> str | None:
    """Return a hash of names and contents of the files that a training learns from and validates on.

    Of a corpus these are all files, of shards their manifest; a corpus at an address is known by the address. The test
    split does not count, for it decides no weights. ``cache`` keeps hashes by the files' sizes and times of change.

    Returns:
        40 hexadecimal digits, or the address; None if the data is not there or broken, as the training will then say.
    """
    if "://" in data_dir:
        return data_dir
    try:
        files = _files(data_format, Path(data_dir).expanduser())
        return _kept_hash(files, cache / "contents") if any(file.is_file() for file in files) else None
    except (UserError, OSError, KeyError):  # KeyError: a format of another version of mate
        return None


def _files(data_format: str, folder: Path) -> list[Path]:
    if data_format != "corpus":
        files = (file for split in ("train", "dev") for file in FORMATS[data_format].split_files(folder, split))
        return list(dict.fromkeys(files))
    if (folder / _MANIFEST).is_file() and any(folder.glob(_SHARDS)):
        return [folder / _MANIFEST]
    return sorted(file for file in folder.rglob("*") if file.is_file() and not file.name.startswith("."))


def _kept_hash(files: list[Path], kept: Path) -> str:
    """Return ``content_hash`` of files, from ``kept`` if they are unchanged since it was computed there."""
    facts = [[str(file.resolve()), *_size_and_time(file)] for file in files]
    note = kept / hashlib.sha256(json.dumps(facts).encode()).hexdigest()[:32]
    if note.is_file():
        return note.read_text(encoding="utf-8")
    value = content_hash(files)
    with contextlib.suppress(OSError):  # a cache that cannot be written costs time, no more
        kept.mkdir(parents=True, exist_ok=True)
        write_text(note, value)
    return value


def _size_and_time(file: Path) -> tuple[int, int]:
    """Return bytes and nanoseconds; -1 if there is no such file."""
    try:
        facts = file.stat()
    except FileNotFoundError:
        return -1, -1
    return facts.st_size, facts.st_mtime_ns
