"""The whole of `mate reproduce`, where it trains nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from mate_cli.cli.main import main


class TestCommand:
    """The whole of `mate reproduce`, where it trains nothing."""

    @pytest.fixture(autouse=True)
    def place(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.chdir(tmp_path)

    def test_a_dry_run_without_any_runs(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        (tmp_path / "runs" / "sample" / "broken").mkdir(parents=True)
        (tmp_path / "runs" / "sample" / "broken" / "status.json").write_text("{")
        words = ("what=table6", "only=SAT", "backbone=tiny", "data.hybridqa=a", "data.tables=b", "dry_run=true")
        assert main(["reproduce", *words]) == 0
        out, err = capsys.readouterr()
        assert "2 to do" in out
        assert "77.9" in out
        assert err.splitlines()[-1] == "1 run folder is broken and skipped"
        assert {file.name for file in (tmp_path / "reproduced").iterdir()} == {"table6.md", "table6.tex", "table6.csv"}
        assert [path.name for path in (tmp_path / "runs").rglob("*")] == ["sample", "broken", "status.json"]

    def test_a_picture_needs_no_run(self, tmp_path: Path) -> None:
        assert main(["reproduce", "what=figure1", "backbone=tiny"]) == 0
        assert (tmp_path / "reproduced" / "figure1.png").stat().st_size > 10_000
        assert "![figure1](figure1.png)" in (tmp_path / "reproduced" / "figure1.md").read_text()

    @pytest.mark.parametrize(
        ("words", "line"),
        [
            (["what=tabel6"], "unknown table or figure 'tabel6': did you mean table6?"),
            (["what=table6", "only=MATES"], "unknown row of table6 'MATES': did you mean MATE?"),
            (["what=all", "only=MATE"], "only names a row of one table"),
            (["what=table6", "again=true", "dry_run=true"], "again belongs to running: leave out dry_run"),
            (["what=table6", "words=hardwar=cpu"], "unknown key 'hardwar': did you mean hardware?"),
            (
                ["what=table6", "only=SAT", "backbone=run", "backbone.path=y"],
                "backbone.path=y: there is no such folder",
            ),
            ([], "what is missing"),
        ],
    )
    def test_a_mistake_is_one_line(
        self, words: list[str], line: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert main(["reproduce", *words]) == 2
        (shown,) = capsys.readouterr().err.splitlines()
        assert shown.startswith(f"error: {line}")
        assert list(tmp_path.iterdir()) == []
