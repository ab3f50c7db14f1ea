"""The committed records give the committed tables, without any data."""

from __future__ import annotations

import csv
import json
import shutil
from pathlib import Path

import pytest

from mate_cli.cli.main import main

ROOT = Path(__file__).resolve().parents[2]
RESULTS = ROOT / "results"
WORDS = ("schedule=laptop", "backbone=minilm", "pretrain=false", "words=hardware=cpu", "seeds=3", "dry_run=true")


def test_every_table_comes_out_again_byte_for_byte(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "again"
    assert main(["reproduce", "what=all", *WORDS, f"paths.runs={RESULTS / 'runs'}", f"to={folder}"]) == 0
    again = {file.name: file.read_bytes() for file in folder.iterdir() if file.suffix in (".md", ".tex", ".csv")}
    committed = {file.name: file.read_bytes() for file in (RESULTS / "reproduced").iterdir() if file.name in again}
    of_data = {name for name in committed if name.startswith(("table2.", "table3."))}  # counts of data that is not here
    assert len(committed) > 30
    assert {name for name, text in committed.items() if text != again[name]} == of_data
    assert "README.md" not in again


@pytest.mark.parametrize(("name", "seeds"), [("released", 3), ("dose", 1), ("after_queries", 3)])
def test_the_tables_of_the_chains_come_out_again(
    name: str, seeds: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    words = (
        f"seeds={seeds}",
        "schedule=released",
        "backbone=minilm",
        "words=hardware.precision=bf16-mixed",
        "dry_run=true",
    )
    assert main(["reproduce", f"what={name}", *words, f"paths.runs={RESULTS / 'runs'}", "to=again"]) == 0
    files = list((RESULTS / "learning" / name).iterdir())
    assert len(files) == 3
    for file in files:
        assert file.read_bytes() == (tmp_path / "again" / file.name).read_bytes()


def test_a_table_with_more_values_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    names = [f"table6.{kind}" for kind in ("md", "tex", "csv")]
    (tmp_path / "reproduced").mkdir()
    for name in names:
        shutil.copy(RESULTS / "reproduced" / name, tmp_path / "reproduced")
    assert main(["reproduce", "what=table6", "only=SAT", "backbone=minilm", "dry_run=true"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[-1].startswith("reproduced/table6.csv has more values than these runs give: kept")
    for name in names:
        assert (tmp_path / "reproduced" / name).read_bytes() == (RESULTS / "reproduced" / name).read_bytes()
    (tmp_path / "reproduced" / "table6.csv").write_text("row,column\nMATE,Hits@1\n")  # no table of ours
    assert main(["reproduce", "what=table6", "only=SAT", "backbone=minilm", "dry_run=true"]) == 0
    assert "reproduced: table6.md, table6.tex, table6.csv" in capsys.readouterr().out


def test_the_reader_is_also_scored_over_the_questions_that_it_can_read() -> None:
    """Of 400 questions, 397 have a cell to read, and 230 answers are right."""
    file = RESULTS / "runs/hybridqa_reader/tapas-minilm-s0-64c2087f/metrics.json"  # of both parts of the input
    scores = json.loads(file.read_text(encoding="utf-8"))["dev"]
    read, right = (round(400 * share) for share in (scores["readable"], scores["model"]["all"]["exact"]))
    with (RESULTS / "reproduced" / "stages.csv").open(encoding="utf-8", newline="") as lines:
        median = {line["row"]: float(line["median"]) for line in csv.DictReader(lines)}
    assert median["reader, given the cell"] == pytest.approx(100 * right / 400)
    assert median["reader, of what it can read"] == pytest.approx(100 * right / read)
    assert (read, right) == (397, 230)
