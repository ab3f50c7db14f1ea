"""``metrics.csv``: its columns, and a file that an older version began."""

import csv
from types import SimpleNamespace

from mate_cli.training.curves import Curves
from tests.training.conftest import TINY


def test_the_gradient_norm_is_logged_whether_or_not_gradients_are_clipped(mate, tmp_path):
    norms = {}
    for name, limit in (("clipped", "0.001"), ("free", "null")):
        assert mate("train", *TINY, f"task.schedules.smoke.clip_norm={limit}", f"name={name}") == 0
        with (tmp_path / "runs/sample" / name / "metrics.csv").open() as file:
            norms[name] = [float(row["gradient_norm"]) for row in csv.DictReader(file) if row["loss"]]
    assert len(norms["clipped"]) == len(norms["free"]) == 2
    assert norms["clipped"][0] == norms["free"][0] > 0.001


def test_a_file_without_gradient_norms_keeps_its_columns_when_the_run_goes_on(tmp_path):
    file = tmp_path / "metrics.csv"
    file.write_text("dev_hits@1,loss,lr,step\n,3.5,0.1,0\n,lost")
    curves = Curves(file, "hits@1")
    curves.load_state_dict({"bytes": len("dev_hits@1,loss,lr,step\n,3.5,0.1,0\n")})
    curves._add(SimpleNamespace(is_global_zero=True, global_step=2), loss=3.0, lr=0.2, gradient_norm=1.5)
    curves.state_dict()
    assert file.read_text() == "dev_hits@1,loss,lr,step\n,3.5,0.1,0\n,3.0,0.2,1\n"
