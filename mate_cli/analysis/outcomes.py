"""Answers of a run, or of a selector with a reader, on a split, read from its folder together with the questions."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from mate_cli.config.evaluation import SELECTORS
from mate_cli.config.paths import PathsConfig
from mate_cli.encoding.source import DataSource
from mate_cli.inference.stages import Stage, recorded_stage
from mate_cli.kinds.kind import Judgement
from mate_cli.kinds.registry import kind_of
from mate_cli.metrics.cell_selection import KS, example_places
from mate_cli.metrics.denotation import answer_texts
from mate_cli.metrics.wtq import gold_values
from mate_cli.runs.folder import RunFolder, load_run_config, read_record
from mate_cli.runs.other_data import data_mark
from mate_cli.system.errors import UserError
from mate_cli.system.files import read_json_lines
from mate_cli.tables.aggregation import NONE
from mate_cli.tables.prediction_files import TAGGED, read_tagged
from mate_cli.tables.table import Coordinate, Example
from mate_cli.training.splits import data_source


@dataclass(frozen=True)
class Outcomes(ABC):
    """The questions of a split with known answers, in the order of the data, and the predictions.

    Attributes:
        records: predictions by question id.
    """

    path: Path
    examples: tuple[Example, ...]
    records: Mapping[str, Mapping[str, Any]]

    @property
    @abstractmethod
    def trained(self) -> Stage | None:
        """The run that the outcomes are named after; None if nothing is trained."""

    @property
    @abstractmethod
    def compared_by(self) -> str:
        """The kind of answers; only outcomes of one kind can be compared."""

    @property
    @abstractmethod
    def unread(self) -> int:
        """Number of questions that did not fit."""

    @abstractmethod
    def measures(self) -> dict[str, NDArray[np.float64]]:
        """Return the values of each measure, float64; the first has one per question, 0 for a wrong answer."""

    def groups(self) -> dict[str, NDArray[np.int64]]:
        """Return the group of each value, for measures whose values are drawn in groups by ``bootstrap``."""
        return {}

    def in_order_of(self, names: Sequence[str]) -> Self:
        """Return the same with the questions in the order of these ids, one for each question."""
        by_id = {example.id: example for example in self.examples}
        return replace(self, examples=tuple(by_id[name] for name in names))


@dataclass(frozen=True)
class CellOutcomes(Outcomes):
    """Cells chosen by a selector, or the answers that a reader read in them.

    Attributes:
        records: of a selector ``{"cells": [{"row", "column", "probability"}, ...]}``, without cells if the question did
            not fit; of a pipeline as ``reporting.pointr.question_records`` writes them.
        selector: None if it is not a trained run.
        reader: None if only cells are selected.
    """

    selector: Stage | None
    reader: Stage | None

    @property
    def trained(self) -> Stage | None:
        return self.selector or self.reader

    @property
    def compared_by(self) -> str:
        return "cells" if self.reader is None else "spans"

    @property
    def unread(self) -> int:
        return sum(not self.records[example.id]["cells"] for example in self.examples)

    def measures(self) -> dict[str, NDArray[np.float64]]:
        """Return Hits@k of cells, or EM and F1 of answers, one value per question."""
        records = [self.records[example.id] for example in self.examples]
        if self.reader is not None:
            return {"EM": _column(records, "exact"), "F1": _column(records, "f1")}
        ranked = {name: [_place(cell) for cell in record["cells"]] for name, record in self.records.items()}
        places = example_places(self.examples, ranked)
        return {f"Hits@{k}": (places < k).astype(np.float64) for k in KS}

    def chosen(self, example: Example) -> Coordinate | None:
        """Return the cell of the answer; None if the question did not fit."""
        record = self.records[example.id]
        number = record.get("chosen", 0 if record["cells"] else None)
        return None if number is None else _place(record["cells"][number])


@dataclass(frozen=True)
class TableOutcomes(Outcomes):
    """Answers of a run on SQA, WikiTableQuestions or TabFact, with the official measure of each.

    Attributes:
        records: the predictions as written; a question that did not fit has none.
        judge: by the official measures of the kind of task, the answers to questions in their order.
    """

    stage: Stage
    judge: Callable[[Sequence[Example]], Judgement]

    @cached_property
    def judgement(self) -> Judgement:
        return self.judge(self.examples)

    @property
    def trained(self) -> Stage:
        return self.stage

    @property
    def compared_by(self) -> str:
        return f"answers of task={self.stage.config.task.name}"

    @property
    def unread(self) -> int:
        return len(self.examples) - len(self.records)

    def measures(self) -> dict[str, NDArray[np.float64]]:
        return {name: values.astype(np.float64) for name, values in self.judgement.right.items()}

    def groups(self) -> dict[str, NDArray[np.int64]]:
        return dict(self.judgement.groups)

    def cells(self, example: Example) -> list[Coordinate]:
        """Return the chosen cells; a verdict has none."""
        return [(row, column) for row, column in self.records.get(example.id, {}).get("cells", ())]

    def answer(self, example: Example) -> tuple[str, ...]:
        """Return the answer of cells and operator in words; empty if the question did not fit."""
        operator = self.records.get(example.id, {}).get("aggregation", NONE.name)
        return answer_texts(example.table, self.cells(example), operator)


def open_outcomes(folder: str, split: str, data_dir: str | None, paths: PathsConfig) -> CellOutcomes | TableOutcomes:
    """Read the answers to a split from the folder of a run or of a pipeline.

    Args:
        data_dir: folder of the data, if it has moved since training.

    Raises:
        UserError: the folder has no such answers, the split is blind, or the data differs from what was answered.
    """
    path = Path(folder)
    if (path / "pipeline.json").is_file():
        return _pipeline(path, split, data_dir, paths)
    stage = Stage(RunFolder(path), load_run_config(path))
    config, role = stage.config, stage.config.task.traits.role
    if role == "reader":
        raise UserError(
            f"{path} is a run of task={config.task.name}, a reader; name the folder that mate evaluate selector=... "
            f"reader={path} makes"
        )
    config.paths = paths
    label = _label(path, "predictions", split, data_mark(stage.folder, config, data_dir))
    command = f"mate evaluate run={path} split={split}" + (f" data_dir={data_dir}" if data_dir else "")
    lines = _lines(path / f"predictions-{label}.jsonl", command)
    source = data_source(config.task, split, data_dir or config.data_dir, paths)
    examples = _answered(source)
    count = read_record(stage.folder.metrics_file).get(label, {}).get("questions")  # a kill may have left it out
    if count != len(examples) or not {line["id"] for line in lines} <= {example.id for example in examples}:
        raise UserError(
            f"{path} was scored on other questions than {split} has here; name their folder: data_dir=DIR, or score "
            f"these: {command}"
        )
    if role == "selector":
        unread: dict[str, Any] = {example.id: {"cells": []} for example in examples}
        return CellOutcomes(path, examples, unread | {line["id"]: _ranked(line) for line in lines}, stage, None)
    answering = kind_of(config.task).answering
    if answering is None or answering.measures is None:
        raise UserError(f"{path} is a run of task={config.task.name}, and its kind gives no measures to analyse")
    records = {line["id"]: line for line in lines}
    gold, measures = gold_values(examples, read_tagged(source.data_dir / TAGGED)), answering.measures
    return TableOutcomes(path, examples, records, stage, lambda ordered: measures(ordered, records, gold))


def _pipeline(path: Path, split: str, data_dir: str | None, paths: PathsConfig) -> CellOutcomes:
    stages = json.loads((path / "pipeline.json").read_text(encoding="utf-8"))
    untrained = stages["selector"] in SELECTORS
    selector = None if untrained else recorded_stage("selector", stages["selector"], paths)
    reader = recorded_stage("reader", stages["reader"], paths)
    command = f"mate evaluate selector={stages['selector']} reader={stages['reader']} split={split} to={path}"
    label = _label(path, "records", split, data_mark(reader.folder, reader.config, data_dir))
    records = {line["id"]: line for line in _lines(path / f"records-{label}.jsonl", command)}
    source = data_source(reader.config.task, split, data_dir or reader.config.data_dir, paths)
    examples = tuple(example for example in _answered(source) if example.id in records)
    if len(examples) < len(records):
        raise UserError(f"{path} answers other questions than {split} has here; name their folder: data_dir=DIR")
    return CellOutcomes(path, examples, records, selector, reader)


def _label(path: Path, kind: str, split: str, mark: str) -> str:
    """Return the name that the answers go by: those of other data have its mark, except from earlier versions."""
    marked = f"{split}{mark}"
    return marked if any(path.glob(f"{kind}-{marked}.jsonl*")) else split


@lru_cache(maxsize=1)  # compared runs share their questions
def _answered(source: DataSource) -> tuple[Example, ...]:
    return with_answers(source.read().examples, source.split)


def with_answers(examples: Sequence[Example], split: str) -> tuple[Example, ...]:
    """Return the examples whose answer or label is known.

    Raises:
        UserError: there are none.
    """
    known = tuple(example for example in examples if (example.answers, example.label) != (None, None))
    if not known:
        raise UserError(f"split={split} is blind: its answers are not public; choose another split")
    return known


def _lines(file: Path, command: str) -> list[dict[str, Any]]:
    """Read the objects of a JSON-lines file that ``command`` writes, or of the same file packed by gzip."""
    found = next((path for path in (file, file.with_name(f"{file.name}.gz")) if path.is_file()), None)
    if found is None:
        raise UserError(f"{file} does not exist; create it with {command}")
    try:
        return read_json_lines(found)
    except (OSError, ValueError) as error:
        raise UserError(f"cannot read {found} ({error}); create it again with {command}") from error


def _ranked(line: Mapping[str, Any]) -> dict[str, list[dict[str, Any]]]:
    pairs = zip(line["cells"], line["probabilities"], strict=True)
    return {"cells": [{"row": row, "column": column, "probability": p} for (row, column), p in pairs]}


def _place(cell: Mapping[str, Any]) -> Coordinate:
    return int(cell["row"]), int(cell["column"])


def _column(records: list[Mapping[str, Any]], name: str) -> NDArray[np.float64]:
    return np.array([record[name] for record in records], dtype=np.float64)
