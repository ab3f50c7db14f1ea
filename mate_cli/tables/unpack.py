"""Takes what is wanted out of a zip archive, and nothing out of the folder that it goes to."""

from __future__ import annotations

import shutil
import stat
from collections.abc import Collection, Iterator
from pathlib import Path, PurePosixPath
from zipfile import BadZipFile, ZipFile, ZipInfo

from mate_cli.system.errors import UserError, shown
from mate_cli.tables.split import file_below

_MOST_FILES = 200_000
_MOST_BYTES = 4 << 30


def unpack(archive: Path, folder: Path, root: str, parts: tuple[str, ...], most: int = _MOST_BYTES) -> None:
    """Unpack the files ``parts``, and what is in the folders ``parts``, of the archive's folder ``root``.

    Args:
        most: bytes that they may have together.

    Raises:
        UserError: it is no sound zip archive; a name in it leads out of the folder, is a link, or is there twice; it
            holds too much, or nothing that is wanted; ``folder`` cannot be written.
    """
    try:
        with ZipFile(archive) as file:
            wanted = dict(_wanted(archive, file, root, parts))
            _check_amount(archive, wanted.values(), most)
            for name, info in wanted.items():
                target = file_below(folder, name, str(archive))
                target.parent.mkdir(parents=True, exist_ok=True)
                with file.open(info) as source, target.open("xb") as sink:
                    shutil.copyfileobj(source, sink)  # no more than the archive says, and its CRC is checked
    except (BadZipFile, EOFError, RuntimeError, NotImplementedError, OSError) as error:
        raise UserError(f"{archive}: cannot be unpacked into {folder} ({error})", 1) from error


def _wanted(archive: Path, file: ZipFile, root: str, parts: tuple[str, ...]) -> Iterator[tuple[str, ZipInfo]]:
    """The wanted files by their names below the root; every name of the archive is checked, wanted or not."""
    seen = set()
    for info in file.infolist():
        name = info.filename
        is_link = stat.S_ISLNK(info.external_attr >> 16)
        if is_link or name.startswith("/") or "\\" in name or ".." in PurePosixPath(name).parts:
            trouble = "is a link" if is_link else "leads out of the folder"
            raise UserError(f"{archive}: {shown(name)} in it {trouble}; nothing is unpacked, fetch it again")
        below = name.removeprefix(f"{root}/")
        if below == name or info.is_dir() or not any(below == part or below.startswith(f"{part}/") for part in parts):
            continue
        if below in seen:
            raise UserError(f"{archive}: {shown(name)} is in it twice; nothing is unpacked, fetch it again")
        seen.add(below)
        yield below, info


def _check_amount(archive: Path, wanted: Collection[ZipInfo], most: int) -> None:
    size = sum(info.file_size for info in wanted)
    if size > most or len(wanted) > _MOST_FILES:
        raise UserError(f"{archive}: {len(wanted):,} files of {size:,} bytes in all are more than is unpacked")
    if not wanted:
        raise UserError(f"{archive}: holds none of the files that are wanted; fetch it again")
