"""Trainings that start from another run's best model."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file
from torch import Tensor

from mate_cli.kinds.registry import task_of
from mate_cli.runs.folder import RunFolder
from mate_cli.runs.parent import check_parent, origin_of
from mate_cli.runs.place import current_identity, run_path
from mate_cli.system.errors import UserError
from mate_cli.system.files import content_hash
from mate_cli.training.fit import train
from mate_cli.training.starting_model import starting_model
from tests.config.test_config import train_config
from tests.training.made_runs import QUIET, make_run

WORDS = "tapas.embeddings.word_embeddings.weight"
POSITIONS = "tapas.embeddings.position_embeddings.weight"
CLS = 101


@pytest.fixture(scope="module")
def statements(tmp_path_factory: pytest.TempPathFactory, bert: Path) -> RunFolder:
    """A run that tells true statements from false ones, from BERT."""
    path = tmp_path_factory.mktemp("runs") / "statements"
    return make_run(path, "task=tabfact", "model=mate", "backbone=folder", f"backbone.path={bert}")


def start(*words: str) -> tuple[dict[str, Tensor], frozenset[str]]:
    """The tensors that a training starts with, and the names of those that no checkpoint filled."""
    config = train_config(*words)
    model, _, new = starting_model(config, task_of(config), QUIET)
    return model.state_dict(), new


def test_encoder_and_head_of_the_same_name_go_on(statements: RunFolder) -> None:
    """TabFact after statements: all of the parent's tensors, bit for bit, and none that is new."""
    stored = load_file(statements.weights_file)
    state, new = start("task=tabfact", "model=tapas", "backbone=run", f"backbone.path={statements.path}")
    assert new == frozenset()
    assert state.keys() == stored.keys()
    assert all(torch.equal(state[name], tensor) for name, tensor in stored.items())


SPANS = {f"spans.{name}" for name in ("start.weight", "start.bias", "end.weight", "output.weight", "output.bias")}


@pytest.mark.parametrize(
    ("task", "head"), [("hybridqa", {"output_weights", "output_bias"}), ("hybridqa_reader", SPANS)]
)
def test_another_head_is_new_on_the_same_encoder(statements: RunFolder, task: str, head: set[str]) -> None:
    stored = load_file(statements.weights_file)
    state, new = start(f"task={task}", "backbone=run", f"backbone.path={statements.path}")
    assert new == head
    assert all(torch.equal(state[name], stored[name]) for name in state.keys() - head)


def test_positions_move_once_along_the_chain(bert: Path, statements: RunFolder, tmp_path: Path) -> None:
    """BERT's first position goes into [CLS] when BERT is read, and never when its descendants are."""
    theirs = load_file(bert / "model.safetensors")
    words, positions = theirs["embeddings.word_embeddings.weight"], theirs["embeddings.position_embeddings.weight"]
    child = make_run(tmp_path / "child", "task=sqa", "backbone=run", f"backbone.path={statements.path}")
    state, _ = start("task=wtq", "backbone=run", f"backbone.path={child.path}")
    assert torch.equal(state[POSITIONS], torch.cat([positions[1:], positions[-1:]]))
    torch.testing.assert_close(state[WORDS][CLS], words[CLS] + positions[0] - positions[1])
    others = torch.arange(len(words)) != CLS
    assert torch.equal(state[WORDS][others], words[others])


def test_the_chain_is_in_the_records(bert: Path, statements: RunFolder, tmp_path: Path) -> None:
    child = make_run(tmp_path / "child", "task=sqa", "seed=4", "backbone=run", f"backbone.path={statements.path}")
    origin = origin_of(train_config("task=wtq", "backbone=run", f"backbone.path={child.path}").backbone)
    assert (origin["run"], origin["task"], origin["seed"], origin["state"]) == (str(child.path), "sqa", 4, "done")
    assert origin["weights"] == content_hash([child.path / "best" / "model.safetensors"])
    assert origin["command"][1:3] == ["train", "task=sqa"]
    parent = origin["origin"]
    assert (parent["run"], parent["task"], parent["origin"]) == (
        str(statements.path),
        "tabfact",
        {"backbone": "folder", "weights": content_hash([bert / "model.safetensors"])},
    )


def test_a_run_that_cannot_be_started_from_is_one_line(statements: RunFolder, tmp_path: Path) -> None:
    for path, words in ((tmp_path, "is not a run folder"), (tmp_path / "none", "is not a run folder")):
        with pytest.raises(UserError, match=words):
            start("backbone=run", f"backbone.path={path}")
    unfinished = RunFolder(tmp_path / "unfinished")
    unfinished.path.mkdir()
    unfinished.config_file.write_bytes(statements.config_file.read_bytes())
    unfinished.set_status("interrupted")
    with pytest.raises(UserError, match=r"has no model yet \(it is interrupted\)"):
        start("backbone=run", f"backbone.path={unfinished.path}")


def test_a_run_does_not_start_from_itself(statements: RunFolder) -> None:
    own = ("name=statements", f"paths.runs={statements.path.parent.parent}", "overwrite=true")
    config = train_config("task=tabfact", *own, "backbone=run", f"backbone.path={statements.path}")
    config.task.name = statements.path.parent.name
    assert run_path(config, current_identity(config)) == statements.path
    with pytest.raises(UserError, match="is the run to be trained"):
        train(config, QUIET)
    assert statements.weights_file.is_file()


def test_an_ablation_starts_from_the_run_that_it_is_about(statements: RunFolder, tmp_path: Path) -> None:
    path, folder = f"backbone.path={statements.path}", RunFolder(tmp_path / "run")
    check_parent(train_config("task=sqa", "ablation=with_statements", path), folder)
    with pytest.raises(UserError, match=r"with model\.heads=full, and .* has model\.heads=mate"):
        check_parent(train_config("task=hybridqa", "ablation=without_sparse_pretraining", path), folder)
    selector = make_run(tmp_path / "selector", "task=sample", "model=tapas", "backbone=run", path)
    path = f"backbone.path={selector.path}"
    check_parent(train_config("task=hybridqa", "ablation=without_sparse_pretraining", path), folder)
    with pytest.raises(UserError, match=r"with task\.kind=entailment, and .* has task\.kind=cell_selection"):
        check_parent(train_config("task=sqa", "ablation=with_statements", path), folder)


def test_a_vocabulary_of_another_model_is_one_line(bert: Path, tmp_path: Path) -> None:
    pieces = (bert / "vocab.txt").read_text(encoding="utf-8").split("\n")
    for number, changed in enumerate((pieces[:20000], [*pieces, "one", "too", "many"])):
        other = tmp_path / str(number)
        other.mkdir()
        for name in ("config.json", "model.safetensors"):
            (other / name).write_bytes((bert / name).read_bytes())
        (other / "vocab.txt").write_text("\n".join(changed), encoding="utf-8")
        with pytest.raises(UserError, match=r"vocabulary .* has \d+ pieces, .* embeddings have 30522 rows") as caught:
            start("backbone=folder", f"backbone.path={other}")
        assert "\n" not in str(caught.value)
