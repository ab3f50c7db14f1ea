"""Every shipped model: it learns eight examples by heart, and it trains, evaluates and predicts."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch
from hydra import compose, initialize_config_dir
from rich.console import Console

from mate_cli.cli.diagnosis import register_schemas, typed
from mate_cli.config.catalogue import options
from mate_cli.config.model import BENCH_HEADS
from mate_cli.config.paths import PathsConfig, conf_folder
from mate_cli.config.task import active_schedule
from mate_cli.config.train import TrainConfig
from mate_cli.encoding.encode import encode, row_of
from mate_cli.encoding.tokenizer import CellTokenizer
from mate_cli.kinds.registry import task_of
from mate_cli.system.errors import UserError
from mate_cli.tables.data_folder import data_folder
from mate_cli.tables.hybridqa import read_split
from mate_cli.tasks.cell_selection import CellSelection, candidates_of, cell_loss
from mate_cli.training.backend import check_dropout, collator_for
from mate_cli.training.module import TaskModule
from mate_cli.training.splits import encoding_options
from mate_cli.training.starting_model import starting_model
from tests.training.conftest import TINY, fast

MODELS = [option.name for option in options("model") if option.name not in BENCH_HEADS]
SILENT = Console(quiet=True)


def test_there_are_nine():
    assert len(MODELS) == 9


def composed(*overrides: str) -> TrainConfig:
    register_schemas()
    with initialize_config_dir(str(conf_folder()), version_base="1.3"):
        return typed(compose("train", list(overrides)))


@pytest.fixture(scope="module")
def eight(cache):
    """Examples from all over the sample with one candidate each: with two, the loss of the paper ends at log 2."""
    paths = PathsConfig(cache=str(cache))
    folder = data_folder(composed().task, None, paths)
    clear = [example for example in read_split(folder, "train").examples if len(example.candidates) == 1]
    return clear[:: len(clear) // 8][:8]


@pytest.mark.parametrize("seed", fast(0, of=(0, 1, 2)))
@pytest.mark.parametrize("name", fast("mate", "table_etc", of=MODELS))
def test_it_learns_eight_examples_by_heart(name, seed, eight):
    """At a rate, and with clipped gradients, that no processor's rounding throws off: it takes 33 to 92 steps."""
    config = composed("backbone=tiny", f"model={name}", "schedule=laptop")
    torch.manual_seed(seed)
    model, vocabulary, _ = starting_model(config, task_of(config), SILENT)
    active_schedule(config).max_tokens = 512
    options = encoding_options(config, task_of(config), model.config)
    encoded = encode(eight, CellTokenizer(vocabulary), options)
    collator = collator_for(model.config, config.model, config.model.attention.backend, "cpu")
    batch = collator([row_of(example, own) for example, own in zip(eight, encoded, strict=True)])
    module = TaskModule(model, CellSelection())
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    for _ in range(200):
        losses, _ = cell_loss(module(batch), batch.cell_document, batch.is_candidate, 8)
        if losses.mean() < 0.05:
            break
        optimizer.zero_grad()
        losses.mean().backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
    assert losses.mean() < 0.05
    assert all(own.cells[0] in candidates_of(batch)[own.id] for own in module.task.predict(module.model.eval(), batch))


@pytest.mark.parametrize("name", fast("mate", "mate_bucketed", "table_etc", of=MODELS))
def test_it_trains_evaluates_and_predicts(name, mate, tmp_path, capsys):
    assert mate("train", *TINY, f"model={name}", "name=it") == 0
    run = tmp_path / "runs" / "sample" / "it"
    assert mate("evaluate", f"run={run}", "split=dev", "hardware=cpu") == 0
    assert json.loads((run / "metrics.json").read_text())["dev"]["questions"] > 0
    Path("cities.csv").write_text("city,country\nParis,France\nRome,Italy\nLyon,France\n")
    capsys.readouterr()
    words = (f"run={run}", "table=cities.csv", "question=Which city is in Italy?", "hardware=cpu")
    assert mate("predict", *words, "output=json", "top=9") == 0
    record = json.loads(capsys.readouterr().out)
    places = {(cell["row"], cell["column"]) for cell in record["cells"]}
    assert places == {(row, column) for row in range(3) for column in range(2)}


@pytest.mark.parametrize("name", MODELS)
def test_attention_dropout_is_there_or_refused(name):
    config = composed(f"model={name}", "schedule=paper")
    schedule = active_schedule(config)
    assert schedule.attention_dropout
    check_dropout(config)
    config.model.attention.backend = "varlen"
    with pytest.raises(UserError, match="backend=varlen has no attention dropout, and the schedule asks for"):
        check_dropout(config)
    schedule.attention_dropout = 0.0
    check_dropout(config)


DROPPING = ("task.schedules.smoke.attention_dropout=0.1", "task.schedules.smoke.dropout=0.1")


@pytest.mark.parametrize("name", fast("sat", of=["linformer", "table_etc", "sat"]))
def test_attention_dropout_trains(name, mate):
    assert mate("train", *TINY, f"model={name}", *DROPPING) == 0


def test_attention_dropout_needs_no_slower_backend(mate, capsys):
    assert mate("train", *TINY, "name=plain") == 0
    assert mate("train", *TINY, *DROPPING, "name=dropping") == 0
    lines = [line for line in capsys.readouterr().out.splitlines() if line.startswith("attention: ")]
    assert len(lines) == 2
    assert lines[0] == lines[1]
    assert lines[0].endswith(", estimated to be the fastest here for the first examples")


def test_a_linformer_reads_no_more_than_it_was_made_for():
    config = composed("backbone=tiny", "model=linformer", "schedule=smoke", "model.linformer.k=128")
    model, _, _ = starting_model(config, task_of(config), SILENT)
    assert model.tapas.encoder.layer[0].attention.self.seq_projection.weight.shape == (256, 128)
    schedule, task = active_schedule(config), task_of(config)
    schedule.max_tokens = 256
    encoding_options(config, task, model.config)
    schedule.max_tokens = 257
    with pytest.raises(UserError, match="max_tokens=257 is more than the 256 tokens") as caught:
        encoding_options(config, task, model.config)
    assert "\n" not in str(caught.value)
