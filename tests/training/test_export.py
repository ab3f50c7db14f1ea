"""Exported runs: whole, loadable by Hugging Face's libraries with equal outputs, and silent about the machine."""

from __future__ import annotations

import errno
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers
from safetensors.torch import load_file
from torch import Tensor
from transformers import AutoConfig, AutoModel, AutoModelForMaskedLM, AutoTokenizer

from mate_cli.commands import export
from mate_cli.config.commands import ExportConfig
from mate_cli.encoding.tokenizer import CellTokenizer
from mate_cli.models import checkpoint
from mate_cli.models.checkpoint import put_back, replaced_whole
from mate_cli.models.masked_language import MateForMaskedLM
from mate_cli.models.model import MateModel
from mate_cli.reporting.model_card import model_card
from mate_cli.runs.folder import RunFolder, load_run_config
from mate_cli.system.errors import UserError
from mate_cli.training.export import public_command
from tests.models.conftest import table_ids
from tests.system.test_files import file_size_limit
from tests.training.made_runs import make_bert, make_run

FILES = {
    *("README.md", "config.json", "config.yaml", "model.safetensors"),
    *("modeling_mate.py", "tokenizer_config.json", "vocab.txt"),
}
QA, LABELS = "TapasForQuestionAnswering", "TapasForSequenceClassification"


@pytest.fixture(scope="module")
def bert(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_bert(tmp_path_factory.mktemp("bert"))


@pytest.fixture(scope="module")
def selector(tmp_path_factory: pytest.TempPathFactory, bert: Path) -> RunFolder:
    words = ("task=sample", "model=mate", "schedule=smoke", "backbone=folder", f"backbone.path={bert}")
    return make_run(tmp_path_factory.mktemp("runs") / "selector", *words)


def exported(run: RunFolder, to: Path, overwrite: bool = False) -> Path:
    export.run(ExportConfig(str(run.path), str(to), overwrite))
    return to


def message_of(run: RunFolder, to: Path, overwrite: bool = False) -> str:
    with pytest.raises(UserError) as caught:
        exported(run, to, overwrite)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def tables() -> dict[str, Tensor]:
    """Two tables of one length, the second padded."""
    import numpy as np

    random = np.random.default_rng(2)
    (ids, types), (short_ids, short_types) = (table_ids(random, *shape) for shape in ((6, 4, 3), (3, 2, 2)))
    pad = len(ids) - len(short_ids)
    return {
        "input_ids": torch.from_numpy(np.stack([ids, np.pad(short_ids, (0, pad))])),
        "token_type_ids": torch.from_numpy(np.stack([types, np.pad(short_types, ((0, pad), (0, 0)))])),
        "attention_mask": torch.tensor([[1] * len(ids), [1] * len(short_ids) + [0] * pad]),
    }


OPERATORS = {0: "NONE", 1: "SUM", 2: "AVERAGE", 3: "COUNT"}


@pytest.mark.parametrize(
    ("task", "name", "told"),
    [
        ("sample", "TapasModel", {"reset_position_index_per_cell": True}),
        ("sample_reader", "TapasModel", {"reset_position_index_per_cell": False}),
        ("sqa", QA, {"select_one_column": True, "allow_empty_column_selection": False, "temperature": 1.0}),
        ("wtq", QA, {"aggregation_labels": OPERATORS, "no_aggregation_label_index": 0, "temperature": 0.0352513}),
        ("tabfact", LABELS, {"id2label": {0: "refuted", 1: "entailed"}}),
    ],
)
def test_a_dense_model_is_a_tapas(task: str, name: str, told: dict[str, Any], bert: Path, tmp_path: Path) -> None:
    """Tensors bit for bit; outputs to 1e-6, though BERT's first position was moved when it was read."""
    words = (f"task={task}", "model=tapas", "backbone=folder", f"backbone.path={bert}")
    to = exported(make_run(tmp_path / "run", *words), tmp_path / "to")
    stored, theirs = load_file(to / "model.safetensors"), getattr(transformers, name).from_pretrained(to)
    assert f"transformers.{name}.from_pretrained" in (to / "README.md").read_text()
    prefix = "tapas." if name == "TapasModel" else ""
    shared = {n: tensor for n, tensor in theirs.state_dict().items() if prefix + n in stored}
    assert all(torch.equal(tensor, stored[prefix + n]) for n, tensor in shared.items())
    assert shared.keys() == theirs.state_dict().keys()
    assert {field: getattr(theirs.config, field) for field in told} == told
    ours, batch = AutoModel.from_pretrained(to).double(), tables()
    assert type(ours) is MateModel
    with torch.no_grad():
        own, found = ours(**batch), theirs.double()(**batch)
        compare(name, own, found, {n: tensor.double() for n, tensor in stored.items()}, batch, ours.config.temperature)


def test_a_fifth_operator_is_one_of_tapas_too(bert: Path, tmp_path: Path) -> None:
    words = ("task=wtq", "task.qa.difference=true", "model=tapas", "backbone=folder", f"backbone.path={bert}")
    to = exported(make_run(tmp_path / "run", *words), tmp_path / "to")
    theirs = transformers.TapasForQuestionAnswering.from_pretrained(to)
    assert theirs.config.aggregation_labels == {**OPERATORS, 4: "DIFFERENCE"}
    stored = load_file(to / "model.safetensors")["aggregation_classifier.weight"]
    assert torch.equal(theirs.aggregation_classifier.weight, stored)
    assert len(stored) == 5


def test_positions_down_columns_are_none_of_tapas(bert: Path, tmp_path: Path) -> None:
    words = ("task=sqa", "model=tapas", "model.positions=column", "backbone=folder", f"backbone.path={bert}")
    to = exported(make_run(tmp_path / "run", *words), tmp_path / "to")
    assert "TapasForQuestionAnswering" not in (to / "README.md").read_text()
    assert AutoModel.from_pretrained(to).config.positions == "column"


def test_a_dense_pre_trained_model_is_a_tapas(bert: Path, tmp_path: Path) -> None:
    """Its output weights are the word embeddings there too; logits at masked words to 1e-6."""
    words = ("task=mlm", "model=tapas", "backbone=folder", f"backbone.path={bert}")
    to = exported(make_run(tmp_path / "run", *words), tmp_path / "to")
    theirs, ours = (kind.from_pretrained(to).double() for kind in (transformers.TapasForMaskedLM, AutoModelForMaskedLM))
    assert type(ours) is MateForMaskedLM
    batch = tables()
    with torch.no_grad():
        states = ours.tapas(**batch).last_hidden_state[0, :4]
        own = ours.cls["predictions"](states, ours.tapas.embeddings.word_embeddings.weight)
        same(own, theirs(**batch).logits[0, :4])


def compare(
    name: str, own: Any, found: Any, stored: dict[str, Tensor], batch: dict[str, Tensor], temperature: float
) -> None:
    """Their outputs with what our heads' tensors make of our encoder's states."""
    real = batch["attention_mask"].bool()
    if name == "TapasModel":
        same(own.last_hidden_state[real], found.last_hidden_state[real])
        same(own.pooler_output, found.pooler_output)
    elif name == LABELS:
        same(own.pooler_output @ stored["classifier.weight"].T + stored["classifier.bias"], found.logits)
    else:
        logits = (own.last_hidden_state @ stored["output_weights"] + stored["output_bias"]) / temperature
        same_cells(logits, found.logits, batch)
    if name == QA and found.logits_aggregation is not None:
        weight, bias = stored["aggregation_classifier.weight"], stored["aggregation_classifier.bias"]
        same(own.pooler_output @ weight.T + bias, found.logits_aggregation)


def same_cells(logits: Tensor, found: Tensor, batch: dict[str, Tensor]) -> None:
    """In the column that they choose their logits are the means of ours over each cell."""
    chosen = found > -5000
    assert chosen.any(1).all()
    for row in range(len(found)):
        places = batch["token_type_ids"][row, :, 1:3]
        cells = (places[:, None] == places[None]).all(-1).to(logits.dtype)
        means = cells @ logits[row] / cells.sum(1)
        same(means[chosen[row]], found[row, chosen[row]])


def same(ours: Tensor, theirs: Tensor) -> None:
    torch.testing.assert_close(ours, theirs, atol=1e-6, rtol=0)


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


def test_what_stands_there_is_not_lost(selector: RunFolder, tmp_path: Path) -> None:
    to = exported(selector, tmp_path / "to")
    (to / "README.md").write_text("mine")
    assert "overwrite=true replaces it" in message_of(selector, to)
    assert (to / "README.md").read_text() == "mine"
    exported(selector, to, overwrite=True)
    assert (to / "README.md").read_text().startswith("---\nlibrary_name")
    (tmp_path / "photos").mkdir()
    (tmp_path / "photos" / "README.md").touch()
    (tmp_path / "file").touch()
    for other in ("photos", "file"):
        assert "is not an export; set to=DIR" in message_of(selector, tmp_path / other, overwrite=True)
    for own in (selector.path, selector.best_model):
        assert "is not an export" in message_of(selector, own, overwrite=True)
    (tmp_path / "empty").mkdir()
    assert exported(selector, tmp_path / "empty") == tmp_path / "empty"


@pytest.mark.parametrize("size", [1 << 10, 1 << 19])  # the card does not fit, or the weights
def test_a_full_disk_leaves_nothing_and_no_half(selector: RunFolder, tmp_path: Path, size: int) -> None:
    to = tmp_path / "to"
    with file_size_limit(size):
        message = message_of(selector, to)
    assert f"cannot write to {to}" in message
    assert message.endswith("; it is as it was before")
    assert list(tmp_path.iterdir()) == []
    exported(selector, to)
    old = {path.name: path.read_bytes() for path in to.iterdir()}
    with file_size_limit(size):
        message_of(selector, to, overwrite=True)
    assert {path.name: path.read_bytes() for path in to.iterdir()} == old


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


class Stopping:
    """Moves files as ``os.replace`` does, but for one move, at which the disk or the process ends."""

    def __init__(self, at: int, killed: bool) -> None:
        self.left, self.killed = at, killed

    def __call__(self, source: Path, target: Path) -> None:
        self.left -= 1
        if self.left == -1 and self.killed:
            os._exit(9)
        if self.left == -1:
            raise OSError(errno.ENOSPC, "No space left on device")
        source.rename(target)


def replace_whole(to: Path, stopping: Stopping) -> None:
    with pytest.MonkeyPatch.context() as patch, replaced_whole(to, ["calibration.json"]) as staged:
        for name in FILES:
            (staged / name).write_text("new")
        patch.setattr(checkpoint.os, "replace", stopping)


@pytest.fixture
def earlier(tmp_path: Path) -> Path:
    """The files of an earlier export, and one of the user's."""
    (tmp_path / "to").mkdir()
    for name in (*FILES, "calibration.json", "notes.txt"):
        (tmp_path / "to" / name).write_text("old")
    return tmp_path / "to"


MOVES = range(2 * len(FILES) + 1)


@pytest.mark.parametrize("at", MOVES)
def test_an_export_that_fails_between_two_files_leaves_the_one_before(at: int, earlier: Path) -> None:
    before = contents(earlier)
    with pytest.raises(OSError, match="No space left"):
        replace_whole(earlier, Stopping(at, killed=False))
    assert contents(earlier) == before
    assert list(earlier.parent.iterdir()) == [earlier]


@pytest.mark.parametrize("at", MOVES)
def test_an_export_that_is_killed_between_two_files_is_of_one_model_and_can_be_put_back(at: int, earlier: Path) -> None:
    before = contents(earlier)
    child = os.fork()
    if child == 0:
        replace_whole(earlier, Stopping(at, killed=True))
        os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 9
    assert len({content for name, content in contents(earlier).items() if name != "notes.txt"}) <= 1
    put_back(earlier)
    assert contents(earlier) == before
    replace_whole(earlier, Stopping(-1, killed=False))
    assert contents(earlier) == dict.fromkeys(FILES, b"new") | {"notes.txt": b"old"}
    assert list(earlier.parent.iterdir()) == [earlier]


def test_an_export_that_was_killed_is_put_back_by_the_next(selector: RunFolder, tmp_path: Path) -> None:
    to = exported(selector, tmp_path / "to")
    (tmp_path / ".to.replaced").mkdir()
    for name in ("README.md", "config.json"):
        (to / name).rename(tmp_path / ".to.replaced" / name)
    assert "overwrite=true replaces it" in message_of(selector, to)
    assert {path.name for path in to.iterdir()} == FILES
    assert list(tmp_path.iterdir()) == [to]


def test_an_overwritten_export_loses_its_calibration_and_no_other_file(selector: RunFolder, tmp_path: Path) -> None:
    to = exported(selector, tmp_path / "to")
    (to / "calibration.json").write_text("{}")
    (to / "notes.txt").write_text("mine")
    exported(selector, to, overwrite=True)
    assert {path.name for path in to.iterdir()} == {*FILES, "notes.txt"}
    assert (to / "notes.txt").read_text() == "mine"
    assert list(tmp_path.iterdir()) == [to]


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
