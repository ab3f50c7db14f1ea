"""For notebooks and other programs: a trained run, ready to answer on their own tables.

::

    from mate_cli.notebook import load_run

    run = load_run("runs/sample/demo")
    run.answer("Who is the mayor of Birch?", frame)["answer"]
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mate_cli.config.hardware import HardwareConfig
from mate_cli.config.train import TrainConfig
from mate_cli.inference.asked_tables import AskedTables
from mate_cli.inference.calibration import Calibration
from mate_cli.inference.caveats import caveats, withheld
from mate_cli.inference.predictor import Answerer
from mate_cli.models.model import MatePreTrainedModel
from mate_cli.runs.folder import RunFolder, load_run_config
from mate_cli.system.distribution import QUESTIONS, RELEASED, STATEMENTS, package_folder
from mate_cli.system.errors import UserError
from mate_cli.tables.table import Table
from mate_cli.tables.table_folder import TableFolder
from mate_cli.tables.user_arrow import frame_table

if TYPE_CHECKING:
    import pandas as pd


class LoadedRun:
    """A run's best model and what answers with it, in the precision of the device.

    Attributes:
        config: how it was trained; predictor: the model with its tokeniser and encoding.
    """

    def __init__(self, folder: RunFolder, config: TrainConfig, predictor: Answerer) -> None:
        self.folder, self.config, self.predictor = folder, config, predictor

    @property
    def model(self) -> MatePreTrainedModel:
        """The model in evaluation mode, a PyTorch module whose parameters have TAPAS's names."""
        return self.predictor.model

    @property
    def calibration(self) -> Calibration | None:
        """The calibration of its probabilities, with a threshold; None without ``mate evaluate calibrate=...``."""
        return self.predictor.calibration

    def answer(
        self,
        question: str,
        table: pd.DataFrame | Table | AskedTables,
        before: Sequence[str] = (),
        top: int = 5,
        threshold: float | None = None,
    ) -> dict[str, Any]:
        """What ``mate predict output=json`` prints: the answer and the cells that it stands in.

        Args:
            question: for a model of statements, the statement.
            table: what it is asked of; of a folder (``open_folder``), the table that it is about.
            before: the earlier questions of the conversation, first to last (SQA).
            top: how many cells a selector names.
            threshold: give no answer below this probability, only ``best_guess``; ``calibration.threshold`` is that of
                the held-out questions.

        Raises:
            UserError: the model answers no questions by itself, or the table is too large.
        """
        traits = self.config.task.traits
        if traits.asked is None:
            raise UserError(f"{self.folder.path}: a model of task={self.config.task.name} answers nothing by itself")
        if before and not traits.converses:
            raise UserError(f"{self.folder.path} was not trained on conversations; load a run of task=sqa")
        if not isinstance(table, AskedTables):
            table = AskedTables(table if isinstance(table, Table) else frame_table(table))
        table.search([question])
        record = self.predictor.record(table.example(question), before, top)
        remarks = [*table.remarks(question), *self.predictor.remarks, *caveats(self.config, record)]
        return withheld(record, threshold) | table.facts(question) | {"warnings": remarks}


def open_folder(path: str | Path) -> AskedTables:
    """A folder of tables, with those below it, for ``LoadedRun.answer``; its words are read once.

    Raises:
        UserError: it has no table that can be read.
    """
    return AskedTables(TableFolder(path))


def load_run(
    path: str | Path | None = None,
    max_tokens: int | None = None,
    hardware: HardwareConfig | None = None,
    statements: bool = False,
) -> LoadedRun:
    """A run folder, or a folder that ``mate export`` wrote, with its model; None: the released model, if installed.

    Args:
        statements: of the released model the part that judges statements, not the one that answers questions.
        max_tokens: of an input, in place of those in training; hardware: null for the fastest device here.

    Raises:
        UserError: it is neither, or its model is missing or broken.
    """
    released = STATEMENTS if statements else QUESTIONS
    folder = RunFolder(package_folder(RELEASED, released) if path is None else Path(path).expanduser())
    config = load_run_config(folder.path, max_tokens)
    if not folder.weights_file.is_file():
        raise UserError(f"{folder.path} has no model yet; train it to the end with resume=true")
    device = hardware or HardwareConfig(name="auto", micro_batch=1)
    return LoadedRun(folder, config, Answerer(folder, config, device))
