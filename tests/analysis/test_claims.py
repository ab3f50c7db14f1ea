"""`mate analyze analysis=claims`: the committed claims, and what is refused."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from mate_cli.cli.main import main

RESULTS = Path(__file__).resolve().parents[2] / "results"
RUN = {"name": "b", "questions": 400, "differences": {"EM": {"mean": -0.1, "low": -0.15, "high": -0.04}}}
CSV = "row,column,by_seed\nA,EM,0:50 1:52\nB,EM,0:30\nC,EM,\n"
OF_QUESTIONS = "- {claim: it helps, comparison: ., run: b, measure: EM}\n"
OF_SEEDS = "- {claim: it helps, table: table.csv, rows: [A, B], column: EM}\n"


def answer(tmp_path: Path, claims: str) -> int:
    (tmp_path / "compare.json").write_text(json.dumps([{"name": "a", "questions": 400, "differences": {}}, RUN]))
    (tmp_path / "table.csv").write_text(CSV)
    (tmp_path / "claims.yaml").write_text(claims)
    return main(["analyze", "analysis=claims", f"claims={tmp_path}/claims.yaml", f"to={tmp_path}/out"])


def test_the_committed_page_comes_out_again(tmp_path: Path) -> None:
    assert main(["analyze", "analysis=claims", f"claims={RESULTS}/claims.yaml", f"to={tmp_path}"]) == 0
    again, committed = ((folder / "claims.md").read_text().split("\n", 1) for folder in (tmp_path, RESULTS / "claims"))
    assert again[1] == committed[1]  # below the command
    assert (tmp_path / "claims.json").read_text() == (RESULTS / "claims" / "claims.json").read_text()


def test_a_difference_is_the_first_minus_the_other_over_questions_and_seeds(tmp_path: Path) -> None:
    assert answer(tmp_path, OF_QUESTIONS * 2 + OF_SEEDS) == 0
    record = json.loads((tmp_path / "out" / "claims.json").read_text())
    first, second = record["over_questions"]
    assert first["difference"] == {"mean": 0.1, "low": 0.04, "high": 0.15}
    assert (first["n"], first["corrected_p"]) == ("400", pytest.approx(2 * first["p"]))
    assert second == first
    (seeds,) = record["over_seeds"]
    assert (seeds["n"], seeds["corrected_p"]) == ("2 + 1", seeds["p"])
    assert seeds["difference"]["mean"] == pytest.approx(0.21)


@pytest.mark.parametrize(
    ("claims", "words"),
    [
        ("just words", "is no list of claims: each entry is a line"),
        ("- just words", "is no list of claims: each entry is a line"),
        (
            "- {claim: it helps, folder: x}",
            "is no list of claims: an entry got an unexpected keyword argument 'folder'",
        ),
        (OF_QUESTIONS.replace("run: b", "run: c"), "has no difference of EM for c, on which rests: it helps"),
        (OF_QUESTIONS.replace("EM", "F1"), "has no difference of F1 for b"),
        (OF_QUESTIONS.replace("comparison: .", "comparison: x"), "/x/compare.json has no difference of EM"),
        (OF_SEEDS.replace("[A, B]", "[A, D]"), "has no two rows with EM, on which rests: it helps"),
        (OF_SEEDS.replace("table.csv", "x.csv"), "/x.csv has no two rows with EM"),
        (OF_SEEDS.replace("[A, B]", "[B, C]"), "two seeds of one side at least must tell the spread"),
    ],
)
def test_claims_without_a_comparison_are_refused(
    claims: str, words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert answer(tmp_path, claims) == 2
    error = capsys.readouterr().err
    assert words in error
    assert error.count("\n") == 1


def test_a_file_of_claims_must_be_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["analyze", "analysis=claims"]) == 2
    assert "claims is missing: write claims=..." in capsys.readouterr().err
