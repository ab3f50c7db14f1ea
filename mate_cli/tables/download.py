"""Fetch the official files of a data set, check them, and unpack them into the cache.

pooch keeps the files, checks their SHA-256 and retries. Added here: an interrupted download resumes, and one that is
larger than expected stops.
"""

from __future__ import annotations

import json
import os
import shutil
import stat
from collections.abc import Callable, Collection, Iterator
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any
from zipfile import BadZipFile, ZipFile, ZipInfo

from mate_cli.system.errors import UserError, named, shown
from mate_cli.system.files import in_turn, made_once, writing_cache
from mate_cli.tables.releases import RELEASES, Release, Source
from mate_cli.tables.split import file_below

if TYPE_CHECKING:
    import requests

RETRIES = 4
_TIMEOUTS = (10.0, 30.0)  # seconds to connect, and between two chunks
_MAX_DOWNLOAD = 1 << 29  # bytes, where the size is not published
_CHUNK_BYTES = 1 << 14
_MAX_FILES = 200_000
_MAX_UNPACKED = 4 << 30

Advance = Callable[[str, int, int | None], None]
"""Progress callback: name of a file, bytes fetched so far, bytes in all (None if unknown)."""


def release_folder(name: str, cache: Path) -> Path:
    """Return the folder that a fetched data set is kept in."""
    return cache / "data" / f"{name}-{RELEASES[name].revision}"


def fetch_release(
    name: str,
    cache: Path,
    mirror: str | None = None,
    advance: Advance = lambda name, size, total: None,
    waiting: Callable[[], None] = lambda: None,
) -> Path:
    """Return the folder of a data set; fetch it if it is not there yet. The folder is complete or absent.

    Args:
        name: key of ``releases.RELEASES``.
        mirror: address below which the files have their names, instead of the official addresses.
        waiting: called where another process fetches the same data set, before its end is waited for.

    Raises:
        UserError: a file cannot be fetched, has another hash or cannot be unpacked; the cache cannot be written.
    """
    folder = release_folder(name, cache)
    if folder.is_dir():
        return folder
    lock = cache / "locks" / f"fetch-{folder.name}.lock"
    with writing_cache("the data", folder), in_turn(lock, waiting):  # all resume the same partial files
        if not folder.is_dir():
            _make(folder, RELEASES[name], lambda source: fetch(source, cache / "downloads", mirror, advance))
    return folder


def _make(folder: Path, release: Release, fetch: Callable[[Source], Path]) -> None:
    files = {source: fetch(source) for source in release.sources}
    with made_once(folder) as partial:
        if partial is not None:
            _fill(partial, release, files)


def _fill(folder: Path, release: Release, files: dict[Source, Path]) -> None:
    for source, file in files.items():
        if source.root is not None:
            unpack(file, folder / source.to, source.root, source.parts)
        else:
            (folder / source.to).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(file, folder / source.to)
    facts = {"licence": release.licence, "files": {source.url: source.sha256 for source in files}}
    (folder / "provenance.json").write_text(json.dumps(facts, indent=2) + "\n", encoding="utf-8")


def fetch(source: Source, folder: Path, mirror: str | None, advance: Advance) -> Path:
    """Return a file of a release in ``folder``; fetch it if absent, and check its SHA-256 in any case.

    Raises:
        UserError: it cannot be fetched, or has another hash.
    """
    import pooch
    import requests

    url = source.url if mirror is None else f"{mirror.rstrip('/')}/{source.name}"
    pooch.get_logger().setLevel("WARNING")
    registry = {source.name: f"sha256:{source.sha256}"}
    keeper = pooch.create(folder, "", registry=registry, urls={source.name: url}, retry_if_failed=RETRIES)
    remedy = f"or save the file from {source.url} as {folder / source.name}"
    try:
        return Path(keeper.fetch(source.name, downloader=_ResumingDownloader(source, advance, remedy)))
    except requests.RequestException as error:
        raise UserError(
            f"{url}: cannot be fetched ({_reason(error)}); the same command resumes the download, {remedy}", 1
        ) from error
    except ValueError as error:  # pooch's for another SHA-256, ours for another size
        raise UserError(f"{url}: not the expected file ({_reason(error)}); set a mirror, {remedy}", 1) from error


class _ResumingDownloader:
    """Downloader for pooch that resumes from the partial file of an earlier attempt."""

    def __init__(self, source: Source, advance: Advance, remedy: str) -> None:
        self._source, self._advance, self._remedy = source, advance, remedy

    def __call__(self, url: str, output_file: str, pooch: Any) -> None:
        import requests

        part = Path(pooch.abspath, f"{self._source.name}.part")
        have = part.stat().st_size if part.exists() else 0
        if not have or have != self._source.size:
            headers = {"Accept-Encoding": "identity"} | ({"Range": f"bytes={have}-"} if have else {})
            with requests.get(url, headers=headers, stream=True, timeout=_TIMEOUTS) as answer:
                self._check_status(answer, part)
                resumes = answer.status_code == 206
                if have and not (resumes and answer.headers.get("Content-Range", "").startswith(f"bytes {have}-")):
                    part.unlink()
                    have = 0
                have = self._write(answer, part, have)
        if self._source.size not in (None, have):
            raise ValueError(f"{have:,} of {self._source.size:,} bytes")
        os.replace(part, output_file)

    def _check_status(self, answer: requests.Response, part: Path) -> None:
        if answer.status_code in (401, 403, 404, 410):  # no use to retry
            raise UserError(f"{answer.url}: the server answers {answer.status_code}; set a mirror, {self._remedy}", 1)
        if answer.status_code == 416:
            part.unlink(missing_ok=True)
            raise ValueError("the partial file is of another file; the download starts again")
        answer.raise_for_status()

    def _write(self, answer: requests.Response, part: Path, size: int) -> int:
        """Append the answer to the partial file of ``size`` bytes; return its new size."""
        limit = self._source.size or _MAX_DOWNLOAD
        length = answer.headers.get("Content-Length", "")
        total = size + int(length) if length.isdecimal() else self._source.size
        with part.open("ab") as file:
            for chunk in answer.iter_content(_CHUNK_BYTES):
                size += len(chunk)
                if size > limit:
                    file.close()
                    part.unlink()
                    raise UserError(f"{answer.url}: larger than the expected {limit:,} bytes; {self._remedy}", 1)
                file.write(chunk)
                self._advance(self._source.name, size, total)
        return size


def _reason(error: Exception) -> str:
    return named(" ".join(str(error).split()))


def unpack(archive: Path, folder: Path, root: str, parts: tuple[str, ...], max_bytes: int = _MAX_UNPACKED) -> None:
    """Unpack the files and folders ``parts`` of the archive's folder ``root``; nothing leaves ``folder``.

    Args:
        max_bytes: limit of their total size.

    Raises:
        UserError: not a sound zip archive; a name in it leads out of the folder, is a link, or is repeated; it is too
            large, or has none of the parts; ``folder`` cannot be written.
    """
    try:
        with ZipFile(archive) as file:
            members = dict(_members(archive, file, root, parts))
            _check_amount(archive, members.values(), max_bytes)
            for name, info in members.items():
                target = file_below(folder, name, str(archive))
                target.parent.mkdir(parents=True, exist_ok=True)
                with file.open(info) as source, target.open("xb") as sink:
                    shutil.copyfileobj(source, sink)  # no more than the archive says, and its CRC is checked
    except (BadZipFile, EOFError, RuntimeError, NotImplementedError, OSError) as error:
        raise UserError(f"{archive}: cannot be unpacked into {folder} ({error})", 1) from error


def _members(archive: Path, file: ZipFile, root: str, parts: tuple[str, ...]) -> Iterator[tuple[str, ZipInfo]]:
    """Yield the files to unpack by their names below the root; check every name of the archive."""
    seen = set()
    for info in file.infolist():
        name = info.filename
        is_link = stat.S_ISLNK(info.external_attr >> 16)
        if is_link or name.startswith("/") or "\\" in name or ".." in PurePosixPath(name).parts:
            problem = "is a link" if is_link else "leads out of the folder"
            raise UserError(f"{archive}: {shown(name)} in it {problem}; nothing is unpacked, fetch it again")
        below = name.removeprefix(f"{root}/")
        if below == name or info.is_dir() or not any(below == part or below.startswith(f"{part}/") for part in parts):
            continue
        if below in seen:
            raise UserError(f"{archive}: {shown(name)} is in it twice; nothing is unpacked, fetch it again")
        seen.add(below)
        yield below, info


def _check_amount(archive: Path, members: Collection[ZipInfo], max_bytes: int) -> None:
    size = sum(info.file_size for info in members)
    if size > max_bytes or len(members) > _MAX_FILES:
        raise UserError(f"{archive}: {len(members):,} files of {size:,} bytes are more than the limit for unpacking")
    if not members:
        raise UserError(f"{archive}: has none of the expected files; fetch it again")
