"""`mate analyze analysis=compare`: what is compared, what is refused, and the table of the ablations."""

from __future__ import annotations

import json
import shutil

import numpy as np
import pytest

from mate_cli.analysis.compare import compare
from mate_cli.analysis.outcomes import open_outcomes
from mate_cli.cli.main import main
from mate_cli.config.catalogue import options
from mate_cli.config.paths import PathsConfig
from tests.config.test_config import FROM_A_RUN
from tests.training.conftest import TINY

ABLATIONS = [option.name for option in options("ablation") if option.name not in FROM_A_RUN]


def right_where(condition):
    """Answers the gold where the number of the question says so."""

    def answer(number, example):
        cell = example.candidates[0] if example.candidates else (0, 0)
        return cell, (example.answers or ("",))[0] if condition(number) else "zzz"

    return answer


def test_hits_are_those_that_the_run_was_scored_with(trained):
    runs = [open_outcomes(str(trained.run), "test", None, PathsConfig()) for _ in range(2)]
    first, second = compare(runs)
    scores = json.loads((trained.run / "metrics.json").read_text())["test"]["model"]["all"]
    assert {name.lower(): interval.mean for name, interval in first.measures.items()} == {
        name: pytest.approx(value) for name, value in scores.items() if name != "questions"
    }
    assert (first.name, first.ablation, first.questions, first.unread) == ("it", "none", 170, 0)
    assert first.differences == {}
    assert all(own.mean == 0 and own.low == -own.high < 0 for own in second.differences.values())
    assert all(own.high < 0.03 for own in second.differences.values())  # 170 equal outcomes prove no more


def test_pipelines_are_held_against_the_first(pipeline):
    names = {"all": lambda n: True, "third": lambda n: n % 3 == 0, "none": lambda n: False}
    folders = [pipeline(name, right_where(condition)) for name, condition in names.items()]
    runs = compare([open_outcomes(str(folder), "test", None, PathsConfig()) for folder in folders])
    shares = [1.0, np.mean([n % 3 == 0 for n in range(170)]), 0.0]
    for run, share in zip(runs, shares, strict=True):
        assert run.measures["EM"].mean == run.measures["F1"].mean == pytest.approx(share)
    difference = runs[1].differences["EM"]
    assert difference.mean == pytest.approx(shares[1] - 1)
    assert difference.low < difference.mean < difference.high < 0
    assert runs[2].differences["EM"].low == -1
    assert -1 < runs[2].differences["EM"].high < -0.95


def test_pipelines_are_compared_by_their_records_without_weights(trained, pipeline, tmp_path, capsys):
    folders = [pipeline(name, right_where(condition)) for name, condition in (("all", bool), ("none", lambda n: False))]
    bare = tmp_path / "bare"
    bare.mkdir()
    shutil.copy(trained.reader / "config.yaml", bare)
    for folder in folders:
        (folder / "pipeline.json").write_text(json.dumps({"selector": "oracle", "reader": str(bare)}))
    words = ["analyze", "analysis=compare", f"runs=[{','.join(map(str, folders))}]", "split=test"]
    assert main(words) == 0
    assert "170 questions" in capsys.readouterr().out


def test_other_questions_and_other_kinds_are_refused(trained, pipeline, capsys):
    whole = pipeline("whole", right_where(bool))
    part = pipeline("part", right_where(bool), trained.examples[:100])
    for other, words in ((part, "answer different questions: 70 of 170"), (trained.run, "compare runs of one kind")):
        assert main(["analyze", "analysis=compare", f"runs=[{whole},{other}]", "split=test"]) == 2
        error = capsys.readouterr().err
        assert words in error
        assert error.count("\n") == 1


def test_one_run_is_no_comparison(capsys):
    assert main(["analyze", "analysis=compare", "runs=[a]"]) == 2
    assert "error: runs=[a]: nothing to compare it with\n" in capsys.readouterr().err


@pytest.mark.slow
def test_every_ablation_trains_on_the_sample_and_their_table_prints(trained, tmp_path, capsys):
    """One sweep over all of them that start from the backbone."""
    assert len(ABLATIONS) == 9
    assert (
        main(
            [
                "train",
                "-m",
                *TINY,
                "hardware.workers=0",
                f"ablation=glob(*,exclude=[{','.join(FROM_A_RUN)}])",
                f"paths.runs={tmp_path}",
            ]
        )
        == 0
    )
    assert capsys.readouterr().out.count("questions have several candidates; left out") == 1
    runs = {json.loads(file.read_text())["test"]["questions"]: 0 for file in tmp_path.glob("sample/*/metrics.json")}
    assert runs == {170: 0}
    found = {folder.name.split("-")[1]: folder for folder in (tmp_path / "sample").iterdir()}
    folders = [found.pop("tiny"), *found.values()]  # the one without an ablation first
    to = tmp_path / "out"
    words = ["analyze", "analysis=compare", f"runs=[{','.join(map(str, folders))}]", "split=test", f"to={to}"]
    assert main(words) == 0
    assert "test, 170 questions" in capsys.readouterr().out
    record = json.loads((to / "compare.json").read_text())
    assert record[0]["ablation"] == "none"
    assert sorted(run["ablation"] for run in record) == ABLATIONS
    markdown = (to / "compare.md").read_text()
    assert all(f"ablation={name}<br>" in markdown for name in ABLATIONS if name != "none")
    rows = {run["ablation"]: run["settings"] for run in record}
    assert (rows["none"], rows["without_column_heads"]) == ({}, {"model.row_ratio": 1.0})
    assert len({run["measures"]["Hits@5"]["mean"] for run in record}) > 3  # they are not all the same model
