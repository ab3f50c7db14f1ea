"""The learning curves in the metrics.csv of a run."""

from __future__ import annotations

from pathlib import Path

from mate_cli.runs.learning_curves import learning_curves


def test_curves_are_read_as_far_as_they_are_whole(tmp_path: Path) -> None:
    lines = ["step,lr,loss,dev_hits@1", "0,0.1,4.5,", "1,0.1,2.5,0.5", "2,0.1,nan,", "3,0.1,2.2", "4,0.1,1.9e"]
    (tmp_path / "metrics.csv").write_text("\n".join(lines))
    found = learning_curves(tmp_path / "metrics.csv")
    assert found == {"loss": [(0.0, 4.5), (1.0, 2.5), (3.0, 2.2)], "dev_hits@1": [(1.0, 0.5)]}


def test_a_run_without_a_file_has_no_curves(tmp_path: Path) -> None:
    assert learning_curves(tmp_path / "metrics.csv") == {}
