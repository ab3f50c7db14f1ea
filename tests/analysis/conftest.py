"""A trained selector and a pipeline's folder on the sample, for the analyses of what they answered."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from mate_cli.cli.main import main
from mate_cli.metrics.hybridqa import exact_match, f1
from mate_cli.tables import sample as sample_task
from mate_cli.tables.hybridqa import read_split
from mate_cli.tables.sample.write import write_sample
from mate_cli.tables.table import Coordinate, Example
from tests.training.conftest import TINY

Answer = Callable[[int, Example], tuple[Coordinate | None, str]]


@dataclass(frozen=True)
class Trained:
    """A tiny selector, scored on ``test``, and what passes for a reader of the same size; ``sample`` is the data."""

    run: Path
    reader: Path
    sample: Path
    examples: tuple[Example, ...]


@pytest.fixture(scope="session")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Trained:
    """On the whole sample, for shares and intervals want questions."""
    folder = tmp_path_factory.mktemp("analysis")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MATE_CACHE", str(folder / "cache"))
        patch.setattr(sample_task, "write_sample", write_sample)
        assert main(["train", *TINY, "name=it", f"paths.runs={folder}"]) == 0
    (sample,) = (path for path in (folder / "cache" / "sample").iterdir())
    examples = read_split(sample, "test").examples
    reader = shutil.copytree(folder / "sample" / "it", folder / "reader")
    config = (reader / "config.yaml").read_text()
    (reader / "config.yaml").write_text(config.replace("kind: cell_selection", "kind: span_reading"))
    return Trained(folder / "sample" / "it", reader, sample, examples)


@pytest.fixture(autouse=True)
def cached(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> None:
    """The analyses find the sample where training wrote it."""
    if "trained" in request.fixturenames:
        own = request.getfixturevalue("trained")
        monkeypatch.setenv("MATE_CACHE", os.fspath(own.sample.parent.parent))


@pytest.fixture
def pipeline(trained: Trained, tmp_path: Path) -> Callable[..., Path]:
    """Writes a pipeline's folder, as ``mate evaluate selector=... reader=...`` does, with answers of one's own."""

    def write(name: str, answer: Answer, examples: tuple[Example, ...] = trained.examples) -> Path:
        folder = tmp_path / name
        folder.mkdir()
        stages = {"selector": "oracle", "reader": str(trained.reader)}
        (folder / "pipeline.json").write_text(json.dumps(stages))
        records = (record_of(example, *answer(number, example)) for number, example in enumerate(examples))
        (folder / "records-test.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))
        return folder

    return write


def record_of(example: Example, cell: Coordinate | None, text: str) -> dict[str, Any]:
    """A record with one cell that was read, or none."""
    golds = example.answers or ()
    cells = [] if cell is None else [_read_cell(example, cell, text)]
    return {
        "id": example.id,
        "question": example.question,
        "table_id": example.table.id,
        "subset": example.subset,
        "gold": list(golds),
        "prediction": text,
        "exact": exact_match(text, golds),
        "f1": f1(text, golds),
        "candidates": [list(place) for place in example.candidates],
        "chosen": 0 if cells else None,
        "cells": cells,
    }


def _read_cell(example: Example, cell: Coordinate, text: str) -> dict[str, Any]:
    own = {"row": cell[0], "column": cell[1], "probability": 0.5, "text": example.table.rows[cell[0]][cell[1]].text}
    return own | {"span": text, "start": 0, "end": len(text), "span_probability": 0.25, "joint": 0.125}
