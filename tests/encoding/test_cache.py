"""The cache on disk: what is in it, when it is used, and that an interrupted build leaves nothing."""

from __future__ import annotations

import errno
import shutil
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import pytest

from mate_cli.attention import PatternPlanner
from mate_cli.encoding import writer
from mate_cli.encoding.batch import Collator
from mate_cli.encoding.cache import EncodedSplit, open_cache
from mate_cli.encoding.encode import encode, row_of
from mate_cli.encoding.features import ARRAYS, EncodingOptions
from mate_cli.encoding.tokenizer import CellTokenizer
from mate_cli.system.errors import UserError
from mate_cli.system.files import content_hash
from mate_cli.tables.split import Split
from mate_cli.tables.table import Cell, Example, Table
from tests.encoding.conftest import die

Open = Callable[..., EncodedSplit]


@dataclass
class Source:
    """Examples from memory, with a file that stands for their content."""

    file: Path
    split: Split
    reads: list[str] = field(default_factory=list)

    def fingerprint(self) -> str:
        return content_hash([self.file])

    def read(self) -> Split:
        self.reads.append("read")
        return self.split


def make_examples() -> tuple[Example, ...]:
    """Questions on tables in mixed order: one does not fit 30 tokens, one is cut, one has numbers."""
    examples = []
    for number in range(150):
        name = f"t{number % 50:02}"
        long = {7: 40, 8: 1}.get(number % 50, 2)
        text = {8: "x y z x y z x y z x y z x y z x y z x y z x y z x y z", 9: "7 red"}.get(number % 50, "new york")
        table = Table(name, (Cell("city"),), tuple((Cell(text),) for _ in range(long)))
        has = number % 3 > 0
        example = Example(f"q{number}", "who", table, ("york",), {}, ((0, 0),) if has else (), "table", "lookup")
        examples.append(replace(example, value=number / 4, label=number % 2) if has else example)
    return tuple(examples)


@pytest.fixture
def source(tmp_path: Path) -> Source:
    file = tmp_path / "questions.json"
    file.write_text("1")
    examples = make_examples()
    return Source(file, Split(examples, missing_tables=2, questions=len(examples) + 2))


@pytest.fixture
def opened(source: Source, vocabulary: Path, tmp_path: Path) -> Open:
    def open_it(processes: int = 1, cache: str = "cache", **options: int) -> EncodedSplit:
        chosen = EncodingOptions(**({"max_tokens": 30} | options))  # type: ignore[arg-type]
        return open_cache(source, vocabulary, chosen, tmp_path / cache, processes)

    return open_it


def test_rows_are_the_encoded_examples(opened: Open, source: Source, tokenizer: CellTokenizer) -> None:
    rows = opened().dataset
    examples = {example.id: example for example in source.split.examples}
    order = sorted(examples.values(), key=lambda example: example.table.id)
    assert list(rows["id"]) == [example.id for example in order if example.table.id != "t07"]
    for row in rows:
        example = examples[row["id"]]
        (encoded,) = encode([example], tokenizer, EncodingOptions(max_tokens=30))
        expected = row_of(example, encoded)
        assert set(row) == set(expected)
        for name, value in expected.items():
            np.testing.assert_array_equal(row[name], value, err_msg=name)


def test_report(opened: Open) -> None:
    report = opened().report
    assert (report.questions, report.missing_tables, report.encoded) == (152, 2, 147)
    assert sorted(report.left_out) == ["q107", "q57", "q7"]
    assert "table 't07' needs 44 tokens" in report.left_out["q7"]
    assert (report.cut, report.tokens_cut) == (3, 3)
    assert report.fits == 144
    assert report.share_fitting == 144 / 150
    # Of three questions on each table two have a candidate; "york" is not in the cells of the cut table and of numbers.
    assert report.with_candidate == 98
    assert report.answer_in_input == 94
    assert report.answer_in_input_rate == 94 / 152
    assert report.full_length == {"50": 8, "75": 8, "90": 8, "95": 8, "99": 84, "100": 84}
    assert report.mean_length == pytest.approx((144 * 8 + 3 * 30) / 147)


def test_the_second_opening_reads_the_first(opened: Open, source: Source) -> None:
    first, second = opened(), opened()
    assert (first.built, second.built, len(source.reads)) == (True, False, 1)
    assert second.report == first.report
    assert second.dataset[3]["input_ids"].tolist() == first.dataset[3]["input_ids"].tolist()


def test_processes_change_nothing(opened: Open) -> None:
    one, two = opened(), opened(processes=2, cache="other")
    assert one.folder.name == two.folder.name
    assert (one.folder / "rows.arrow").read_bytes() == (two.folder / "rows.arrow").read_bytes()
    assert one.report == two.report


def test_data_options_and_vocabulary_make_another_cache(
    opened: Open, source: Source, vocabulary: Path, tmp_path: Path
) -> None:
    folders = {opened().folder, opened(max_tokens=40).folder, opened(sentences=4).folder}
    source.file.write_text("2")
    folders.add(opened().folder)
    other = tmp_path / "other_vocabulary"
    shutil.copytree(vocabulary, other)
    with (other / "vocab.txt").open("a") as file:
        file.write("more\n")
    folders.add(open_cache(source, other, EncodingOptions(max_tokens=30), tmp_path / "cache").folder)
    assert len(folders) == 5


@pytest.mark.parametrize("error", [KeyboardInterrupt, RuntimeError])
def test_an_interrupted_build_leaves_nothing(
    opened: Open, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: type[BaseException]
) -> None:
    done = []

    def stop_at_the_second(*arguments: object) -> object:
        if done:
            raise error
        done.append(1)
        return encode_chunk(*arguments)  # type: ignore[arg-type]

    encode_chunk = writer._encode_chunk
    monkeypatch.setattr(writer, "_encode_chunk", stop_at_the_second)
    with pytest.raises(error):
        opened()
    assert list((tmp_path / "cache" / "encoded").iterdir()) == []
    monkeypatch.undo()
    assert opened().built


def test_a_partial_folder_is_never_read(opened: Open) -> None:
    folder = opened().folder
    folder.rename(folder.with_name(f"{folder.name}.12345678.partial"))
    (folder.with_name(f"{folder.name}.12345678.partial") / "rows.arrow").write_bytes(b"cut short")
    again = opened()
    assert again.built
    assert len(again.dataset) == 147


def test_a_cache_that_cannot_be_written(opened: Open, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match=r"cannot write what is encoded to .*file.*; set paths.cache") as caught:
        opened(cache="file")
    assert caught.value.exit_code == 1


def test_rows_make_batches(opened: Open) -> None:
    rows = opened().dataset
    batch = Collator(PatternPlanner(("row", "column")))(rows.__getitems__([0, 5, 6]))
    assert batch.ids == [rows[0]["id"], rows[5]["id"], rows[6]["id"]]
    assert len(batch.input_ids) == sum(int(rows[i]["length"]) for i in (0, 5, 6))


def test_everything_left_out_is_an_empty_split(opened: Open) -> None:
    split = opened(max_tokens=3)
    assert (len(split.dataset), split.report.encoded, len(split.report.left_out)) == (0, 0, 150)
    assert set(ARRAYS) <= set(split.dataset.column_names)


def test_content_hash(tmp_path: Path) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    one.write_bytes(b"ab")
    hashes = {content_hash([one, two])}
    two.write_bytes(b"")
    hashes.add(content_hash([one, two]))
    two.write_bytes(b"c")
    hashes.add(content_hash([one, two]))
    hashes.add(content_hash([two, one]))
    assert len(hashes) == 4
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    moved = [Path(shutil.copy(file, elsewhere)) for file in (one, two)]
    assert content_hash(moved) == content_hash([one, two])


def test_examples_of_a_table_stay_together() -> None:
    examples = make_examples()
    chunks = writer._chunks(examples)
    assert sorted(number for chunk in chunks for number in chunk) == list(range(len(examples)))
    tables = [{examples[number].table.id for number in chunk} for chunk in chunks]
    assert len(chunks) > 1
    assert sum(map(len, tables)) == 50
    assert writer._chunks(()) == []
    assert replace(examples[0], id="other").table is examples[0].table


def test_a_killed_process_is_one_line(opened: Open, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writer, "_encode_in_worker", die)
    with pytest.raises(UserError, match="an encoding process was killed, maybe for lack of memory; use fewer"):
        opened(processes=2)
    assert list((tmp_path / "cache" / "encoded").iterdir()) == []


def test_a_file_that_cannot_be_read_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(path: Path, mode: str) -> None:
        raise OSError(errno.EIO, "Input/output error", path)

    (tmp_path / "rows.json").touch()
    monkeypatch.setattr(Path, "open", fail)
    with pytest.raises(UserError, match=r"cannot read .*/rows\.json: Input/output error"):
        content_hash([tmp_path / "rows.json"])
