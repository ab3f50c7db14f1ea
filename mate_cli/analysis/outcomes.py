"""What a run, or a selector with a reader, answered on a split: read back from its folder, with the questions."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mate_cli.config import SELECTORS, PathsConfig, load_run_config
from mate_cli.encoding.source import DataSource
from mate_cli.errors import UserError
from mate_cli.metrics.cell_selection import KS, example_places
from mate_cli.tables.table import Coordinate, Example
from mate_cli.training.pointr import Stage, open_stage
from mate_cli.training.run_folder import RunFolder
from mate_cli.training.splits import data_source


@dataclass(frozen=True)
class Outcomes:
    """The answered questions of a split, in the order of the data, and what was made of them.

    Attributes:
        records: by question id; of a selector ``{"cells": [{"row", "column", "probability"}, ...]}``, empty where
            it could not read the question; of a pipeline as ``reporting.pointr.question_records`` has them.
        selector: None where it is no trained run; reader: None where cells alone are selected.
    """

    path: Path
    examples: tuple[Example, ...]
    records: Mapping[str, Mapping[str, Any]]
    selector: Stage | None
    reader: Stage | None

    def measures(self) -> dict[str, NDArray[np.float64]]:
        """One value per question and measure, float64 ``[questions]``: Hits@k of cells, or EM and F1 of answers."""
        records = [self.records[example.id] for example in self.examples]
        if self.reader is not None:
            return {"EM": _column(records, "exact"), "F1": _column(records, "f1")}
        ranked = {name: [_place(cell) for cell in record["cells"]] for name, record in self.records.items()}
        places = example_places(self.examples, ranked)
        return {f"Hits@{k}": (places < k).astype(np.float64) for k in KS}

    def chosen(self, example: Example) -> Coordinate | None:
        """The cell that the answer is from; None where no cell could be read."""
        record = self.records[example.id]
        number = record.get("chosen", 0 if record["cells"] else None)
        return None if number is None else _place(record["cells"][number])


def open_outcomes(folder: str, split: str, data_dir: str | None, paths: PathsConfig) -> Outcomes:
    """What the folder of a run, or of a pipeline's answers, holds of a split.

    Args:
        data_dir: where the data is, if no longer where it was in training.

    Raises:
        UserError: the folder holds no such answers, the split is blind, or the data is not what was answered.
    """
    path = Path(folder)
    if (path / "pipeline.json").is_file():
        return _pipeline(path, split, data_dir, paths)
    config = load_run_config(path)
    if config.task.kind != "cell_selection":
        raise UserError(
            f"{path} is a run of task={config.task.name}; this analysis is for cell selectors, and folders that "
            "mate evaluate selector=... reader=... makes"
        )
    lines = _lines(path / f"predictions-{split}.jsonl", f"mate evaluate run={path} split={split}")
    ranked = {line["id"]: {"cells": _ranked_cells(line)} for line in lines}
    stage = Stage(RunFolder(path), config)
    examples = _answered(stage, split, data_dir, paths)
    scored = RunFolder(path).metrics_file
    count = json.loads(scored.read_text(encoding="utf-8"))[split]["questions"] if scored.is_file() else None
    if count != len(examples) or not ranked.keys() <= {example.id for example in examples}:
        raise UserError(f"{path} was scored on other questions than {split} has here; say where they are: data_dir=DIR")
    return Outcomes(path, examples, {e.id: ranked.get(e.id, {"cells": []}) for e in examples}, stage, None)


def _pipeline(path: Path, split: str, data_dir: str | None, paths: PathsConfig) -> Outcomes:
    stages = json.loads((path / "pipeline.json").read_text(encoding="utf-8"))
    untrained = stages["selector"] in SELECTORS
    selector = None if untrained else open_stage("selector", stages["selector"], ("cell_selection",), paths)
    reader = open_stage("reader", stages["reader"], ("span_reading",), paths)
    command = f"mate evaluate selector={stages['selector']} reader={stages['reader']} split={split} to={path}"
    records = {line["id"]: line for line in _lines(path / f"records-{split}.jsonl", command)}
    examples = tuple(example for example in _answered(reader, split, data_dir, paths) if example.id in records)
    if len(examples) < len(records):
        raise UserError(f"{path} answers other questions than {split} has here; say where they are: data_dir=DIR")
    return Outcomes(path, examples, records, selector, reader)


def _answered(stage: Stage, split: str, data_dir: str | None, paths: PathsConfig) -> tuple[Example, ...]:
    examples = _read_answered(data_source(stage.config.task, split, data_dir or stage.config.data_dir, paths))
    if not examples:
        raise UserError(f"split={split} is blind: without answers none is known to be right or wrong")
    return examples


@lru_cache(maxsize=1)  # runs that are compared share their questions
def _read_answered(source: DataSource) -> tuple[Example, ...]:
    return tuple(example for example in source.read().examples if example.answers is not None)


def _lines(file: Path, command: str) -> list[dict[str, Any]]:
    """The objects of a file of ours, one a line; ``command`` makes it."""
    if not file.is_file():
        raise UserError(f"{file} is not there; {command} writes it")
    try:
        return [dict(json.loads(line)) for line in file.read_text(encoding="utf-8").splitlines()]
    except (OSError, ValueError) as error:
        raise UserError(f"cannot read {file} ({error}); {command} writes it anew") from error


def _ranked_cells(line: Mapping[str, Any]) -> list[dict[str, Any]]:
    pairs = zip(line["cells"], line["probabilities"], strict=True)
    return [{"row": row, "column": column, "probability": p} for (row, column), p in pairs]


def _place(cell: Mapping[str, Any]) -> Coordinate:
    return int(cell["row"]), int(cell["column"])


def _column(records: list[Mapping[str, Any]], name: str) -> NDArray[np.float64]:
    return np.array([record[name] for record in records], dtype=np.float64)
