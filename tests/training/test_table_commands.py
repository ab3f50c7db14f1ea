"""SQA, WikiTableQuestions and TabFact through the command line, on releases of a few questions."""

import json

import numpy as np
import pytest

from mate_cli.cli.main import main
from mate_cli.tables.sqa import read_split
from mate_cli.tasks.table_qa import TableAnswer
from tests.tables.releases import write, write_sqa, write_tabfact, write_wtq
from tests.training.conftest import TINY

RELEASES = {"sqa": write_sqa, "wtq": write_wtq, "tabfact": write_tabfact}
TABLE = "town,people\nBirch,10\nElm,20\nAsh,\n"


@pytest.fixture(scope="module")
def runs(tmp_path_factory, cache):
    """For each task the folder of a run of two steps; the data is beside ``runs``."""
    folder = tmp_path_factory.mktemp("table_tasks")
    write(folder / "own" / "dev.csv", "question,table,answer\n")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MATE_CACHE", str(cache))
        patch.chdir(folder)
        for task, write_release in RELEASES.items():
            data = write_release(folder / task)
            assert main(["train", f"task={task}", *TINY, f"data_dir={data}", "name=run"]) == 0
    return {task: folder / "runs" / task / "run" for task in RELEASES}


def metrics(run):
    return json.loads((run / "metrics.json").read_text())


def predictions(run, split):
    lines = (run / f"predictions-{split}.jsonl").read_text().splitlines()
    return {own["id"]: own for own in map(json.loads, lines)}


def test_a_training_ends_with_the_official_measure(runs):
    sqa, wtq, tabfact = (metrics(runs[task])["dev"] for task in RELEASES)
    assert sqa["questions"] == 4  # the fifth has no table
    assert sqa["conversations"] == 2
    assert {"ALL", "SEQ", "pos 1", "pos 2", "pos 4"} == set(sqa["own_history"]["model"])
    assert wtq["questions"] == 7
    assert wtq["model"]["accuracy"]["number"] == 7
    assert tabfact["model"]["all"]["number"] == 4
    assert tabfact["baselines"]["entailed, always"]["all"] == 0.5


def test_the_score_of_sqa_is_that_of_the_predictions(runs):
    examples = read_split(runs["sqa"].parents[2] / "sqa", "dev").examples
    predicted = predictions(runs["sqa"], "dev")
    right = [{tuple(cell) for cell in predicted[e.id]["cells"]} == set(e.candidates) for e in examples]
    assert metrics(runs["sqa"])["dev"]["own_history"]["model"]["ALL"]["mean"] == pytest.approx(np.mean(right))


@pytest.mark.parametrize(
    ("task", "questions"), [("sqa", "random-split-1-dev.tsv"), ("wtq", "data/random-split-1-dev.tsv")]
)
def test_the_submission_scores_as_the_run_does(mate, runs, capsys, task, questions):
    """SQA's file answers the questions whose table is there, so the one without has to go."""
    folder = runs[task].parents[2] / task
    submission = runs[task] / "predictions-dev.tsv"
    own = metrics(runs[task])["dev"]
    own = own["own_history"]["model"]["ALL"] if task == "sqa" else own["model"]["accuracy"]
    assert mate("evaluate", f"predictions={submission}", f"reference={folder / questions}") == 0
    printed = capsys.readouterr().out
    assert f" {100 * own['mean']:.1f} (95% interval {100 * own['low']:.1f} to {100 * own['high']:.1f})" in printed


@pytest.mark.parametrize(
    ("predictions", "reference", "problem"),
    [
        ("predictions-dev.tsv", "sqa/table_csv/1_1.csv", "is not the file of a split's questions"),
        ("config.yaml", "sqa/test.tsv", "column 'id' is missing"),
        ("predictions-dev.tsv", "own/dev.csv", "own has no prediction files in TSV; sqa and wtq have"),
    ],
)
def test_a_submission_against_something_else_is_one_line(mate, runs, capsys, predictions, reference, problem):
    reference = runs["sqa"].parents[2] / reference
    assert mate("evaluate", f"predictions={runs['sqa'] / predictions}", f"reference={reference}") == 2
    (line,) = capsys.readouterr().err.strip().splitlines()
    assert problem in line


def test_each_question_is_told_what_was_answered_before(mate, runs, monkeypatch):
    """A model that always chooses the last cell: every second question of a conversation is told of that one."""
    from mate_cli.inference import evaluate

    told = {}

    class Stub(evaluate.Predictor):
        def predict(self, batches):
            answers = []
            for batch in batches:
                for number, name in enumerate(batch.ids):
                    own = batch.document == number
                    types = batch.token_types[own]
                    told[name] = {(int(t[2]) - 1, int(t[1]) - 1) for t in types if t[3]}
                    last = int((batch.cell_document == number).nonzero().max())
                    cell = int(batch.cell_row[last]), int(batch.cell_column[last])
                    answers.append(TableAnswer(name, (cell,), (0.9,)))
            return answers

    monkeypatch.setattr(evaluate, "Predictor", Stub)
    assert mate("evaluate", f"run={runs['sqa']}", "hardware=cpu") == 0
    assert told == {"s-1-0_0": set(), "s-1-0_1": {(1, 1)}, "s-1-0_3": set(), "s-1-1_0": set()}


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "towns.csv"
    path.write_text(TABLE)
    return path


def ask(mate, capsys, run, table, *words):
    assert mate("predict", f"run={run}", f"table={table}", "question=how many people?", *words) == 0
    return capsys.readouterr().out


def test_an_answer_shows_cells_operator_and_value(mate, runs, table, capsys, monkeypatch):
    from mate_cli.inference.predictor import Predictor

    answer = TableAnswer("question", ((0, 1), (1, 1)), (0.9, 0.8), "SUM", 0.75)
    monkeypatch.setattr(Predictor, "predict", lambda self, batches: [answer])
    record = json.loads(ask(mate, capsys, runs["wtq"], table, "output=json"))
    assert (record["answer"], record["operator"]) == (["30"], "SUM")
    assert record["formula"] == "SUM(people of rows 0, 1) = 30"
    assert [(cell["text"], cell["probability"]) for cell in record["cells"]] == [("10", 0.9), ("20", 0.8)]
    shown = ask(mate, capsys, runs["wtq"], table)
    assert "answer: 30  (SUM(people of rows 0, 1) = 30; probability 0.75)" in shown
    assert "20 #2 80.0%" in shown


def test_every_kind_of_run_answers(mate, runs, table, capsys):
    for task in ("sqa", "wtq"):
        assert "answer: " in ask(mate, capsys, runs[task], table)
    record = json.loads(ask(mate, capsys, runs["tabfact"], table, "output=json"))
    assert record["answer"] in ("entailed", "refuted")
    assert 0.5 <= record["probability"] <= 1


def test_a_conversation_goes_on_from_what_was_answered(mate, runs, table, capsys, monkeypatch):
    from mate_cli.inference.answerer import Answerer

    heard = []

    def predicted(self, readings):
        (reading,) = readings
        heard.append((reading.asked.question, reading.asked.previous))
        return [TableAnswer("question", ((len(heard) - 1, 0),), (0.9,))]

    monkeypatch.setattr(Answerer, "_predicted", predicted)
    ask(mate, capsys, runs["sqa"], table, "before=[which towns, how large]")
    assert heard == [("which towns", ()), ("how large", ((0, 0),)), ("how many people?", ((1, 0),))]


def test_only_runs_that_answer_with_cells_converse(mate, runs, table, capsys):
    assert mate("predict", f"run={runs['tabfact']}", f"table={table}", "question=x", "before=[y]") == 2
    assert "was not trained on conversations" in capsys.readouterr().err
