"""Shards of a corpus: made once, the same however they are made, refused where they are not what they should be."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import fsspec
import numpy as np
import pytest

from mate_cli.encoding import corpus_builder
from mate_cli.encoding.corpus_builder import CorpusOptions, build_shards
from mate_cli.encoding.masked_example import MaskingOptions
from mate_cli.encoding.masked_rows import HeldOut, MaskedStream, PassOrder, ShardedCorpus
from mate_cli.encoding.shards import Manifest, ShardFolder, ShardRecord
from mate_cli.encoding.table_pieces import table_pieces
from mate_cli.encoding.tokenizer import CellTokenizer
from mate_cli.system.errors import UserError
from mate_cli.system.files import LOCK
from mate_cli.tables.corpus import Corpus, CorpusTable, page_hashes
from tests.encoding.conftest import die
from tests.system.test_files import file_size_limit

SMALL = CorpusOptions(files=7)
TABLES = 40


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Forty tables of a page of their own, and one that is broken."""
    folder = tmp_path_factory.mktemp("tables")
    for number in range(TABLES):
        rows = "".join(f"king,{19 * row}\n" for row in range(1 + number % 5))
        (folder / f"{number:02d} city.csv").write_text(f"who,where\n{rows}")
    (folder / "broken.csv").write_text("a,b\nc\n")
    return folder


@pytest.fixture
def built(tables: Path, tmp_path: Path, tokenizer: CellTokenizer) -> ShardFolder:
    folder = ShardFolder(str(tmp_path / "shards"))
    build_shards(Corpus(str(tables)), folder, tokenizer, SMALL)
    return folder


def _content(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.name != LOCK}


def _opened(folder: ShardFolder, vocabulary: Path, tmp_path: Path) -> ShardedCorpus:
    return ShardedCorpus(folder.url, vocabulary, tmp_path / "cache")


def test_shards_keep_the_pieces_of_every_table(built: ShardFolder, tables: Path, tokenizer: CellTokenizer) -> None:
    manifest = built.manifest()
    assert manifest is not None
    assert (sum(manifest.tables), manifest.broken, manifest.shards) == (TABLES, 1, 6)
    assert "broken.csv: line 2" in manifest.reasons[0]
    corpus = Corpus(str(tables))
    for number, portion in enumerate(corpus.portions(files=7)):
        own = [table for table in corpus.read(portion) if isinstance(table, CorpusTable)]
        shard = built.read(number, tokenizer.fingerprint)
        assert len(shard) == len(own)
        for row, expected in enumerate(table_pieces(own, tokenizer)):
            for name in expected.__dataclass_fields__:
                assert np.array_equal(getattr(shard[row], name), getattr(expected, name)), name


def test_a_build_that_was_killed_ends_as_one_that_was_not(
    built: ShardFolder, tables: Path, tmp_path: Path, tokenizer: CellTokenizer
) -> None:
    again = ShardFolder(str(tmp_path / "again"))
    made: list[int] = []

    def killed(record: ShardRecord, is_new: bool, shards: int) -> None:
        made.append(is_new)
        if len(made) == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        build_shards(Corpus(str(tables)), again, tokenizer, SMALL, advance=killed)
    with pytest.raises(UserError, match="not have all of its 6 shards yet"):
        _opened(again, tokenizer.folder, tmp_path)
    (tmp_path / "again" / "shard-00004.arrow").write_bytes(b"half of a sh")  # killed while writing: it has no record
    made.clear()
    build_shards(Corpus(str(tables)), again, tokenizer, SMALL, advance=lambda _, is_new, __: made.append(is_new))
    assert sum(made) == 3
    assert _content(tmp_path / "again") == _content(tmp_path / "shards")
    build_shards(Corpus(str(tables)), again, tokenizer, SMALL, advance=lambda *_: pytest.fail("made again"))


def test_several_processes_make_the_same_shards(
    built: ShardFolder, tables: Path, tmp_path: Path, tokenizer: CellTokenizer
) -> None:
    build_shards(Corpus(str(tables)), ShardFolder(str(tmp_path / "two")), tokenizer, SMALL, processes=2)
    assert _content(tmp_path / "two") == _content(tmp_path / "shards")


@pytest.fixture
def memory() -> Iterator[str]:
    yield "memory://corpus-shards"
    fsspec.filesystem("memory").rm("/corpus-shards", recursive=True)


def test_an_address_holds_the_same_shards_and_is_read_through_the_cache(
    built: ShardFolder, tables: Path, tmp_path: Path, tokenizer: CellTokenizer, memory: str
) -> None:
    build_shards(Corpus(str(tables)), ShardFolder(memory), tokenizer, SMALL)
    files = fsspec.filesystem("memory")
    assert {Path(path).name: files.cat_file(path) for path in files.find("/corpus-shards")} == _content(
        tmp_path / "shards"
    )
    near, far = (_opened(ShardFolder(url), tokenizer.folder, tmp_path) for url in (built.url, memory))
    for one, other in zip(HeldOut(near, MaskingOptions(32)), HeldOut(far, MaskingOptions(32)), strict=True):
        assert one["input_ids"].tolist() == other["input_ids"].tolist()
    assert any((tmp_path / "cache").glob("*/shard-*.arrow"))


@pytest.mark.parametrize(("tables", "share", "wanted"), [(1000, 0.1, 100), (1000, 0.001, 64), (100, 0.001, 50)])
def test_the_pages_with_the_lowest_hashes_are_held_out(tables: int, share: float, wanted: int) -> None:
    pages = [str(number) for number in range(tables)]

    class Pages:
        def __init__(self, number: int) -> None:
            self.pages = pages[number * 10 : (number + 1) * 10]

    folder: Any = type("Folder", (), {"read": lambda self, number, vocabulary: Pages(number)})()
    rows = corpus_builder.held_out(folder, Manifest("", "", "", tables // 10), share)
    chosen = {pages[10 * shard + row] for shard, own in enumerate(rows) for row in own}
    by_hash = sorted(pages, key=lambda page: int(page_hashes([page])[0]))
    assert chosen == set(by_hash[:wanted])


def test_tables_of_a_page_are_on_one_side() -> None:
    folder: Any = type("Folder", (), {"read": lambda *_: type("Pages", (), {"pages": ["a", "a", "b", "b"]})()})()
    (rows,) = corpus_builder.held_out(folder, Manifest("", "", "", 1), 0.3)
    assert rows in ((0, 1), (2, 3))


@pytest.mark.parametrize("tables", [(5,), (3, 0, 4, 9), tuple(range(1, 40))])
def test_a_pass_goes_through_every_table_once_and_never_twice_in_the_same_order(tables: tuple[int, ...]) -> None:
    every = {(shard, number) for shard, own in enumerate(tables) for number in range(own)}
    orders = []
    for number in range(2):
        order = PassOrder(tables, 3, number)
        orders.append([order.table(place) for place in range(sum(tables))])
        assert len(orders[-1]) == len(every)
        assert set(orders[-1]) == every
    assert orders[0] != orders[1]


def test_a_stream_learns_from_all_but_the_held_out_tables(
    built: ShardFolder, tmp_path: Path, tokenizer: CellTokenizer
) -> None:
    corpus = _opened(built, tokenizer.folder, tmp_path)
    stream, held_out = MaskedStream(corpus, MaskingOptions(32), 1), HeldOut(corpus, MaskingOptions(32))
    assert (len(stream), len(held_out)) == (20, 20)
    passes = [[stream[place]["id"] for place in range(at, at + 20)] for at in (0, 20)]
    assert sorted(passes[0]) == sorted(passes[1])
    assert set(passes[0]).isdisjoint(own["id"] for own in held_out)
    assert len(HeldOut(corpus, MaskingOptions(32), 5)) == 5
    first = {own["id"]: own["input_ids"].tolist() for own in (stream[place] for place in range(20))}
    second = {own["id"]: own["input_ids"].tolist() for own in (stream[place] for place in range(20, 40))}
    assert sum(first[name] != second[name] for name in first) > 10


def test_what_is_no_corpus_of_this_vocabulary_is_one_line(
    built: ShardFolder, tables: Path, tmp_path: Path, tokenizer: CellTokenizer
) -> None:
    other = tmp_path / "other"
    other.mkdir()
    (other / "vocab.txt").write_text((tokenizer.folder / "vocab.txt").read_text() + "more\n")
    with pytest.raises(UserError, match="made with another vocabulary than the backbone's"):
        _opened(built, other, tmp_path)
    with pytest.raises(UserError, match="has shards of another corpus"):
        build_shards(Corpus(str(tables)), built, CellTokenizer(other), SMALL)
    with pytest.raises(UserError, match="has no shards"):
        _opened(ShardFolder(str(other)), tokenizer.folder, tmp_path)
    # A shard of another tokeniser among ours.
    theirs = ShardFolder(str(tmp_path / "theirs"))
    build_shards(Corpus(str(tables)), theirs, CellTokenizer(other), SMALL)
    shard = Path(built.url, "shard-00000.arrow")
    shard.write_bytes(Path(theirs.url, shard.name).read_bytes())
    with pytest.raises(UserError, match=r"shard-00000\.arrow was made with another vocabulary"):
        built.read(0, tokenizer.fingerprint)
    shard.write_bytes(shard.read_bytes()[:300])
    with pytest.raises(UserError, match=r"shard-00000\.arrow cannot be read"):
        built.read(0, tokenizer.fingerprint)
    manifest = Path(built.url, "manifest.json")
    manifest.write_text(json.dumps({"version": 1}))
    with pytest.raises(UserError, match="not the manifest"):
        built.manifest()


@pytest.mark.parametrize(("lines", "problem"), [("", "files of tables are empty"), ("\n\n", "no tables in it")])
def test_a_corpus_of_nothing_is_one_line(tmp_path: Path, tokenizer: CellTokenizer, lines: str, problem: str) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.jsonl").write_text(lines)
    with pytest.raises(UserError, match=problem):
        build_shards(Corpus(str(tmp_path / "in")), ShardFolder(str(tmp_path / "out")), tokenizer, SMALL)


def test_a_corpus_of_broken_tables_is_one_line(tmp_path: Path, tokenizer: CellTokenizer) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.csv").write_text("a,b\nc\n")
    with pytest.raises(UserError, match=r"none of 1 tables can be read; the first: a\.csv: line 2"):
        build_shards(Corpus(str(tmp_path / "in")), ShardFolder(str(tmp_path / "out")), tokenizer, SMALL)


@pytest.mark.parametrize(
    ("content", "problem"),
    [(None, "shards of version 0, expected"), ("{", r"manifest\.json cannot be read"), ("[1]", "be read")],
)
def test_a_manifest_of_another_version_or_none_is_one_line(
    built: ShardFolder, content: str | None, problem: str
) -> None:
    manifest = Path(built.url, "manifest.json")
    manifest.write_text(content or json.dumps({**json.loads(manifest.read_text()), "version": 0}))
    with pytest.raises(UserError, match=problem):
        built.manifest()


def test_an_address_that_cannot_be_reached_or_written_is_one_line(
    tables: Path, tmp_path: Path, tokenizer: CellTokenizer
) -> None:
    with pytest.raises(UserError, match=r"nowhere://x: not a valid address \(Protocol not known: nowhere\)"):
        ShardFolder("nowhere://x")
    with (
        file_size_limit(1 << 10),
        pytest.raises(UserError, match=r"cannot write .*/out/.* \(a limit on the size of files is reached.*to=DIR"),
    ):
        build_shards(Corpus(str(tables)), ShardFolder(str(tmp_path / "out")), tokenizer, SMALL)


def test_a_killed_process_is_one_line(
    tables: Path, tmp_path: Path, tokenizer: CellTokenizer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(corpus_builder, "become_worker", die)
    with pytest.raises(UserError, match="a process was killed, maybe for lack of memory; the same command with fewer"):
        build_shards(Corpus(str(tables)), ShardFolder(str(tmp_path / "out")), tokenizer, SMALL, processes=2)
