"""Exported runs: whole, loadable by Hugging Face's libraries with equal outputs, and silent about the machine."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file
from transformers import AutoConfig, AutoTokenizer

from mate_cli.config.commands import ExportConfig
from mate_cli.encoding.tokenizer import CellTokenizer
from mate_cli.reporting.model_card import model_card
from mate_cli.runs.folder import RunFolder, load_run_config
from mate_cli.training.export import public_command
from tests.training.exports import FILES, exported, message_of
from tests.training.made_runs import make_run


def test_an_export_holds_the_model_and_its_vocabulary(selector: RunFolder, tmp_path: Path) -> None:
    to = exported(selector, tmp_path / "new" / "folder")
    assert {path.name for path in to.iterdir()} == FILES
    assert [path.name for path in to.parent.iterdir()] == ["folder"]
    best = load_file(selector.weights_file)
    assert all(torch.equal(tensor, best[name]) for name, tensor in load_file(to / "model.safetensors").items())
    assert AutoConfig.from_pretrained(to).heads == "mate"
    ours, theirs = CellTokenizer(to), AutoTokenizer.from_pretrained(to)
    assert ours.vocabulary["[EMPTY]"] == ours.empty == theirs.empty_token_id == 1
    old = CellTokenizer(selector.best_model)
    texts = ["Who's the mayor of Århus?", "1,200 km²", "zzyzxq unwieldiness"]
    assert list(ours.batch(texts).ids) == list(old.batch(texts).ids)
    assert list(ours.batch(texts).ids) == [
        n for text in texts for n in theirs.convert_tokens_to_ids(theirs.tokenize(text))
    ]


def test_whoever_may_read_the_card_may_read_the_weights(selector: RunFolder, tmp_path: Path) -> None:
    to = exported(selector, tmp_path / "to")
    assert {path.stat().st_mode for path in to.iterdir()} == {(to / "README.md").stat().st_mode}


_PLAIN = """
import sys
{before}
from transformers import AutoModel
model = AutoModel.from_pretrained({folder!r}{more})
print(type(model).__module__, type(model).__name__, *model.state_dict()["embeddings.word_embeddings.weight"].shape)
"""


@pytest.mark.parametrize(
    ("before", "more", "printed"),
    [
        ("", ", trust_remote_code=True", "mate_cli.models.model MateModel 30522 32"),
        ("sys.modules['mate_cli'] = None", ", trust_remote_code=True", "this model needs the package mate-tables"),
        ("", "", "trust_remote_code=True"),
    ],
)
def test_transformers_alone_loads_it_or_says_what_it_needs(
    before: str, more: str, printed: str, selector: RunFolder, tmp_path: Path
) -> None:
    to = exported(selector, tmp_path / "to")
    program = _PLAIN.format(before=before, folder=str(to), more=more)
    environment = {**os.environ, "HF_HOME": str(tmp_path), "HF_HUB_OFFLINE": "1"}
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, env=environment, stdin=subprocess.DEVNULL
    )
    assert printed in done.stdout + done.stderr


def test_nothing_of_the_machine_is_told(selector: RunFolder, tmp_path: Path) -> None:
    words = ("task=sqa", "backbone=run", f"backbone.path={selector.path}", "data_dir=/home/someone/sqa", "name=child")
    history = "task.qa.history=/home/someone/h.jsonl"
    child = make_run(tmp_path / "runs" / "child", *words, history, "logger=wandb", "logger.project=hidden-project")
    to = exported(child, tmp_path / "to")
    for name in FILES - {"model.safetensors", "vocab.txt"}:
        text = (to / name).read_text(encoding="utf-8")
        for private in (str(tmp_path), str(selector.path.parent), "/home", "/opt", "someone", "hidden-project"):
            assert private not in text, (name, private)
    config = load_run_config(to)
    assert (config.data_dir, config.name, config.backbone.path) == (None, None, "selector")
    command = ["mate", "train", "--config-dir", "/home/someone/conf", "++data_dir=/home/someone/sqa", "task=sqa"]
    assert public_command(command) == "mate train data_dir=DATA task=sqa"


def test_the_card_tells_data_settings_scores_commands_and_limits(selector: RunFolder, tmp_path: Path) -> None:
    words = ("task=sqa", "backbone=run", f"backbone.path={selector.path}", "data_dir=/data/x", "name=child")
    card = (exported(make_run(tmp_path / "child", *words), tmp_path / "to") / "README.md").read_text(encoding="utf-8")
    sections = re.findall(r"^## (.*)$", card, re.MULTILINE)
    assert sections == ["Use", "Data", "Settings", "Scores", "Commands", "Limits"]
    assert "| batch | 128 |" in card
    assert "| model hits@1 | 0.2500 |" in card
    assert "In-Table" not in card
    assert "- task sample with model mate, seed 0, 0 steps" in card
    first, second = re.search(r"## Commands\n\n```\n(.*)\n(.*)\n```", card).groups()  # type: ignore[union-attr]
    assert first.startswith("mate train task=sample model=mate schedule=smoke backbone=folder backbone.path=bert")
    assert second == "mate train task=sqa backbone=run backbone.path=selector data_dir=DATA name=child"
    assert "load these weights, but attend, pool or count positions in another way" in card
    assert "at most 512 tokens" in card


def test_the_card_of_an_export_of_an_export_points_to_the_card_with_its_records(
    selector: RunFolder, tmp_path: Path
) -> None:
    first = exported(selector, tmp_path / "first")
    graph = ExportConfig(str(first), "graph", format="onnx")
    card = model_card(RunFolder(first), load_run_config(first), graph)
    assert re.findall(r"^## (.*)$", card, re.MULTILINE) == ["Use", "Data", "Settings", "Limits"]
    assert "of the folder `first`; its README.md says how it was trained and scored." in card
    assert not re.search("unknown|without a record|None are recorded|started from|\n\n\n", card)
    (first / "README.md").unlink()
    assert "The model is that of the folder `first`.\n" in model_card(RunFolder(first), load_run_config(first), graph)


def test_what_cannot_be_exported_is_one_line(selector: RunFolder, tmp_path: Path) -> None:
    to = exported(selector, tmp_path / "to")
    assert "is an export already" in message_of(RunFolder(to), tmp_path / "again")
    assert "is not a run folder" in message_of(RunFolder(tmp_path), tmp_path / "again")
    (tmp_path / "unfinished").mkdir()
    (tmp_path / "unfinished" / "config.yaml").write_bytes(selector.config_file.read_bytes())
    assert "has no model yet" in message_of(RunFolder(tmp_path / "unfinished"), tmp_path / "again")
    assert not (tmp_path / "again").exists()


def test_a_training_starts_from_an_export(selector: RunFolder, tmp_path: Path) -> None:
    to = exported(selector, tmp_path / "to")
    child = make_run(tmp_path / "child", "task=sample", "schedule=smoke", "backbone=run", f"backbone.path={to}")
    tensors, parent = load_file(child.weights_file), load_file(selector.weights_file)
    assert tensors.keys() == parent.keys()
    assert all(torch.equal(tensor, parent[name]) for name, tensor in tensors.items())
    assert json.loads(child.environment_file.read_text())["origin"]["run"] == str(to)
