"""`mate analyze analysis=flow`: shares against attention made by hand, a count pair by pair, and Hugging Face."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from transformers import TapasConfig, TapasModel

from mate_cli.analysis.flow import TARGETS, Target, attention_flow, count_pairs, pair_targets, uniform_flow
from mate_cli.cli.main import main
from mate_cli.encoding.batch import Collator
from mate_cli.models.cell_selection import MateForCellSelection
from mate_cli.models.configuration import MateConfig
from mate_cli.models.variants import make_planner
from mate_cli.reporting.flow import FlowReport, distance, flow_markdown
from mate_cli.reporting.published import FLOW_ATTENTION, FLOW_UNIFORM
from mate_cli.system.errors import UserError
from tests.models.conftest import SMALL, table_ids
from tests.models.test_against_huggingface import SHARED_FIELDS
from tests.training.made_runs import make_bert, make_run

HEADS = {"mate": ("row",) * 3 + ("column",) * 3, "full": ("full",) * 6, "row_or_column": ("row_or_column",) * 6}


def encoded(seed: int, question: int, rows: int, columns: int) -> dict[str, np.ndarray]:
    """A row of the cache, as far as a model reads it; [CLS] and [SEP] are in the question."""
    ids, types = table_ids(np.random.default_rng(seed), question, rows, columns)
    names = ("segment", "column", "row", "prev_label", "column_rank", "inv_column_rank", "numeric_relation")
    own = dict(zip(names, types.T, strict=True))
    constants = {
        "id": str(seed),
        "label": -1,
        "operator": -1,
        "answer_value": np.nan,
        "cell_value": np.zeros(rows * columns),
    }
    return {"input_ids": ids, **own, "position": np.zeros_like(ids), "labels": np.zeros_like(ids), **constants}


def small_model(heads: str) -> MateForCellSelection:
    torch.manual_seed(2)
    return MateForCellSelection(MateConfig(**{**SMALL, "heads": heads})).eval()


def flow_of(model: MateForCellSelection, examples: list[dict[str, np.ndarray]], together: int = 1):
    collate = Collator(make_planner(model.config, "eager"))
    return attention_flow(model, (collate(examples[n : n + together]) for n in range(0, len(examples), together)))


def meets(example: dict[str, np.ndarray], source: int, token: int) -> tuple[str, bool | None, bool | None]:
    """What a source meets at a token, in the words of the paper's table."""
    row, column, segment = (example[name] for name in ("row", "column", "segment"))
    if token == 0:
        return "[CLS]", None, None
    if segment[token] == 0:
        return "question", None, None
    same_column = bool(column[source] == column[token])
    if row[token] == 0:
        return "header", same_column, None
    return "table", same_column, bool(row[source] == row[token])


def sources_of(example: dict[str, np.ndarray]) -> list[int]:
    return [n for n in range(len(example["row"])) if example["segment"][n] and example["row"][n]]


def is_seen(kind: str, target: Target) -> bool:
    """Whether a head lets a source see a target; to a row head the header is another row."""
    lines = {"row": [target.same_row], "column": [target.same_column], "row_or_column": target[1:]}
    return target.kind in ("[CLS]", "question") or kind == "full" or any(lines[kind])


TABLES = st.tuples(st.integers(0, 99), st.integers(2, 6), st.integers(1, 4), st.integers(1, 4))


@settings(max_examples=25)
@given(st.lists(TABLES, min_size=1, max_size=3), st.sampled_from(sorted(HEADS)), st.integers(1, 3))
def test_every_column_sums_to_one_and_keeps_to_the_pattern(shapes, heads, together):
    flow = flow_of(small_model(heads), [encoded(*shape) for shape in shapes], together)
    assert flow.heads == HEADS[heads]
    assert flow.attention.shape == (2, 6, 8)
    np.testing.assert_allclose(flow.attention.sum(-1), 1, atol=1e-5)
    np.testing.assert_allclose([flow.uniform.sum(), flow.pairs.sum()], 1)
    for number, kind in enumerate(flow.heads):
        unseen = [place for place, target in enumerate(TARGETS) if not is_seen(kind, target)]
        assert not flow.attention[:, number, unseen].any()


@settings(max_examples=25)
@given(st.lists(TABLES, min_size=1, max_size=3))
def test_the_baselines_are_those_of_a_count_pair_by_pair(shapes):
    examples = [encoded(*shape) for shape in shapes]
    counts = [Counter(meets(e, s, t) for s in sources_of(e) for t in range(len(e["row"]))) for e in examples]
    pairs = np.array([[count[target] for target in TARGETS] for count in counts])
    for example, own in zip(examples, pairs, strict=True):
        np.testing.assert_array_equal(count_pairs(*(example[name] for name in ("row", "column", "segment"))), own)
    flow = uniform_flow(examples)
    sources, lengths = [len(sources_of(e)) for e in examples], np.array([len(e["row"]) for e in examples])
    assert (flow.examples, flow.sources) == (len(examples), sum(sources))
    np.testing.assert_allclose(flow.uniform, (pairs / lengths[:, None]).sum(0) / sum(sources))
    np.testing.assert_allclose(flow.pairs, pairs.sum(0) / pairs.sum())


def test_attention_made_by_hand_gives_the_flows_of_a_hand():
    """[CLS] q [SEP] | a b | x y1 y2 / z w, where y1 and y2 are one cell: sources x, y1, y2, z, w."""
    row, column, segment = torch.tensor(
        [[0, 0, 0, 0, 0, 1, 1, 1, 2, 2], [0, 0, 0, 1, 2, 1, 2, 2, 1, 2], [0, 0, 0, 1, 1, 1, 1, 1, 1, 1]]
    )
    attention = torch.zeros(2, 10, 10)
    attention[0, :, 0] = 1  # the first head looks at [CLS] alone
    by_source = {
        5: {2: 0.5, 3: 0.25, 4: 0.25},  # x: [SEP], its header, the other one
        6: {7: 1.0},  # y1: its own cell
        7: {5: 0.75, 9: 0.25},  # y2: its row; its column
        8: {6: 1.0},  # z: neither row nor column
        9: {1: 0.5, 9: 0.5},  # w: the question, itself
        3: {0: 1.0},  # a header is no source
    }
    for source, weights in by_source.items():
        for token, weight in weights.items():
            attention[1, source, token] = weight
    sums = pair_targets(row, column, segment).sums(attention)
    assert sums.tolist() == [[5, 0, 0, 0, 0, 0, 0, 0], [0, 1.0, 0.25, 0.25, 1.0, 0.75, 0.25, 1.5]]


def test_the_attention_is_that_of_hugging_face():
    model = small_model("full")
    model.config.reset_position_index_per_cell = False
    fields = {name: getattr(model.config, name) for name in SHARED_FIELDS}
    twin = TapasModel(TapasConfig(**fields, attn_implementation="eager")).eval()
    twin.load_state_dict(model.tapas.state_dict())
    examples = [encoded(1, 4, 3, 2), encoded(2, 3, 2, 4)]
    expected, sources = np.zeros((2, 6, 8)), 0
    for example in examples:
        example["position"] = np.arange(len(example["input_ids"]))
        types = np.stack(list(example.values())[1:8], -1)
        inputs = {
            "input_ids": torch.from_numpy(example["input_ids"])[None],
            "token_type_ids": torch.from_numpy(types)[None],
        }
        with torch.no_grad():
            attentions = torch.stack(twin(**inputs, output_attentions=True).attentions)[:, 0].numpy()
        for source in sources_of(example):
            sources += 1
            for token in range(len(example["row"])):
                expected[..., TARGETS.index(meets(example, source, token))] += attentions[:, :, source, token]
    flow = flow_of(model, examples, together=2)
    np.testing.assert_allclose(flow.attention, expected / sources, atol=1e-5)
    assert np.abs(flow.attention.mean((0, 1)) - flow.uniform).max() > 0.01  # or the test would show nothing


def test_heads_that_do_not_look_are_uniform():
    model = small_model("full")
    for layer in model.tapas.encoder.layer:
        torch.nn.init.zeros_(layer.attention.self.query.weight)
    flow = flow_of(model, [encoded(1, 4, 3, 2), encoded(2, 3, 2, 4)])
    np.testing.assert_allclose(flow.attention, np.broadcast_to(flow.uniform, (2, 6, 8)), atol=1e-6)


def test_the_papers_columns_sum_to_100_and_have_its_ratios():
    """Paper table 7."""
    assert sum(FLOW_ATTENTION) == pytest.approx(100)
    assert sum(FLOW_UNIFORM) == pytest.approx(100)
    ratios = np.array(FLOW_ATTENTION) / FLOW_UNIFORM
    np.testing.assert_allclose(ratios, [44.46, 10.13, 1.32, 3.37, 0.34, 0.87, 0.70, 2.93], rtol=0.01, atol=0.01)
    assert distance(np.array(FLOW_UNIFORM) / 100, FLOW_UNIFORM) == pytest.approx(0)
    assert distance(np.eye(8)[0], (0,) * 7 + (100,)) == 100


def test_the_paper_stands_beside_its_own_examples_only():
    flow = uniform_flow([encoded(1, 4, 3, 2)])
    assert "| paper: attention | paper: uniform |" in flow_markdown(FlowReport("a", flow, True), ["analyze"])
    assert "paper" not in flow_markdown(FlowReport("a", flow, False), ["analyze"])


def analyze(*words: str) -> int:
    return main(["analyze", "analysis=flow", "hardware=cpu", "hardware.workers=0", *words])


def test_the_command_on_a_trained_run(trained, tmp_path: Path, capsys):
    assert analyze(f"run={trained.run}", "split=test", f"to={tmp_path}") == 0, capsys.readouterr().err
    assert "it, sample test: attention by target" in capsys.readouterr().out
    record = json.loads((tmp_path / "flow.json").read_text())
    assert (record["examples"], record["heads"]) == (170, ["row", "row", "column", "column"])
    everything = np.array(record["by_layer_and_head"])
    np.testing.assert_allclose(everything.sum(-1), 1, atol=1e-5)
    np.testing.assert_allclose(record["attention"], everything.mean((0, 1)))
    markdown = (tmp_path / "flow.md").read_text()
    assert f"| table | yes | yes | {record['attention'][7] / record['uniform'][7]:.2f} |" in markdown
    assert markdown.count("\n| 1 ") == 2  # the first layer, the first head
    assert (tmp_path / "flow.png").read_bytes()[1:4] == b"PNG"


def test_the_command_on_a_folder_of_hugging_face_and_on_none(tmp_path: Path, capsys, trained):
    bert = make_bert(tmp_path / "bert")
    words = ["task=sample", "schedule=smoke", "split=test"]
    assert analyze(*words, "backbone=folder", f"backbone.path={bert}", f"to={tmp_path / 'a'}") == 0
    assert "bert as tapas, sample test" in capsys.readouterr().out
    record = json.loads((tmp_path / "a" / "flow.json").read_text())
    assert record["heads"] == ["full"] * 4
    assert analyze(*words, "analysis.baseline_only=true", f"to={tmp_path / 'b'}") == 0
    alone = json.loads((tmp_path / "b" / "flow.json").read_text())
    assert sorted(file.name for file in (tmp_path / "b").iterdir()) == ["flow.json", "flow.md"]
    assert alone["uniform"] == record["uniform"]
    assert "attention" not in alone


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "run is missing: write run=..., or task=NAME with backbone=..."),
        (["run=nowhere"], "run=nowhere: there is no such folder"),
        (["run=READER"], "task=sample reads single cells"),
        (["run=LINFORMER"], "attends to projections of the input"),
        (["run=TABLE_ETC"], "attends to global tokens that are not in the input"),
        (["run=MATE_BUCKETED"], "attends in buckets"),
        (["task=sample", "model=linformer"], "attends to projections of the input"),
        (["task=sample", "model=reformer"], "model=reformer is for mate bench only"),
        (["task=sample_reader"], "task=sample_reader reads single cells"),
        (["task=mlm"], "task=mlm asks no questions"),
        (["task=wtq", "backbone=tiny"], "task=wtq needs data_dir=DIR"),
        (["run=RUN", "task=wtq"], "task=wtq needs data_dir=DIR"),
        (["run=RUN", "analysis.baseline_only=true"], "analysis.baseline_only looks at no run"),
        (["run=RUN", "schedule=smoke"], "schedule says how to read a task: add task=NAME"),
        (["task=sample", "backbone=folder", "backbone.path=nowhere"], "backbone.path=nowhere: there is no such folder"),
    ],
)
def test_what_is_refused(trained, tmp_path: Path, capsys, words, message):
    named = []
    for word in words:
        name, _, value = word.partition("=")
        if name == "run" and value in ("LINFORMER", "TABLE_ETC", "MATE_BUCKETED"):
            value = make_run(tmp_path / "run", f"model={value.lower()}", "backbone=tiny", "schedule=smoke").path
        value = {"RUN": trained.run, "READER": trained.reader}.get(value, value)
        named.append(f"{name}={value}")
    assert analyze(*named, f"to={tmp_path / 'out'}") == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1
    assert not (tmp_path / "out").exists()


def test_headers_alone_are_nothing_to_look_at():
    only = {**encoded(0, 4, 1, 2), "row": np.zeros_like(encoded(0, 4, 1, 2)["row"])}
    with pytest.raises(UserError, match="no table of the split has a row below its header"):
        flow_of(small_model("full"), [only])
