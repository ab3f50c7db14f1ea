"""Answer the questions of a split with a PointR pipeline, and fit the weight that joins its stages."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from rich.console import Console

from mate_cli.config.evaluation import EvaluateConfig
from mate_cli.config.task import active_schedule
from mate_cli.encoding.source import DataSource, DrawnSource, PartSource, SplitSource
from mate_cli.inference.pointr import read_cells, select
from mate_cli.inference.stages import Pipeline, Stage
from mate_cli.metrics.cell_selection import KS
from mate_cli.runs.folder import RunFolder, make_folder, read_record
from mate_cli.runs.provenance import environment
from mate_cli.system.errors import UserError
from mate_cli.system.files import hold, write_json
from mate_cli.tables.hybridqa import Gold, read_gold
from mate_cli.tables.table import Example
from mate_cli.tasks.pointr import ReadCell, WeightFit, choose, fit_weight
from mate_cli.training.splits import data_source


@dataclass(frozen=True)
class Answers:
    """The cells that a pipeline read for each question, and the weight of the reader.

    Attributes:
        gold: of every question that is scored, including those without a table, which stay unanswered.
        cells: question id -> the cells read, in the selector's order.
        numbers: name -> number of cells to choose from, None for all; the last entry is the requested one.
        fit: the fit of the weight, if it was fitted on these questions.
        limit: how many questions were drawn of the split; None: it is whole.
    """

    examples: tuple[Example, ...]
    gold: dict[str, Gold]
    cells: dict[str, tuple[ReadCell, ...]]
    numbers: dict[str, int | None]
    weight: float
    fit: WeightFit | None = None
    limit: int | None = None

    def predictions(self, name: str) -> dict[str, str]:
        """Question id -> answer, for every question of ``gold``; "" if no cell was read."""
        answers = {}
        for question in self.gold:
            cells = self.cells.get(question, ())[: self.numbers[name]]
            chosen = choose(cells, self.weight)
            answers[question] = "" if chosen is None else cells[chosen].span
        return answers


def answer_split(config: EvaluateConfig, pipeline: Pipeline, weight: float | None, console: Console) -> Answers:
    """Select cells, read them, and weigh both stages.

    Args:
        weight: of the reader; None fits it on the questions, which must have answers, about tables that neither stage
            was trained on, if there are such tables.

    Raises:
        UserError: the data is missing.
    """
    trained = pipeline.reader.config
    whole = data_source(trained.task, config.split, config.data_dir or trained.data_dir, config.paths)
    part = whole if weight is not None else _unseen_part(pipeline, whole, console)
    source = part if config.limit is None else DrawnSource(part, config.limit)
    examples = source.read().examples
    gold = read_gold(whole.data_dir, whole.split)
    if source is not whole:
        gold = {example.id: gold[example.id] for example in examples}
    selection = select(pipeline, source, examples, config.top, config.hardware, console)
    cells = read_cells(pipeline, examples, selection, config.hardware, console)
    if isinstance(pipeline.selector, str):
        numbers: dict[str, int | None] = {pipeline.selector: None}
    else:
        numbers = {f"top {k}": k for k in sorted({*(k for k in KS if k < config.top), config.top})}
    if weight is not None:
        return Answers(examples, gold, cells, numbers, weight, limit=config.limit)
    answered = {name: question.answers for name, question in gold.items() if question.answers is not None}
    fit = fit_weight([cells.get(name, ()) for name in answered], list(answered.values()))
    return Answers(examples, gold, cells, numbers, fit.weight, fit, config.limit)


def _unseen_part(pipeline: Pipeline, train: DataSource, console: Console) -> SplitSource:
    """Return the part of ``train`` that both stages held out; all of it, with a warning, if there is none.

    Stages are too sure of what they have learned, and one may be more so than the other.
    """
    stages = [stage for stage in (pipeline.selector, pipeline.reader) if isinstance(stage, Stage)]
    share = min(active_schedule(stage.config).held_out for stage in stages)  # a smaller share is part of a greater
    if share:
        return PartSource(train, share, held_out=True)
    console.print("the weight is fitted on questions that a stage was trained on; a schedule with held_out keeps some")
    return train


def known_weight(config: EvaluateConfig, folder: RunFolder, mark: str) -> float | None:
    """The weight given or fitted before; None if it is to be fitted now, on ``train``.

    Args:
        mark: of the data (``runs.other_data``); where none was fitted on other data, that of the stages' own counts.

    Raises:
        UserError: a weight is needed, and neither given nor fitted.
    """
    if config.weight is not None or config.top == 1:
        return 1.0 if config.weight is None else config.weight
    if config.split == "train":
        return None
    known = read_record(folder.metrics_file)
    stored = known.get(f"weight{mark}", known.get("weight"))
    if stored is None:
        raise UserError(
            f"top={config.top} needs a weight, and {folder.path} has none: give weight=1.0, or fit it on training data "
            f"by the same command with split=train top={config.top} limit=1000"
        )
    return float(stored["value"])


@contextmanager
def results_folder(folder: RunFolder, pipeline: Pipeline) -> Iterator[None]:
    """Lock a folder for the results of one pipeline; remove a new one if the work fails.

    Raises:
        UserError: it holds other results, is in use by another process, or cannot be written.
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
