"""Downloads from a local server that drops, truncates, stalls, lies and redirects; archives that would break out."""

from __future__ import annotations

import hashlib
import stat
import threading
import zipfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from mate_cli.system.errors import UserError
from mate_cli.tables import download
from mate_cli.tables.download import fetch, fetch_release, release_folder, unpack
from mate_cli.tables.formats import FORMATS
from mate_cli.tables.releases import RELEASES, Release, Source
from tests.system.test_files import file_size_limit
from tests.tables.file_server import Server
from tests.tables.releases import zipped, zipped_sqa

CONTENT = bytes(range(256)) * 1000
SOURCE = Source("f.bin", "http://official.invalid/f.bin", hashlib.sha256(CONTENT).hexdigest(), len(CONTENT))


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    monkeypatch.setattr("pooch.core.time.sleep", lambda seconds: None)
    monkeypatch.setattr(download, "_TIMEOUTS", (5.0, 1.0))
    monkeypatch.setattr(download, "RETRIES", 2)
    own = Server(CONTENT)
    yield own
    own.close()


def fetched(server: Server, folder: Path, script: str, source: Source = SOURCE) -> bytes:
    server.script = script.split()
    return fetch(source, folder, server.url, lambda name, size, total: None).read_bytes()


@pytest.mark.parametrize(
    ("script", "ranges"),
    [
        ("whole", [None]),
        ("drop whole", [None, "bytes=98304-"]),
        ("drop drop whole", [None, "bytes=98304-", "bytes=196608-"]),
        ("stall whole", [None, "bytes=49152-"]),
        ("truncate whole", [None, "bytes=128000-"]),
        ("drop busy whole", [None, "bytes=98304-", "bytes=98304-"]),
        ("drop from_the_start", [None, "bytes=98304-"]),
        ("wrong whole", [None, None]),
        ("redirect redirect whole", [None, None, None]),
    ],
)
def test_what_goes_wrong_once_is_got_over(
    server: Server, tmp_path: Path, script: str, ranges: list[str | None]
) -> None:
    assert fetched(server, tmp_path, script) == CONTENT
    assert server.ranges == ranges
    assert [path.name for path in tmp_path.iterdir()] == ["f.bin"]
    assert fetched(server, tmp_path, "gone") == CONTENT  # it is there: nothing is asked for
    assert server.ranges == ranges


@pytest.mark.parametrize(
    ("script", "message", "asked"),
    [
        ("gone", "the server answers 404", 1),
        ("busy", r"cannot be fetched \(.*503", 3),
        ("wrong", r"not the expected file \(.*SHA256 hash", 3),
        ("endless", "larger than the expected 256,000 bytes", 1),
        ("redirect", r"cannot be fetched \(.*Exceeded 30 redirects", 31 * 3),
    ],
)
def test_what_goes_wrong_each_time_says_what_to_put_where(
    server: Server, tmp_path: Path, script: str, message: str, asked: int
) -> None:
    with pytest.raises(UserError, match=message) as error:
        fetched(server, tmp_path, script)
    assert f"save the file from {SOURCE.url} as {tmp_path / 'f.bin'}" in str(error.value)
    assert str(error.value).isprintable()
    assert len(server.ranges) == asked
    assert not (tmp_path / "f.bin").exists()


def test_a_download_goes_on_in_the_next_process(server: Server, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="the same command resumes"):
        fetched(server, tmp_path, "drop busy")
    assert fetched(server, tmp_path, "whole") == CONTENT
    assert server.ranges[-1] == "bytes=98304-"
    (tmp_path / "f.bin").rename(tmp_path / "f.bin.part")  # stopped between the last byte and the check
    assert fetched(server, tmp_path, "gone") == CONTENT


def test_what_is_left_of_another_file_is_not_kept(server: Server, tmp_path: Path) -> None:
    unsized = replace(SOURCE, size=None)
    (tmp_path / "f.bin.part").write_bytes(b"x" * len(CONTENT))
    assert fetched(server, tmp_path, "whole", unsized) == CONTENT
    assert server.ranges == [f"bytes={len(CONTENT)}-", None]


def test_without_a_network_the_file_can_be_put_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pooch.core.time.sleep", lambda seconds: None)
    with pytest.raises(UserError, match=r"cannot be fetched \(.*or save the file from http://official.invalid/f.bin"):
        fetch(SOURCE, tmp_path, "http://127.0.0.1:9", lambda name, size, total: None)
    (tmp_path / "f.bin").write_bytes(CONTENT)
    assert fetch(SOURCE, tmp_path, "http://127.0.0.1:9", lambda name, size, total: None).read_bytes() == CONTENT


def link(name: str) -> zipfile.ZipInfo:
    info = zipfile.ZipInfo(name)
    info.external_attr = (stat.S_IFLNK | 0o777) << 16
    return info


GOOD = zipped(("r/a/x.txt", b"x"), ("r/b.txt", b"b"), ("r/c/y.txt", b"y"), ("other/a/z.txt", b"z"), ("r/ab.txt", b""))


def test_only_what_is_wanted_is_unpacked(tmp_path: Path) -> None:
    (tmp_path / "a.zip").write_bytes(GOOD)
    unpack(tmp_path / "a.zip", tmp_path / "to", "r", ("a", "b.txt"))
    found = {str(p.relative_to(tmp_path / "to")): p.read_bytes() for p in (tmp_path / "to").rglob("*") if p.is_file()}
    assert found == {"a/x.txt": b"x", "b.txt": b"b"}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (zipped(("r/a/x", b"x"), ("r/a/../../../out", b"x")), "leads out of the folder; nothing is unpacked"),
        (zipped(("/r/a/x", b"x")), "leads out of the folder"),
        (zipped(("r/a/..\\..\\out", b"x")), "leads out of the folder"),
        (zipped((link("r/a/x"), b"/etc/passwd")), "is a link"),
        (zipped(("elsewhere/../../out", b"x"), ("r/a/x", b"x")), "leads out of the folder"),
        (zipped(("r/a/x", b"x"), ("r/a/y", b"y")).replace(b"r/a/y", b"r/a/x"), "is in it twice"),
        (zipped(("r/a/x" + "y" * 300, b"x")), "is not a valid file name"),
        (zipped(("r/a/zeros", bytes(2_000_000))), "1 files of 2,000,000 bytes are more than the limit"),
        (zipped(("r/c/x", b"x")), "none of the expected files"),
        (GOOD[:-30], "cannot be unpacked"),
        (GOOD.replace(b"r/a/x.txt", b"r/a/q.txt", 1), "cannot be unpacked"),
        (b"", "cannot be unpacked"),
        (b"PK\x05\x06" + bytes(18), "none of the expected files"),
    ],
)
def test_archives_that_are_refused(tmp_path: Path, content: bytes, message: str) -> None:
    (tmp_path / "in" / "deep").mkdir(parents=True)
    archive = tmp_path / "a.zip"
    archive.write_bytes(content)
    with pytest.raises(UserError, match=message) as error:
        unpack(archive, tmp_path / "in" / "deep" / "to", "r", ("a",), max_bytes=1_000_000)
    assert str(error.value).isprintable()
    outside = [path for path in tmp_path.rglob("*") if path.is_file() and "to" not in path.relative_to(tmp_path).parts]
    assert outside == [archive]


@pytest.fixture
def small_sqa(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> bytes:
    """The archive of a small release in the place of SQA's, and a file beside it that is the same."""
    archive, source = zipped_sqa(tmp_path / "made")
    readme = Source("readme", "http://official.invalid/r", source.sha256, to="more/readme")
    monkeypatch.setitem(RELEASES, "sqa", Release("1.0", "free", (source, readme)))
    return archive


def test_a_release_is_whole_or_not_there(server: Server, tmp_path: Path, small_sqa: bytes) -> None:
    cache, server.content, told = tmp_path / "cache", small_sqa, list[tuple[str, int, int | None]]()
    server.script = ["gone"]
    with pytest.raises(UserError, match="404"):
        fetch_release("sqa", cache, server.url)
    assert not (cache / "data").exists()
    server.script = ["whole"]
    folder = fetch_release("sqa", cache, server.url, lambda *own: told.append(own))
    assert folder == release_folder("sqa", cache)
    assert told[-1] == ("readme", len(small_sqa), len(small_sqa))
    assert (folder / "more" / "readme").read_bytes() == small_sqa
    assert [path.name for path in (cache / "data").iterdir()] == [folder.name]
    assert len(FORMATS["sqa"].read_split(folder, "test").examples) == 4
    assert fetch_release("sqa", cache, "http://127.0.0.1:9") == folder


def test_of_two_that_fetch_a_release_one_waits_for_the_other(server: Server, tmp_path: Path, small_sqa: bytes) -> None:
    server.content, begun, waited = small_sqa, threading.Event(), threading.Event()

    def advance(*_: object) -> None:
        begun.set()
        assert waited.wait(10)

    with ThreadPoolExecutor(1) as pool:
        first = pool.submit(fetch_release, "sqa", tmp_path, server.url, advance)
        assert begun.wait(10)
        second = fetch_release("sqa", tmp_path, server.url, waiting=waited.set)
        assert first.result() == second == release_folder("sqa", tmp_path)
    assert server.ranges == [None, None]  # each of the two files once
    assert sorted(path.name for path in (tmp_path / "downloads").iterdir()) == sorted(
        source.name for source in RELEASES["sqa"].sources
    )


def test_a_cache_that_cannot_be_written(server: Server, tmp_path: Path, small_sqa: bytes) -> None:
    server.content = small_sqa
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match=r"cannot write the data to .*; set paths.cache or MATE_CACHE") as caught:
        fetch_release("sqa", tmp_path / "file" / "cache", server.url)
    assert caught.value.exit_code == 1
    full = r"cannot write the data to .*/cache/data/sqa-.*: a limit on the size of files is reached; raise it"
    with file_size_limit(10), pytest.raises(UserError, match=full):
        fetch_release("sqa", tmp_path / "cache", server.url)


def test_every_official_file_is_pinned() -> None:
    sources = [source for release in RELEASES.values() for source in release.sources]
    assert {name: len(release.sources) for name, release in RELEASES.items()} == {
        "hybridqa": 5,
        "sqa": 1,
        "wtq": 1,
        "tabfact": 1,
    }
    assert len({source.name for source in sources}) == len({source.sha256 for source in sources}) == len(sources)
    for source in sources:
        assert source.url.startswith("https://")
        assert len(bytes.fromhex(source.sha256)) == 32
        assert (source.root is None) == (not source.parts)
