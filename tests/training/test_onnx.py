"""Exports for ONNX Runtime: the logits and answers of the model, whatever the tables, and what cannot be exported."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from mate_cli.commands import export
from mate_cli.config.commands import ExportConfig
from mate_cli.config.hardware import HardwareConfig
from mate_cli.config.rules import problems
from mate_cli.encoding.batch import Batch
from mate_cli.encoding.encode import encode, row_of
from mate_cli.inference.answerer import Answerer
from mate_cli.inference.onnx_model import OnnxModel
from mate_cli.runs.folder import RunFolder, load_run_config
from mate_cli.system.errors import UserError
from mate_cli.tables.table import Cell, Example, Table
from mate_cli.training import onnx_graph
from tests.models.test_padded import compare, parts
from tests.training.conftest import fast
from tests.training.made_runs import make_bert, make_run

HARDWARE = HardwareConfig(name="cpu", accelerator="cpu", precision="32")
RUNS = ("sample", "wtq", "tabfact")
WORDS = ("schedule=smoke", "backbone=folder")


def table(name: str, rows: int, columns: int) -> Table:
    words = ["Alder", "Birch 12", "Cedar tree", "7", ""]
    body = [[Cell(words[(3 * row + column) % 5]) for column in range(columns)] for row in range(rows)]
    return Table(name, tuple(Cell(f"column {n}") for n in range(columns)), tuple(map(tuple, body)))


EXAMPLES = (
    Example("usual", "How many cedar trees are there?", table("usual", 4, 3)),
    Example("no question", "", table("no question", 2, 2)),
    Example("one row", "Which is 7?", table("one row", 1, 5)),
    Example("one column", "Which is 7?", table("one column", 9, 1)),
    Example("one cell", "Which?", table("one cell", 1, 1)),
)


@pytest.fixture(scope="module")
def bert(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_bert(tmp_path_factory.mktemp("bert"), num_hidden_layers=1)


@pytest.fixture(scope="module")
def exports(tmp_path_factory: pytest.TempPathFactory, bert: Path) -> Callable[[str], tuple[Path, Path]]:
    """A run of a task and its export, each made once."""
    made: dict[str, tuple[Path, Path]] = {}

    def make(task: str) -> tuple[Path, Path]:
        if task not in made:
            folder = tmp_path_factory.mktemp(task)
            run = make_run(folder / "run", f"task={task}", "model=mate", *WORDS, f"backbone.path={bert}").path
            export.run(ExportConfig(str(run), str(folder / "to"), format="onnx", max_tokens=600))
            made[task] = run, folder / "to"
        return made[task]

    return make


@pytest.fixture(scope="module")
def small(exports: Callable[[str], tuple[Path, Path]], tmp_path_factory: pytest.TempPathFactory) -> Path:
    to = tmp_path_factory.mktemp("int8") / "to"
    export.run(ExportConfig(str(exports("wtq")[0]), str(to), format="onnx", quantize="int8"))
    return to


def opened(folder: Path, max_tokens: int | None = None) -> Answerer:
    return Answerer(RunFolder(folder), load_run_config(folder), HARDWARE, max_tokens)


def logits_of(answerer: Answerer, examples: tuple[Example, ...]) -> tuple[Batch, list[Tensor]]:
    encoded = encode(examples, answerer.tokenizer, answerer.options)
    batch = answerer.collator([row_of(*pair) for pair in zip(examples, encoded, strict=True)])
    with torch.no_grad():
        return batch, parts(answerer.task.logits(answerer.model, batch))


@pytest.mark.parametrize("task", fast("wtq", of=RUNS))
def test_logits_and_answers_are_those_of_the_model(task: str, exports: Callable[[str], tuple[Path, Path]]) -> None:
    model, graph = map(opened, exports(task))
    assert isinstance(graph.model, OnnxModel)
    for chosen in (EXAMPLES, EXAMPLES[::-1], *((example,) for example in EXAMPLES)):
        (batch, expected), (_, found) = logits_of(model, chosen), logits_of(graph, chosen)
        compare(found, expected, batch)
        answers = [example.id for example in chosen]
        assert [p.id for p in graph.task.predict(graph.model, batch)] == answers
    for example in EXAMPLES:
        ours, theirs = (answerer.record(example, (), 5) for answerer in (model, graph))
        assert flat(theirs) == pytest.approx(flat(ours), abs=1e-4)


def flat(value: Any, name: str = "") -> dict[str, Any]:
    """The leaves of a record."""
    if isinstance(value, dict | list):
        items = value.items() if isinstance(value, dict) else enumerate(value)
        return {key: leaf for part, inner in items for key, leaf in flat(inner, f"{name}.{part}").items()}
    return {name: value}


@pytest.mark.slow
def test_int8_is_small_and_near(exports: Callable[[str], tuple[Path, Path]], small: Path) -> None:
    """Near the logits of the model, but not the same."""
    run, whole = exports("wtq")
    assert (small / "model.onnx").stat().st_size < 0.5 * (whole / "model.onnx").stat().st_size
    assert "int8 weights" in (small / "README.md").read_text()
    (_, expected), (_, found) = (logits_of(opened(folder), EXAMPLES) for folder in (run, small))
    error, spread = (found[2] - expected[2]).abs().max(), expected[2].std()
    assert 0 < error < 0.5 * spread


def test_an_export_says_how_long_its_inputs_may_be(exports: Callable[[str], tuple[Path, Path]]) -> None:
    _, to = exports("wtq")
    assert "at most 600 tokens" in (to / "README.md").read_text()
    assert opened(to).options.max_tokens == 600
    assert opened(to, 100).options.max_tokens == 100
    with pytest.raises(UserError, match=r"reads at most 600 tokens, and max_tokens=601; export the run again"):
        opened(to, 601)


def test_a_file_that_is_no_graph_is_one_line(
    exports: Callable[[str], tuple[Path, Path]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, to = exports("wtq")
    content = (to / "model.onnx").read_bytes()
    for file in to.iterdir():
        (tmp_path / file.name).write_bytes(file.read_bytes())
    for broken in (b"", b"no graph", content[:1000]):
        (tmp_path / "model.onnx").write_bytes(broken)
        with pytest.raises(UserError, match=r"is no graph of mate export .*; export the run again") as caught:
            opened(tmp_path)
        assert "\n" not in str(caught.value)
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    with pytest.raises(UserError, match=r"needs onnxruntime; pip install '.\[onnx\]'"):
        opened(tmp_path)


def message_of(run: Path, to: Path, **keys: Any) -> str:
    with pytest.raises(UserError) as caught:
        export.run(ExportConfig(str(run), str(to), format="onnx", **keys))
    return str(caught.value)


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (("task=sqa", "model=linformer"), "the attention of model=linformer is no dense mask"),
        (("task=sqa", "model=table_etc"), "the attention of model=table_etc is no dense mask"),
        (("task=sqa", "model=mate_bucketed"), "the attention of model=mate_bucketed is no dense mask"),
        (("task=mlm", "model=mate"), "a run of task=mlm answers nothing by itself"),
        (("task=sample_reader", "model=mate"), "a run of task=sample_reader answers nothing by itself"),
    ],
)
def test_a_model_without_a_dense_mask_is_refused(
    words: tuple[str, ...], reason: str, bert: Path, tmp_path: Path
) -> None:
    run = make_run(tmp_path / "run", *words, *WORDS, f"backbone.path={bert}")
    assert reason in message_of(run.path, tmp_path / "to")
    assert not (tmp_path / "to").exists()


def test_what_cannot_be_written_is_one_line(
    exports: Callable[[str], tuple[Path, Path]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run, to = exports("wtq")
    assert "is an export already" in message_of(to, tmp_path / "to")
    export.run(ExportConfig(str(run), str(tmp_path / "weights")))
    assert "an export in another format" in message_of(run, tmp_path / "weights", overwrite=True)
    assert "overwrite=true replaces it" in message_of(run, to)
    find = onnx_graph.find_spec
    monkeypatch.setattr(onnx_graph, "find_spec", lambda name: None if name == "onnxscript" else find(name))
    assert "format=onnx needs onnx, onnxruntime and onnxscript; pip install '.[onnx]'" in message_of(
        run, tmp_path / "x"
    )


def test_each_format_has_its_keys() -> None:
    assert problems(ExportConfig("run", "to", format="onnx", quantize="int8", max_tokens=64)) == []
    assert problems(ExportConfig("run", "to", quantize="int8")) == ["quantize belongs to format=onnx"]
    assert problems(ExportConfig("run", "to", max_tokens=64)) == ["max_tokens belongs to format=onnx"]
    assert problems(ExportConfig("run", "to", format="onnx", dtype="float16")) == [
        "dtype belongs to format=safetensors"
    ]
