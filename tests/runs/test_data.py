"""The hash of a training's data: the same wherever the files lie, another for other contents."""

from __future__ import annotations

import re
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from mate_cli.config.paths import PathsConfig
from mate_cli.config.task import TaskConfig
from mate_cli.runs.data import data_hash, folder_hash
from mate_cli.runs.folder import RunFolder
from mate_cli.runs.other_data import data_mark
from mate_cli.system import files
from mate_cli.system.files import write_json
from mate_cli.tables.data_folder import data_folder
from tests.config.test_config import train_config
from tests.tables.releases import write_sqa


@pytest.fixture
def release(tmp_path: Path) -> Path:
    """The sample, which is in HybridQA's layout."""
    sample = data_folder(TaskConfig(name="sample", format="sample"), None, PathsConfig())
    return Path(shutil.copytree(sample, tmp_path / "release"))


def test_content_counts_and_the_place_does_not(release: Path, tmp_path: Path) -> None:
    before = folder_hash("hybridqa", str(release), tmp_path / "cache")
    moved = release.rename(tmp_path / "moved")
    assert folder_hash("hybridqa", str(moved), tmp_path / "cache") == before is not None
    (moved / "released_data" / "test.json").write_text("[]")  # decides no weights
    (moved / "notes.txt").write_text("mine")
    assert folder_hash("hybridqa", str(moved), tmp_path / "cache") == before
    table = next((moved / "WikiTables-WithLinks" / "tables_tok").glob("train_*.json"))
    table.write_text(table.read_text().replace("{", "{ ", 1))
    assert folder_hash("hybridqa", str(moved), tmp_path / "cache") != before


def test_files_that_did_not_change_are_read_once(
    release: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = folder_hash("hybridqa", str(release), tmp_path / "cache")
    monkeypatch.setattr("mate_cli.runs.data.content_hash", lambda files: pytest.fail("read again"))
    assert folder_hash("hybridqa", str(release), tmp_path / "cache") == before


def test_a_cache_that_cannot_be_written_costs_nothing_but_time(release: Path, tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("a file")
    assert folder_hash("hybridqa", str(release), tmp_path / "cache") is not None


def test_data_that_is_not_there_or_broken_has_no_hash(release: Path, tmp_path: Path) -> None:
    (release / "released_data" / "dev.traced.json").write_text("{")
    (release / "released_data" / "dev.json").write_text("{")
    assert folder_hash("hybridqa", str(release), tmp_path / "cache") is None
    for data_format in ("hybridqa", "sqa", "corpus", "synthetic", "unknown"):
        assert folder_hash(data_format, str(tmp_path / "nowhere"), tmp_path / "cache") is None
    assert data_hash(train_config("task=hybridqa", f"paths.cache={tmp_path}/cache")) is None
    assert data_hash(train_config("task=mlm")) is None


def test_the_sample_has_a_hash_without_a_folder() -> None:
    assert data_hash(train_config("task=sample")) == data_hash(train_config("task=sample_reader")) is not None


def test_a_corpus_counts_by_its_files_its_shards_or_its_address(tmp_path: Path) -> None:
    config = replace(train_config("task=mlm", f"paths.cache={tmp_path}/cache"), data_dir=str(tmp_path / "tables"))
    (tmp_path / "tables" / "deep").mkdir(parents=True)
    (tmp_path / "tables" / "deep" / "t.csv").write_text("a\n1\n")
    tables = data_hash(config)
    (tmp_path / "tables" / ".lock").write_text("")
    assert data_hash(config) == tables == files.content_hash([tmp_path / "tables" / "deep" / "t.csv"])
    for name in ("manifest.json", "shard-00000.arrow"):
        (tmp_path / "tables" / name).write_text("{}")
    assert data_hash(config) == files.content_hash([tmp_path / "tables" / "manifest.json"])
    assert data_hash(replace(config, data_dir="s3://bucket/tables")) == "s3://bucket/tables"


def test_the_answers_before_are_part_of_the_data(tmp_path: Path) -> None:
    data, answers = write_sqa(tmp_path / "sqa"), tmp_path / "predictions-train.jsonl"
    words = ("task=sqa", f"data_dir={data}", f"paths.cache={tmp_path}/cache")
    told = train_config(*words, f"task.qa.history={answers}")
    hashes = [data_hash(train_config(*words)), data_hash(told)]
    for content in ("{}", '{"id": "s-1"}'):
        answers.write_text(content)
        hashes.append(data_hash(told))
    assert len({*hashes} - {None}) == 4
    moved = answers.rename(tmp_path / "sqa" / answers.name)
    assert data_hash(train_config(*words, f"task.qa.history={moved}")) == hashes[-1]


def _shorten(file: Path) -> None:
    file.write_text("".join(file.read_text().splitlines(keepends=True)[:-1]))


def test_other_data_has_a_mark_wherever_it_lies(tmp_path: Path) -> None:
    own, moved, other = (write_sqa(tmp_path / name) for name in ("own", "moved", "other"))
    _shorten(other / "random-split-1-dev.tsv")
    config = train_config("task=sqa", f"data_dir={own}", f"paths.cache={tmp_path}/cache")
    folder = RunFolder(tmp_path / "run")
    folder.path.mkdir()
    assert data_mark(folder, config, str(other)) == ""  # it has no record of its own
    write_json(folder.environment_file, {"data": data_hash(config)})
    assert [data_mark(folder, config, place and str(place)) for place in (None, own, moved)] == [""] * 3
    mark = data_mark(folder, config, str(other))
    assert re.fullmatch("-data-[0-9a-f]{8}", mark)
    assert data_mark(folder, config, str(other.rename(tmp_path / "elsewhere"))) == mark
    assert data_mark(folder, config, str(tmp_path / "nowhere")) == ""


def test_where_the_history_of_a_training_is_gone_its_folder_tells_other_data(tmp_path: Path) -> None:
    own, moved, other = (write_sqa(tmp_path / name) for name in ("own", "moved", "other"))
    _shorten(other / "random-split-1-dev.tsv")
    history = tmp_path / "predictions-train.jsonl"
    history.write_text("{}")
    words = ("task=sqa", f"data_dir={own}", f"paths.cache={tmp_path}/cache", f"task.qa.history={history}")
    config, folder = train_config(*words), RunFolder(tmp_path / "run")
    folder.path.mkdir()
    write_json(folder.environment_file, {"data": data_hash(config)})
    history.unlink()
    assert [data_mark(folder, config, place and str(place)) for place in (None, own, moved)] == [""] * 3
    assert data_mark(folder, config, str(other)) != ""
