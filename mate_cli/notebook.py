"""For notebooks and other programs: a trained run, ready to answer on their own tables.

::

    from mate_cli import load_run

    run = load_run("runs/sample/demo")
    run.answer("Who is the mayor of Birch?", frame)["answer"]
"""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral, Real
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mate_cli.config.catalogue import typed_options
from mate_cli.config.hardware import HardwareConfig
from mate_cli.config.inference import CHOSEN_ROWS, ROWS
from mate_cli.config.rules import unknown_name
from mate_cli.config.task import LEAST_TOKENS
from mate_cli.config.train import TrainConfig
from mate_cli.inference.answerer import Answerer
from mate_cli.inference.asked_tables import AskedTables
from mate_cli.inference.calibration import Calibration
from mate_cli.inference.caveats import caveats, withheld
from mate_cli.models.model import MatePreTrainedModel
from mate_cli.runs.folder import RunFolder, load_run_config
from mate_cli.system.distribution import QUESTIONS, RELEASED, STATEMENTS, package_folder
from mate_cli.system.errors import UserError
from mate_cli.tables.table import Table
from mate_cli.tables.table_folder import TableFolder
from mate_cli.tables.user_arrow import frame_table
from mate_cli.tables.user_table import open_table

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
        table: pd.DataFrame | str | PathLike[str] | Table | AskedTables,
        before: Sequence[str] = (),
        top: int = 5,
        threshold: float | None = None,
    ) -> dict[str, Any]:
        """What ``mate predict output=json`` prints: the answer and the cells that it stands in.

        Args:
            question: for a model of statements, the statement.
            table: what it is asked of, a path as in ``mate predict table=``; of a folder (``open_folder``), the table
                that it is about.
            before: the earlier questions of the conversation, first to last (SQA).
            top: how many cells a selector names.
            threshold: give no answer below this probability, only ``best_guess``; ``calibration.threshold`` is that of
                the held-out questions.

        Raises:
            UserError: the model answers no questions by itself, the table is too large, or an argument is wrong.
        """
        _check_texts(question, before)
        _check_numbers(top, threshold)
        traits = self.config.task.traits
        if traits.asked is None:
            raise UserError(f"{self.folder.path}: a model of task={self.config.task.name} answers nothing by itself")
        if before and not traits.converses:
            raise UserError(f"{self.folder.path} was not trained on conversations; load a run of task=sqa")
        asked, found = _asked(table)
        asked.search([question])
        record = self.predictor.record(asked.example(question), before, top)
        remarks = [*found, *asked.remarks(question), *self.predictor.remarks, *caveats(self.config, record)]
        return withheld(record, threshold) | asked.facts(question) | {"warnings": remarks}


def _asked(table: Any) -> tuple[AskedTables, list[str]]:
    """Return what is asked, and what is odd about its file.

    Raises:
        UserError: it is neither a frame, a table nor the path of a file with one.
    """
    if isinstance(table, AskedTables):
        return table, []
    if isinstance(table, Table):
        return AskedTables(table), []
    if isinstance(table, str | PathLike):
        if Path(table).expanduser().is_dir():
            raise UserError(f"table={table}: this is a folder; name a file, or give open_folder({str(table)!r})")
        read, remark = open_table(str(table))
        return AskedTables(read), [] if remark is None else [remark]
    if not (hasattr(table, "iloc") and hasattr(table, "columns")):  # pandas is not imported for a check
        raise UserError(
            f"table: cannot ask a {type(table).__name__}; give a pandas DataFrame, the path of a file, or what "
            "open_folder returns"
        )
    return AskedTables(frame_table(table)), []


def _check_texts(question: Any, before: Any) -> None:
    """
    Raises:
        UserError: the question or one before it is no text or has only blanks, or ``before`` is no list.
    """
    if isinstance(before, str) or not isinstance(before, Sequence):
        raise UserError(f"before: must be a list of questions, first to last, not a {type(before).__name__}")
    for name, text in (("question", question), *(("before", text) for text in before)):
        if not isinstance(text, str):
            raise UserError(f"{name}: must be a text, not a {type(text).__name__}")
        if not text.strip():
            raise UserError(f"{name} is empty: write what is asked")


def _check_numbers(top: Any, threshold: Any) -> None:
    """
    Raises:
        UserError: they are none of those that ``mate predict`` takes.
    """
    if not isinstance(top, Integral) or top < 1:
        raise UserError(f"top={top}: must be a whole number, at least 1")
    if threshold is not None and not (isinstance(threshold, Real) and 0 <= float(threshold) <= 1):
        raise UserError(f"threshold={threshold}: must be a probability, between 0 and 1, or None")


def open_folder(path: str | Path) -> AskedTables:
    """A folder of tables, with those below it, for ``LoadedRun.answer``; its words are read once.

    Raises:
        UserError: it has no table that can be read.
    """
    return AskedTables(TableFolder(path))


def load_run(
    path: str | Path | None = None,
    max_tokens: int | None = None,
    hardware: HardwareConfig | str | None = None,
    statements: bool = False,
    rows: str = CHOSEN_ROWS,
) -> LoadedRun:
    """A run folder, or a folder that ``mate export`` wrote, with its model; None: the released model, if installed.

    Args:
        statements: of the released model the part that judges statements, not the one that answers questions.
        max_tokens: of an input; None: as many as its table needs, up to 16,384.
        hardware: an option by its name, such as "cpu", or what it says; None: the fastest device here.
        rows: "chosen": of a table beyond the tokens of the training only the rows that the question names or that the
            model finds in parts of the table; "all": every row, together.

    Raises:
        UserError: it is neither, its model is missing or broken, or an argument is wrong.
    """
    if statements and path is not None:
        raise UserError(f"statements=True chooses a part of the released model; leave it out for {path}")
    if max_tokens is not None and (not isinstance(max_tokens, Integral) or max_tokens < LEAST_TOKENS):
        raise UserError(f"max_tokens={max_tokens!r}: must be a whole number, at least {LEAST_TOKENS}")
    if rows not in ROWS:
        raise UserError(unknown_name("rows", rows, ROWS))
    device = _device(hardware)
    released = STATEMENTS if statements else QUESTIONS
    folder = RunFolder(package_folder(RELEASED, released) if path is None else Path(path).expanduser())
    config = load_run_config(folder.path)
    if not folder.weights_file.is_file():
        raise UserError(f"{folder.path} has no model yet; train it to the end with resume=true")
    return LoadedRun(folder, config, Answerer(folder, config, device, max_tokens, rows))


def _device(hardware: Any) -> HardwareConfig:
    """
    Raises:
        UserError: no option has that name.
    """
    if hardware is None or isinstance(hardware, HardwareConfig):
        return hardware or HardwareConfig(name="auto", micro_batch=1)
    options = typed_options("hardware", HardwareConfig)
    if not isinstance(hardware, str) or hardware not in options:
        raise UserError(unknown_name("hardware", hardware, options))
    return options[hardware]
