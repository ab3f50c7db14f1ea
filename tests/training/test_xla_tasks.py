"""Every task and every model on torch-xla's processor: few programs, nothing left to the CPU, the losses of the CPU."""

from __future__ import annotations

import csv
import os
from operator import attrgetter
from pathlib import Path

import pytest

from mate_cli.config.paths import PathsConfig
from mate_cli.inference.evaluate import EvaluatedRun
from mate_cli.tables.data_folder import data_folder
from mate_cli.training import fit
from tests.training.test_every_model import MODELS, SILENT, composed
from tests.training.xla_runs import (
    SMALL,
    Counts,
    device_before_the_first_gradient,  # noqa: F401
    train,
    write_table,
)

pytestmark = [pytest.mark.xla, pytest.mark.timeout(2400)]
OTHERS = ("sample_reader", "sqa", "wtq", "own_qa", "tabfact", "cs", "mlm")
RUNS = [*(("sample", model) for model in MODELS), *((task, model) for task in OTHERS for model in ("mate", "tapas"))]
CITIES = "city,mayor,people\nAlder,Ann Lee,1200\nBirch,Bob Moe,800\nCedar,Bob Moe,900\n"
QUESTIONS = """\
question,table,answer
How many people live in Birch?,cities.csv,800
How many people live in all cities?,cities.csv,2900
Who leads Alder?,cities.csv,Ann Lee
Which cities does Bob Moe lead?,cities.csv,Birch|Cedar
"""


@pytest.fixture(scope="module")
def table():
    """What each training compiled and left to the CPU; written to the file that XLA_TABLE names."""
    found: dict[str, Counts] = {}
    yield found
    if target := os.environ.get("XLA_TABLE"):
        write_table(found, Path(target))


@pytest.fixture(scope="module")
def data(cache, tmp_path_factory):
    """Words that name the data of each task, all but one made with the sample."""
    sample, own = data_folder(composed().task, None, PathsConfig(cache=str(cache))), tmp_path_factory.mktemp("own")
    (own / "cities.csv").write_text(CITIES)
    for split in ("train", "dev"):
        (own / f"{split}.csv").write_text(QUESTIONS)
    folders = {task: sample / task for task in ("sqa", "wtq", "tabfact")}
    folders |= {"mlm": sample / "tables", "cs": sample / "tables", "own_qa": own}
    return {task: (f"data_dir={folder}",) for task, folder in folders.items()} | {"sample": (), "sample_reader": ()}


def logged(folder, name):
    lines = list(csv.DictReader((folder.path / "metrics.csv").open()))
    return [float(line[name]) for line in lines if line["loss"]]


def on_cpu(folder, cache, *words):
    paths = (f"paths.runs={folder}", f"paths.cache={cache}")
    return fit.train(composed("hardware=cpu", "hardware.precision='32'", *SMALL, *paths, *words), SILENT)


@pytest.mark.parametrize("model", ["mate", "mate_bucketed", "tapas"])
def test_dropout_takes_the_same_as_on_the_cpu(model, data, tmp_path, cache):
    rates = [f"task.schedules.smoke.{name}=0.2" for name in ("dropout", "attention_dropout")]
    words = ("task=sample", f"model={model}", *data["sample"], "task.schedules.smoke.steps=3", *rates)
    run, _ = train(tmp_path / "xla", cache, *words)
    dropped, kept = on_cpu(tmp_path / "cpu", cache, *words), on_cpu(tmp_path / "kept", cache, *words[:-2])
    assert logged(run, "loss") == pytest.approx(logged(dropped, "loss"), abs=1e-4)
    assert logged(kept, "loss") != pytest.approx(logged(dropped, "loss"), abs=1e-2)


@pytest.mark.parametrize(("task", "model"), RUNS)
def test_ten_steps_compile_twice_and_have_the_losses_of_the_cpu(task, model, data, tmp_path, cache, table):
    # A length of its own: rows alone and columns alone are one program, which would be compiled for the first only.
    length = f"task.schedules.smoke.max_tokens={96 + MODELS.index(model)}"
    words = (f"task={task}", f"model={model}", *data[task], "task.schedules.smoke.steps=10", length)
    run, counts = train(tmp_path / "xla", cache, *words)
    table[f"task={task} model={model}"] = counts
    assert len(counts.compilations) == 10
    assert counts.compilations[-1] <= 2
    assert counts.fallbacks == {}
    expected = on_cpu(tmp_path / "cpu", cache, *words)
    assert logged(run, "loss") == pytest.approx(logged(expected, "loss"), abs=1e-4)
    assert logged(run, "gradient_norm") == pytest.approx(logged(expected, "gradient_norm"), rel=1e-3)


def test_accumulating_compiles_four_times(tmp_path, cache, table):
    _, counts = train(tmp_path, cache, "task.schedules.smoke.steps=5", "hardware.micro_batch=1")
    table["task=sample model=mate, four passes for each step"] = counts
    assert len(counts.compilations) == 20
    assert counts.compilations[-1] <= 4
    assert counts.fallbacks == {}


@pytest.mark.parametrize("task", ["sample", "sample_reader", "sqa"])
def test_answers_are_those_of_the_cpu(task, data, tmp_path, cache):
    """Of a model that was trained on the CPU; conversations go on with the cells predicted before."""
    folder = on_cpu(tmp_path, cache, f"task={task}", *data[task], "task.schedules.smoke.steps=40")
    on_processor, on_xla = (evaluated(folder, task, data[task], hardware, cache) for hardware in ("cpu", "xla_cpu"))
    assert on_processor.keys() == on_xla.keys()
    assert len(set(on_processor.values())) > 3, "a model that has learned nothing says nothing"
    same = sum(on_processor[name] == on_xla[name] for name in on_processor)
    assert same >= 0.99 * len(on_processor) > 20


def evaluated(folder, task, words, hardware, cache):
    """The best cell, the chosen cells, or the text that answers each question of dev; of train for SQA, with more."""
    config = composed(f"hardware={hardware}", "hardware.precision='32'", *SMALL, f"task={task}", *words)
    config.paths = PathsConfig(cache=str(cache))
    split = "train" if task == "sqa" else "dev"
    run = EvaluatedRun(folder, config, config.hardware, split, config.data_dir, False, SILENT)
    answers = run.converse() if task == "sqa" else run.predict()
    answer_of = {"sample": lambda own: own.cells[0], "sample_reader": attrgetter("text"), "sqa": attrgetter("cells")}
    return {name: answer_of[task](own) for name, own in answers.items()}
