"""The answers of a two-stage pipeline to the questions of a split, and the weight that joins the stages."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

from rich.console import Console

from mate_cli.config.inference import EvaluateConfig
from mate_cli.encoding.source import DrawnSource
from mate_cli.inference.pointr import read_cells, select
from mate_cli.inference.stages import Pipeline
from mate_cli.metrics.cell_selection import KS
from mate_cli.runs.folder import RunFolder, make_folder, read_record
from mate_cli.runs.provenance import environment
from mate_cli.system.errors import UserError
from mate_cli.system.files import hold, remove_leftovers, write_json
from mate_cli.tables.hybridqa import Gold, read_gold
from mate_cli.tables.table import Example
from mate_cli.tasks.pointr import ReadCell, WeightFit, choose, fit_weight
from mate_cli.training.splits import data_source


@dataclass(frozen=True)
class Answers:
    """What the pipeline read of each question, and how the cells are weighed.

    Attributes:
        gold: of every question that counts, also of those whose table is not there, which have no answer.
        cells: question id -> the cells read, as the selector ranks them.
        numbers: how many of the cells are looked at, by the name of that choice; the last is what was asked for.
        fit: how the weight was found, where it was fitted on these questions.
    """

    examples: tuple[Example, ...]
    gold: dict[str, Gold]
    cells: dict[str, tuple[ReadCell, ...]]
    numbers: dict[str, int | None]
    weight: float
    fit: WeightFit | None = None

    def predictions(self, name: str) -> dict[str, str]:
        """Question id -> answer, "" where nothing was read; one for every question of ``gold``."""
        answers = {}
        for question in self.gold:
            cells = self.cells.get(question, ())[: self.numbers[name]]
            place = choose(cells, self.weight)
            answers[question] = "" if place is None else cells[place].span
        return answers


def answer_split(config: EvaluateConfig, pipeline: Pipeline, weight: float | None, console: Console) -> Answers:
    """Select, read and join.

    Args:
        weight: of the reader; None fits it on the questions, which must have answers.

    Raises:
        UserError: the data is not there.
    """
    trained = pipeline.reader.config
    whole = data_source(trained.task, config.split, config.data_dir or trained.data_dir, config.paths)
    source = whole if config.limit is None else DrawnSource(whole, config.limit)
    examples = source.read().examples
    gold = read_gold(whole.data_dir, whole.split)
    if config.limit is not None:
        gold = {example.id: gold[example.id] for example in examples}
    selection = select(pipeline, source, examples, config.top, config.hardware, console)
    cells = read_cells(pipeline, examples, selection, config.hardware, console)
    numbers = _numbers(pipeline, config.top)
    if weight is not None:
        return Answers(examples, gold, cells, numbers, weight)
    fit = _fit(gold, cells)
    return Answers(examples, gold, cells, numbers, fit.weight, fit)


def known_weight(config: EvaluateConfig, pipeline: Pipeline, folder: RunFolder) -> float | None:
    """The weight to use: the one given, or else fitted before; None where it is to be fitted now, on ``train``.

    Raises:
        UserError: it is needed, and neither given nor fitted.
    """
    if config.weight is not None or config.top == 1:
        return 1.0 if config.weight is None else config.weight
    if config.split == "train":
        return None
    stored = read_record(folder.metrics_file).get("weight")
    if stored is None:
        raise UserError(
            f"top={config.top} needs a weight, and {folder.path} has none: give weight=1.0, or fit it on training data "
            f"by the same command with split=train top={config.top} limit=1000"
        )
    return float(stored["value"])


@contextmanager
def results_folder(folder: RunFolder, pipeline: Pipeline) -> Iterator[None]:
    """Keep a folder for the results of one pipeline; a new one goes again where the work in it fails.

    Raises:
        UserError: it holds something else, is in use by another process, or cannot be written.
    """
    identity_file, identity = folder.path / "pipeline.json", pipeline.identity
    if folder.config_file.exists():
        raise UserError(f"{folder.path} is the folder of a run; choose another with to=DIR")
    if read_record(identity_file) not in ({}, identity):
        raise UserError(
            f"{folder.path} holds the results of other runs, or of these before they were trained again; choose "
            "another folder with to=DIR, or remove it"
        )
    is_new = make_folder(folder.path, "results folder", "to")
    lock = hold(folder.path)
    remove_leftovers(folder.path, ".*.tmp")
    try:
        yield
        write_json(identity_file, identity)
        write_json(folder.path / "environment.json", environment(sys.argv))
    except BaseException:
        if is_new:
            shutil.rmtree(folder.path, ignore_errors=True)
        raise
    finally:
        lock.release()


def _numbers(pipeline: Pipeline, top: int) -> dict[str, int | None]:
    if isinstance(pipeline.selector, str):
        return {pipeline.selector: None}
    return {f"top {k}": k for k in sorted({*(k for k in KS if k < top), top})}


def _fit(gold: Mapping[str, Gold], cells: Mapping[str, tuple[ReadCell, ...]]) -> WeightFit:
    answered = [name for name, own in gold.items() if own.answers is not None]
    return fit_weight([cells.get(name, ()) for name in answered], [gold[name].answers or () for name in answered])
