"""Exports that share tensors with another model beside them."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file

from mate_cli.commands import export
from mate_cli.config.commands import ExportConfig
from mate_cli.kinds.registry import kind_named
from mate_cli.models.checkpoint import INDEX, OWN_WEIGHTS, read_tensors
from mate_cli.models.entailment import MateForSequenceClassification
from mate_cli.models.weights import load_model
from mate_cli.runs.folder import RunFolder
from mate_cli.system.errors import UserError
from tests.training.made_runs import make_bert, make_run

UPPER = ("tapas.encoder.layer.1.", "tapas.pooler.", "classifier.", "mention.")


@pytest.fixture(scope="module")
def exports(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the export ``questions``, and ``statements``, which has the lower of its two layers from there."""
    folder = tmp_path_factory.mktemp("shared")
    bert = make_bert(folder / "bert")
    questions = make_run(folder / "runs/questions", "task=wtq", "backbone=folder", f"backbone.path={bert}")
    export.run(ExportConfig(str(questions.path), str(folder / "questions"), dtype="float16"))
    start = ("backbone=folder", f"backbone.path={folder}/questions")
    statements = make_run(folder / "runs/statements", "task=tabfact", *start, "task.schedules.paper.mentions=1.0")
    trained = load_file(statements.weights_file)
    torch.manual_seed(1)
    for name, tensor in trained.items():
        if name.startswith(UPPER):
            tensor += torch.randn_like(tensor)
    save_file(trained, statements.weights_file, metadata={"format": "pt"})
    export.run(
        ExportConfig(str(statements.path), str(folder / "statements"), dtype="float16", base=str(folder / "questions"))
    )
    return folder


@pytest.fixture
def copied(exports: Path, tmp_path: Path) -> Path:
    """The two exports in another place."""
    for name in ("questions", "statements"):
        shutil.copytree(exports / name, tmp_path / name)
    return tmp_path


def trained_tensors(exports: Path) -> dict[str, torch.Tensor]:
    stored = load_file(RunFolder(exports / "runs/statements").weights_file)
    return {name: tensor.half() for name, tensor in stored.items()}


def test_the_file_has_the_tensors_that_differ_and_no_others(exports: Path) -> None:
    own = load_file(exports / "statements" / OWN_WEIGHTS)
    assert own
    assert all(name.startswith(UPPER) for name in own)
    assert not (exports / "statements/model.safetensors").exists()


def test_read_together_they_are_the_trained_model(copied: Path, exports: Path) -> None:
    read, trained = read_tensors(copied / "statements"), trained_tensors(exports)
    assert read.keys() == trained.keys()
    assert all(torch.equal(read[name], trained[name]) for name in trained)
    model = load_model(copied / "statements", kind_named("entailment").model)
    assert all(torch.equal(tensor.half(), trained[name]) for name, tensor in model.state_dict().items())


def test_hugging_face_reads_the_index_too(copied: Path, exports: Path) -> None:
    model = MateForSequenceClassification.from_pretrained(copied / "statements")
    trained = trained_tensors(exports)
    assert model.state_dict().keys() == trained.keys()
    assert all(torch.equal(tensor.half(), trained[name]) for name, tensor in model.state_dict().items())


def test_other_weights_beside_it_are_found_out(copied: Path) -> None:
    file = copied / "questions/model.safetensors"
    tensors = load_file(file)
    tensors["tapas.encoder.layer.0.output.dense.bias"] += 1
    save_file(tensors, file)
    with pytest.raises(UserError, match="was written for other weights than"):
        read_tensors(copied / "statements")


def test_a_folder_without_the_one_beside_it_says_what_is_missing(copied: Path) -> None:
    shutil.rmtree(copied / "questions")
    with pytest.raises(UserError, match=r"names \.\./questions/model\.safetensors, which is not there"):
        read_tensors(copied / "statements")


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"weight_map": 3}', '{"weight_map": {"a": 3}}'])
def test_a_broken_index_is_one_line(copied: Path, content: str) -> None:
    (copied / "statements" / INDEX).write_text(content)
    with pytest.raises(UserError, match="no index of a model's tensors") as caught:
        read_tensors(copied / "statements")
    assert "\n" not in str(caught.value)


def test_a_tensor_that_its_file_lacks_is_named(copied: Path) -> None:
    index = copied / "statements" / INDEX
    content = json.loads(index.read_text())
    content["weight_map"]["no.such.tensor"] = OWN_WEIGHTS
    index.write_text(json.dumps(content))
    with pytest.raises(UserError, match=rf"{OWN_WEIGHTS} lacks no\.such\.tensor, which .*{INDEX} says it has"):
        read_tensors(copied / "statements")


def test_an_index_reads_nothing_but_safetensors(copied: Path) -> None:
    (copied / "evil.bin").write_bytes(b"cos\nsystem\n(S'touch hacked'\ntR.")
    index = copied / "statements" / INDEX
    index.write_text(json.dumps({"weight_map": {"classifier.weight": "../evil.bin"}}))
    with pytest.raises(UserError, match=r"names \.\./evil\.bin"):
        read_tensors(copied / "statements")


def test_a_base_without_a_common_tensor_is_refused(exports: Path, tmp_path: Path) -> None:
    """In 32 bits no tensor equals one of 16."""
    run = exports / "runs/statements"
    with pytest.raises(UserError, match="leave out base"):
        export.run(ExportConfig(str(run), str(tmp_path / "new"), base=str(exports / "questions")))
    assert not (tmp_path / "new").exists()
