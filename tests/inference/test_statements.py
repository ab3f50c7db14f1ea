"""Statements on a user's table: ``mate predict statement=``, ``!`` in ``mate ask``, and the released model of them."""

from __future__ import annotations

import io
import json
import re
from pathlib import Path

import pandas as pd
import pytest

from mate_cli.notebook import load_run
from mate_cli.system import distribution
from tests.tables.releases import write_tabfact
from tests.training.conftest import TINY, train_once

TOWNS = "city,mayor,population\nAlder,Ann Lee,1200\nBirch,Bob Moe,800\n"
STATEMENT = "Alder has more people than Birch"
CPU = ("hardware=cpu", "hardware.precision='32'")


@pytest.fixture(scope="module")
def runs(tmp_path_factory, cache) -> Path:
    """Two steps each of a selector, and of statements from it with its lower layer kept."""
    data = write_tabfact(tmp_path_factory.mktemp("tabfact"))
    first = train_once(tmp_path_factory, cache, *TINY, "name=first") / "runs/sample/first"
    start = ("backbone=run", f"backbone.path={first}", "task.schedules.smoke.frozen_layers=1")
    words = ("task=tabfact", f"data_dir={data}", *start, *TINY[1:], f"paths.runs={first.parents[1]}", "name=first")
    train_once(tmp_path_factory, cache, *words)
    return first.parents[1]


@pytest.fixture
def package(mate, runs, tmp_path, monkeypatch) -> Path:
    """A package with both models in the place of the released one, and a table to ask."""
    package = tmp_path / "packages" / distribution.RELEASED
    package.mkdir(parents=True)
    (package / "__init__.py").touch()
    export = ("export", "dtype=float16")
    assert mate(*export, f"run={runs}/sample/first", f"to={package / 'model'}") == 0
    base = f"base={package / 'model'}"
    assert mate(*export, f"run={runs}/tabfact/first", f"to={package / 'statements'}", base) == 0
    monkeypatch.syspath_prepend(package.parent)
    Path("towns.csv").write_text(TOWNS)
    return package


def judged(mate, capsys, *words: str) -> dict:
    capsys.readouterr()
    assert mate("predict", "table=towns.csv", *CPU, "output=json", *words) == 0
    return json.loads(capsys.readouterr().out)


def test_the_released_model_judges_where_no_run_is_named(mate, runs, package, capsys):
    released = judged(mate, capsys, f"statement={STATEMENT}")
    assert released.pop("model").startswith("mate-tables-weights")
    assert released["answer"] in ("entailed", "refuted")
    assert released == judged(mate, capsys, f"statement={STATEMENT}", f"run={package / 'statements'}")
    trained = judged(mate, capsys, f"statement={STATEMENT}", f"run={runs}/tabfact/first")
    assert trained["probability"] == pytest.approx(released["probability"], abs=0.01)
    python = load_run(statements=True).answer(STATEMENT, pd.read_csv(io.StringIO(TOWNS)))
    assert python["answer"] == released["answer"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("run=RUNS/sample/first",), "answers questions; leave out run, or name a run of task=tabfact"),
        (("question=Who?",), "question and statement given: "),
        (("selector=RUNS/sample/first", "reader=RUNS/sample/first"), "leave out selector, reader and before"),
        (("before=[Who?]",), "leave out selector, reader and before"),
    ],
)
def test_what_does_not_judge_is_one_line(mate, runs, package, capsys, words, message):
    capsys.readouterr()
    named = [word.replace("RUNS", str(runs)) for word in words]
    assert mate("predict", "table=towns.csv", f"statement={STATEMENT}", *named) == 2
    assert message in capsys.readouterr().err


def test_an_older_package_has_no_part_for_statements(mate, package, capsys):
    (package / "statements").rename(package / "others")
    assert mate("predict", "table=towns.csv", f"statement={STATEMENT}") == 2
    assert "has no statements; install a newer one: pip install ./weights" in capsys.readouterr().err


@pytest.fixture
def ask(mate, monkeypatch, capsys):
    def start(*lines: str, words: tuple[str, ...] = ()) -> list[str]:
        capsys.readouterr()
        monkeypatch.setattr("sys.stdin", io.StringIO("".join(f"{line}\n" for line in lines)))
        assert mate("ask", "towns.csv", *CPU, *words) == 0
        return capsys.readouterr().out.splitlines()

    return start


def test_in_a_session_an_exclamation_mark_judges(mate, ask, package, capsys):
    lines = ask(f"! {STATEMENT}", "Who is the mayor of Birch?", f"!{STATEMENT}")
    verdict, answer, again = [line for line in lines if line.startswith("answer: ")]
    assert verdict == again
    record = judged(mate, capsys, f"statement={STATEMENT}")
    assert verdict == f"answer: {record['answer']}  (probability {record['probability']:.2f})"
    assert "row" in answer


def test_in_a_session_with_a_run_that_run_answers(ask, runs, package):
    lines = ask(f"! {STATEMENT}", words=(f"run={runs}/sample/first",))
    assert lines[-2].endswith("answers questions; leave out run= to have statements judged")
    (verdict,) = [line for line in ask(f"! {STATEMENT}", words=(f"run={runs}/tabfact/first",)) if "answer: " in line]
    assert verdict.startswith(("answer: entailed", "answer: refuted"))


def test_of_a_large_table_the_rows_that_a_statement_names_are_read_among_others(mate, runs, capsys):
    lines = ["city,mayor,population", *(f"Town {number},Ann Lee,{number * 7}" for number in range(300))]
    Path("towns.csv").write_text("\n".join(lines))
    named = judged(mate, capsys, "statement=Town 211 has 1477 people", f"run={runs}/tabfact/first")
    assert re.fullmatch(r"only the row that the statement names and \d+ others were read, of 300; .*", named["unread"])
    words = ("statement=Town 211 has more people than others", "max_tokens=4096", f"run={runs}/tabfact/first")
    assert "unread" not in judged(mate, capsys, *words)


def test_a_split_of_statements_is_scored_with_chosen_rows(mate, runs, capsys):
    words = ("evaluate", f"run={runs}/tabfact/first", "split=dev", "rows=chosen", *CPU)
    assert mate(*words) == 0
    assert "dev-chosen: " in capsys.readouterr().out
