"""Fetches the official files of a data set, checks them, and unpacks them into the cache.

pooch keeps the files, checks their SHA-256 and tries again; what it lacks is here: a download that was cut off goes on
where it stopped, and one that is larger than it should be stops.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mate_cli.system.errors import UserError, named
from mate_cli.system.files import made_once
from mate_cli.tables.releases import RELEASES, Release, Source
from mate_cli.tables.unpack import unpack

if TYPE_CHECKING:
    import requests

RETRIES = 4
_SECONDS = (10.0, 30.0)  # to connect, and between two pieces of an answer
_MOST_BYTES = 1 << 29  # where the size is not published
_AT_ONCE = 1 << 14

Advance = Callable[[str, int, int | None], None]
"""Is told the name of a file, how many bytes of it are there, and how many there will be, where that is known."""


def release_folder(name: str, cache: Path) -> Path:
    """Where the data set is kept, once it has been fetched."""
    return cache / "data" / f"{name}-{RELEASES[name].revision}"


def fetch_release(
    name: str, cache: Path, mirror: str | None = None, advance: Advance = lambda name, size, total: None
) -> Path:
    """The folder of a data set, fetched where it is not there yet; it is whole, or not there.

    Args:
        name: of ``releases.RELEASES``.
        mirror: address under which the files are by their names, in place of the official ones.

    Raises:
        UserError: a file cannot be had, is not the expected one or cannot be unpacked; the cache cannot be written.
    """
    folder = release_folder(name, cache)
    if folder.is_dir():
        return folder
    release = RELEASES[name]
    try:
        files = {source: fetch(source, cache / "downloads", mirror, advance) for source in release.sources}
        with made_once(folder) as partial:
            if partial is not None:
                _fill(partial, release, files)
    except OSError as error:
        if not folder.is_dir():
            raise UserError(
                f"cannot write the data to {cache}: {error.strerror or error}; set paths.cache or MATE_CACHE to a "
                "folder with space that you may write to",
                1,
            ) from error
    return folder


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
    """A file of a release in a folder, its SHA-256 checked whether it is fetched now or there already.

    Raises:
        UserError: it cannot be had, or is not the expected file.
    """
    import pooch
    import requests

    url = source.url if mirror is None else f"{mirror.rstrip('/')}/{source.name}"
    pooch.get_logger().setLevel("WARNING")
    registry = {source.name: f"sha256:{source.sha256}"}
    keeper = pooch.create(folder, "", registry=registry, urls={source.name: url}, retry_if_failed=RETRIES)
    way_out = f"or put the file that {source.url} names at {folder / source.name}"
    try:
        return Path(keeper.fetch(source.name, downloader=_Resuming(source, advance, way_out)))
    except requests.RequestException as error:
        raise UserError(
            f"{url}: cannot be fetched ({_reason(error)}); the same command goes on from where it stopped, {way_out}", 1
        ) from error
    except ValueError as error:  # pooch's for another SHA-256, ours for another size
        reason = _reason(error)
        raise UserError(f"{url}: not the file that is expected ({reason}); name a mirror, {way_out}", 1) from error


class _Resuming:
    """A downloader for pooch: goes on with what an earlier attempt left beside the file."""

    def __init__(self, source: Source, advance: Advance, way_out: str) -> None:
        self._source, self._advance, self._way_out = source, advance, way_out

    def __call__(self, url: str, output_file: str, pooch: Any) -> None:
        import requests

        part = Path(pooch.abspath, f"{self._source.name}.part")
        have = part.stat().st_size if part.exists() else 0
        if not have or have != self._source.size:
            headers = {"Accept-Encoding": "identity"} | ({"Range": f"bytes={have}-"} if have else {})
            with requests.get(url, headers=headers, stream=True, timeout=_SECONDS) as answer:
                self._check_status(answer, part)
                if have and not _goes_on(answer, have):
                    part.unlink()
                    have = 0
                have = self._write(answer, part, have)
        if self._source.size not in (None, have):
            raise ValueError(f"{have:,} of {self._source.size:,} bytes")
        os.replace(part, output_file)

    def _check_status(self, answer: requests.Response, part: Path) -> None:
        if answer.status_code in (401, 403, 404, 410):  # no use to try again
            raise UserError(f"{answer.url}: the server says {answer.status_code}; name a mirror, {self._way_out}", 1)
        if answer.status_code == 416:
            part.unlink(missing_ok=True)
            raise ValueError("what is there already is of another file; it begins again")
        answer.raise_for_status()

    def _write(self, answer: requests.Response, part: Path, size: int) -> int:
        """Add the answer to the file, which has ``size`` bytes; its size then."""
        most = self._source.size or _MOST_BYTES
        length = answer.headers.get("Content-Length", "")
        total = size + int(length) if length.isdecimal() else self._source.size
        with part.open("ab") as file:
            for piece in answer.iter_content(_AT_ONCE):
                size += len(piece)
                if size > most:
                    file.close()
                    part.unlink()
                    raise UserError(f"{answer.url}: has more than the expected {most:,} bytes; {self._way_out}", 1)
                file.write(piece)
                self._advance(self._source.name, size, total)
        return size


def _goes_on(answer: requests.Response, have: int) -> bool:
    """Whether the answer is what follows the first ``have`` bytes."""
    return answer.status_code == 206 and answer.headers.get("Content-Range", "").startswith(f"bytes {have}-")


def _reason(error: Exception) -> str:
    return named(" ".join(str(error).split()))
