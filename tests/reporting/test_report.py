"""`mate report`: one page of runs, tables and pictures, whole in itself, whatever texts it is made of."""

from __future__ import annotations

import base64
import re
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from mate_cli.cli.main import main
from mate_cli.config.plain import to_plain
from mate_cli.reporting.run_figures import averaged, score_picture
from mate_cli.runs.records import read_runs
from tests.config.test_config import train_config
from tests.reporting.run_folders import hits, write_run

NASTY = "<script>alert(1)</script><img src=x onerror=alert(2)> \"'&amp; {{ 7 * 7 }} $x$"
VOID = {"meta", "img", "br", "hr"}
PIXEL = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
REPORTED = """\
# table9: a & b

![p](p.png) ![gone](gone.png) ![out](../secret.png)

| | Hits@1 |
|---|---|
| MATE <b>bold</b> <script>alert(1)</script> | 80.1 |

## More

[a file](other.csv), [elsewhere](https://example.org), [bad](javascript:alert(1))
"""


class Page(HTMLParser):
    """Tags, attributes, texts, links and places of a page; ``open`` is empty where every tag is closed."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.open: list[str] = []
        self.found: dict[str, list[str]] = {"href": [], "src": [], "id": [], "onerror": []}
        self.texts: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.open += [] if tag in VOID else [tag]
        for name, value in attrs:
            self.found.setdefault(name, []).append(value or "")

    def handle_endtag(self, tag: str) -> None:
        assert tag in VOID or self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append(data)


@pytest.fixture(scope="module")
def config() -> dict[str, Any]:
    return to_plain(train_config("backbone=tiny", "schedule=smoke"))


@pytest.fixture
def report(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Page]:
    """`mate report` in a folder of its own; the page it wrote."""
    monkeypatch.chdir(tmp_path)

    def written(*words: str) -> Page:
        assert main(["report", *words]) == 0
        return Page((tmp_path / "report.html").read_text())

    return written


@pytest.fixture
def runs(tmp_path: Path, config: dict[str, Any]) -> Path:
    """Three runs, two of which differ by the seed alone, one with a curve, one with a parent; and a broken one."""
    folder = tmp_path / "runs"
    nasty = {**config, "data_dir": NASTY}
    first = write_run(folder / "sample" / "a", nasty, {"test": hits(0.25)}, seconds=60)
    write_run(folder / "sample" / "b", {**config, "seed": 1}, {"test": hits(0.75)}, origin={"run": str(first.path)})
    sat = {**config, "model": {**config["model"], "name": NASTY}}
    write_run(folder / "sample" / "c", sat, {"test": hits(0.5)}, state="interrupted")
    lines = ["dev_hits@1,epoch,loss,lr,step", ",0,4.5,0.1,0", ",0,2.5,0.1,1", "0.5,0,,,1", ",0,nan,0.1,2", ",0,1.2"]
    (first.path / "metrics.csv").write_text("\n".join(lines))
    (folder / "sample" / "torn").mkdir()
    (folder / "sample" / "torn" / "config.yaml").write_text("task: [")
    return folder


def test_the_page_has_every_run_and_is_whole_in_itself(runs: Path, report: Callable[..., Page]) -> None:
    page = report()
    assert page.open == []
    assert "script" not in page.tags
    assert page.found["onerror"] == []
    assert {link.removeprefix("#") for link in page.found["href"]} <= set(page.found["id"])
    assert len(page.found["id"]) == len(set(page.found["id"])) == 1 + 3  # a task, its runs
    assert all(source.startswith("data:image/svg+xml;base64,") for source in page.found["src"])
    assert len(page.found["src"]) == 2  # the scores of the task, the curve of one run
    everything = "".join(page.texts)
    assert everything.count(NASTY) == 3  # the model's name twice, the folder of the data
    assert "test Hits@1 75.0" in everything
    assert "Broken run folders, left out: 1" in everything
    assert "torn/config.yaml cannot be read" in everything
    assert page.found["href"].count("#run-1") == 2  # in the list, and as the parent of another


def test_tables_come_with_their_pictures_and_raw_html_stays_text(tmp_path: Path, report: Callable[..., Page]) -> None:
    (tmp_path / "secret.png").write_bytes(PIXEL)
    folder = tmp_path / "reproduced"
    folder.mkdir()
    (folder / "p.png").write_bytes(PIXEL)
    (folder / "table9.md").write_text(REPORTED)
    (folder / "table10.md").write_text("# table10\n")
    page = report()
    assert "script" not in page.tags
    assert page.open == []
    (source,) = page.found["src"]
    assert source == "data:image/png;base64," + base64.b64encode(PIXEL).decode()
    assert [link for link in page.found["href"] if not link.startswith("#")] == ["https://example.org"]
    everything = "".join(page.texts)
    assert "MATE <b>bold</b> <script>alert(1)</script>" in everything
    assert "[no picture gone.png]" in everything
    assert "[no picture ../secret.png]" in everything
    assert everything.index("table9: a & b") < everything.index("table10")
    assert page.tags.count("h2") == 2


def test_a_condition_that_no_run_satisfies(
    runs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["report", f"paths.runs={runs}", "where=task=mlm"]) == 2
    line = capsys.readouterr().err.splitlines()[-1]
    assert re.fullmatch(f"error: where=task=mlm: none of the \\d+ runs in {re.escape(str(runs))} is like that", line)
    assert not (tmp_path / "report.html").exists()


def test_some_runs_and_other_folders(runs: Path, report: Callable[..., Page], tmp_path: Path) -> None:
    (tmp_path / "bench").mkdir()
    (tmp_path / "bench" / "report.md").write_text("no heading")
    page = report("where=seed=1", "tables=[bench]")
    assert page.found["id"] == ["table-1", "task-1", "run-1"]
    assert "report.md" in page.texts


@pytest.mark.parametrize(
    ("words", "line"),
    [
        ([], "nothing to report: no runs in ./runs and no tables; mate train or mate reproduce makes some"),
        (["tables=[nowhere]"], "tables=nowhere: there is no such folder"),
        (["tables=[.]"], "latin.md cannot be read"),
        (["where=x"], "where=x: 'x' is not NAME=VALUE, like task=hybridqa"),
    ],
)
def test_a_mistake_is_one_line(
    words: list[str], line: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "latin.md").write_bytes(b"caf\xe9")
    assert main(["report", *words]) == 2
    (shown,) = capsys.readouterr().err.splitlines()
    assert shown.startswith(f"error: {line}")
    assert not (tmp_path / "report.html").exists()


def test_a_page_that_cannot_be_written(runs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").touch()
    assert main(["report", f"paths.runs={runs}", f"to={tmp_path / 'file' / 'x.html'}"]) == 2
    assert f"{tmp_path / 'file'} is a file, not a folder" in capsys.readouterr().err.splitlines()[-1]


def test_many_points_are_averaged() -> None:
    assert averaged([(0, 1), (1, 3), (2, 5), (3, 7), (4, 9)], most=2) == [(1, 3), (3.5, 8)]
    assert averaged([(0, 1), (1, 3)], most=2) == [(0, 1), (1, 3)]


def test_scores_of_one_kind_need_no_picture(runs: Path) -> None:
    records, _ = read_runs(runs)
    assert score_picture(records[:2]) is None
    assert b"<svg" in (score_picture(records) or b"")
