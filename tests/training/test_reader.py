"""The reader, through the command line and on examples in memory."""

from __future__ import annotations

import csv
import io
import json
import re
from pathlib import Path

import pytest
import torch
from rich.console import Console

from mate_cli.config.hardware import HardwareConfig
from mate_cli.config.paths import PathsConfig
from mate_cli.config.task import active_schedule
from mate_cli.encoding.encode import encode, row_of
from mate_cli.encoding.tokenizer import CellTokenizer
from mate_cli.inference.pointr import read_examples
from mate_cli.kinds.registry import task_of
from mate_cli.kinds.span_reading import reading_record
from mate_cli.runs.folder import RunFolder, load_run_config
from mate_cli.system.errors import UserError
from mate_cli.tables.data_folder import data_folder
from mate_cli.tables.hybridqa import read_split
from mate_cli.tables.reading import reading_example, reading_examples, reading_text
from mate_cli.tables.table import Cell, Example, Table
from mate_cli.training.backend import collator_for
from mate_cli.training.module import TaskModule
from mate_cli.training.splits import encoding_options
from mate_cli.training.starting_model import starting_model
from tests.training.conftest import TINY, fast, train_once
from tests.training.test_every_model import SILENT, composed

READER = ("task=sample_reader", *TINY)
CPU = HardwareConfig(name="cpu", accelerator="cpu", precision="32", micro_batch=4, workers=0)


@pytest.fixture(scope="module")
def trained(tmp_path_factory, cache):
    """A finished reader of two steps."""
    return train_once(tmp_path_factory, cache, *READER, "name=first") / "runs" / "sample_reader" / "first"


def questions_of(run: Path, split: str, cache: Path) -> tuple[Example, ...]:
    return read_split(data_folder(load_run_config(run).task, None, PathsConfig(cache=str(cache))), split).examples


@pytest.mark.parametrize("head", ["mlp", "linear"])
def test_it_learns_eight_examples_by_heart(head, cache):
    config = composed("task=sample_reader", "backbone=tiny", f"task.span.head={head}")
    task = task_of(config)
    folder = data_folder(config.task, None, PathsConfig(cache=str(cache)))
    questions = [example for example in read_split(folder, "train").examples if example.candidates]
    eight = [reading_examples(question)[0] for question in questions[:: len(questions) // 8][:8]]
    torch.manual_seed(0)
    model, vocabulary, _ = starting_model(config, task, SILENT)
    active_schedule(config).max_tokens = 512
    options = encoding_options(config, task, model.config)
    encoded = encode(eight, CellTokenizer(vocabulary), options)
    collator = collator_for(model.config, config.model, "auto", "cpu")
    batch = collator([row_of(example, own) for example, own in zip(eight, encoded, strict=True)])
    module = TaskModule(model, task)
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
    for _ in range(300):
        loss = task.losses(module(batch), batch).mean()
        if loss < 0.05:
            break
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    assert loss < 0.05
    verdicts = task.verdicts(module.task.predict(module.model.eval(), batch), batch)
    assert [verdict.right for verdict in verdicts] == [True] * 8


def test_a_run_folder_tells_how_well_it_reads(trained, cache):
    """EM counted again from the predictions: of a question's cells the likeliest span, against all questions."""
    ((split, record),) = json.loads((trained / "metrics.json").read_text()).items()
    lines = (trained / f"predictions-{split}.jsonl").read_text().splitlines()
    best: dict[str, dict] = {}
    for prediction in map(json.loads, lines):
        assert 0 < prediction["probability"] <= 1
        question = re.sub("/[0-9]+-[0-9]+$", "", prediction["id"])
        if question not in best or prediction["probability"] > best[question]["probability"]:
            best[question] = prediction
    questions = questions_of(trained, split, cache)
    assert record["questions"] == len(questions)
    assert {question.id for question in questions if question.candidates} == set(best)
    assert record["readable"] == pytest.approx(len(best) / len(questions))
    right = [best.get(q.id, {"text": ""})["text"].lower() == q.answers[0].lower() for q in questions]
    # The sample's answers have no punctuation or articles that would make more of them equal.
    assert record["model"]["all"]["exact"] == pytest.approx(sum(right) / len(questions), abs=0.02)
    assert 0 < record["baselines"]["cell text"]["exact"] < 1
    assert json.loads((trained / "best" / "config.json").read_text())["kind"] == "span_reading"
    with (trained / "metrics.csv").open() as file:
        assert [row["dev_exact"] for row in csv.DictReader(file) if row["dev_exact"]]


def test_a_question_without_a_span_is_not_readable():
    """Its cell has none, or its tokens did not fit."""
    table = Table("t", (Cell("h"),), ((Cell("Ann"),),))
    examples = [Example(name, "who?", table, answers=("Ann",)) for name in ("read", "no span", "no cell", "none")]
    record = reading_record(examples, {"read": "Ann", "no span": ""}, {})
    assert (record["readable"], record["model"]["all"]["exact"]) == (0.25, 0.25)


def test_spans_are_cut_from_the_reading_text(trained, cache):
    ((split, _),) = json.loads((trained / "metrics.json").read_text()).items()
    texts = {
        f"{q.id}/{row}-{column}": reading_text(q, (row, column))
        for q in questions_of(trained, split, cache)
        for row, column in q.candidates
    }
    for prediction in map(json.loads, (trained / f"predictions-{split}.jsonl").read_text().splitlines()):
        text = texts.pop(prediction["id"])
        assert text[prediction["start"] : prediction["end"]] == prediction["text"] != ""
    assert not texts


def test_examples_in_memory_are_read_as_those_of_a_split(trained, cache):
    ((split, _),) = json.loads((trained / "metrics.json").read_text()).items()
    stored = {p["id"]: p for p in map(json.loads, (trained / f"predictions-{split}.jsonl").read_text().splitlines())}
    some = [example for q in questions_of(trained, split, cache)[:40] for example in reading_examples(q)]
    spans = read_examples(RunFolder(trained), load_run_config(trained), CPU, some, SILENT)
    assert list(spans) == [example.id for example in some]
    for name, prediction in spans.items():
        assert prediction.text == stored[name]["text"]
        assert prediction.probability == pytest.approx(stored[name]["probability"], rel=1e-4)


def test_every_example_has_a_prediction(trained):
    table = Table("t", (Cell("h"),), ((Cell("Ünder the Ice"),), (Cell(""),)))
    short, long = Example("a", "who?", table), Example("b", "who " * 200, table)
    examples = [reading_example(own, cell) for own in (short, long) for cell in ((0, 0), (1, 0))]
    console = Console(file=io.StringIO(), width=200)
    spans = read_examples(RunFolder(trained), load_run_config(trained), CPU, examples, console)
    assert spans["a/0-0"].text in "Ünder the Ice"
    assert spans["a/0-0"].text
    for name in ("a/1-0", "b/0-0", "b/1-0"):
        prediction = spans[name]
        assert (prediction.text, prediction.start, prediction.end) == ("", 0, 0)
        assert (prediction.score, prediction.probability) == (0.0, 0.0)
    assert "2 of 4 questions are too long" in console.file.getvalue()
    assert read_examples(RunFolder(trained), load_run_config(trained), CPU, [], console) == {}


def test_evaluate_reads_another_split_and_without_questions(mate, trained, capsys):
    assert mate("evaluate", f"run={trained}", "split=dev", "hardware=cpu") == 0
    assert "EM" in capsys.readouterr().out
    assert mate("evaluate", f"run={trained}", "split=dev", "blank_question=true", "hardware=cpu") == 0
    metrics = json.loads((trained / "metrics.json").read_text())
    assert metrics["dev"]["questions"] == metrics["dev-blank"]["questions"]


@pytest.mark.parametrize("model", fast("linformer", of=["mate", "sat", "linformer", "table_etc"]))
def test_other_models_can_read(model, mate, tmp_path):
    assert mate("train", *READER, f"model={model}", "name=it") == 0
    status = json.loads((tmp_path / "runs" / "sample_reader" / "it" / "status.json").read_text())
    assert status["state"] == "done"


@pytest.mark.parametrize(
    "words",
    [
        ("span.together=true", "span.noisy_cells=selective"),
        pytest.param(("span.traced=true", "ambiguous=false"), marks=pytest.mark.slow),
        pytest.param(("span.head=linear", "span.max_span=5"), marks=pytest.mark.slow),
    ],
    ids=" ".join,
)
def test_the_releases_choices_train(words, mate):
    assert mate("train", *READER, *(f"task.{word}" for word in words)) == 0


def test_what_is_read_can_be_the_table_alone(mate, tmp_path):
    assert mate("train", *READER, "task.input=table", "name=it") == 0
    run = tmp_path / "runs" / "sample_reader" / "it"
    predictions = next(run.glob("predictions-*.jsonl")).read_text()
    assert all(" : " not in json.loads(line)["text"] for line in predictions.splitlines())


def test_prepare_tells_what_spans_cover(mate, capsys):
    assert mate("prepare", "task=sample_reader", "schedule=smoke") == 0
    out = capsys.readouterr().out
    assert "answer is a span in the first 128 tokens" in out
    assert re.search(r"of at most 20 pieces\W+9\d\.\d\d%", out)


def test_a_reader_does_not_select(mate, trained, tmp_path, capsys):
    (tmp_path / "cities.csv").write_text("city,country\nParis,France\n")
    assert mate("predict", f"run={trained}", "table=cities.csv", "question=why", "hardware=cpu") == 2
    error = capsys.readouterr().err.strip()
    assert "a run of task=sample_reader answers nothing by itself; give it as reader=..." in error
    assert "\n" not in error
    assert "Traceback" not in error


def test_a_selector_does_not_read(trained):
    config = composed()
    with pytest.raises(UserError, match="task=sample; name the run of a reader"):
        read_examples(RunFolder(trained), config, CPU, [], SILENT)
