"""A run's best model, ready for questions on a user's tables."""

from __future__ import annotations

import copy
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from mate_cli.config.hardware import HardwareConfig
from mate_cli.config.inference import ALL_ROWS, CHOSEN_ROWS, MOST_TOKENS
from mate_cli.config.task import active_schedule
from mate_cli.config.train import TrainConfig
from mate_cli.encoding.encode import encode, row_of
from mate_cli.encoding.features import Encoded, TooLarge
from mate_cli.encoding.tokenizer import CellTokenizer
from mate_cli.inference.asked_tables import check_question
from mate_cli.inference.calibration import calibration_of
from mate_cli.inference.caveats import unanswered, unfinished
from mate_cli.inference.onnx_model import OnnxModel
from mate_cli.inference.predictor import Predictor
from mate_cli.inference.reading import Advance, Assembled, Reading, silent, with_rows
from mate_cli.inference.statement_reader import StatementReader
from mate_cli.inference.table_reader import PartChoice, TableReader
from mate_cli.kinds.registry import kind_of
from mate_cli.runs.folder import RunFolder
from mate_cli.system.errors import UserError, shown
from mate_cli.tables.aggregation import NONE
from mate_cli.tables.table import Example
from mate_cli.tasks.task import Prediction

Reader = TableReader | StatementReader

_AT_ONCE = 32
"""Examples that are encoded together: many for the speed, few for the memory of large tables."""


def _with_tokens(trained: TrainConfig, max_tokens: int | None) -> TrainConfig:
    """Return the configuration with inputs of at most ``max_tokens``; None: as in training."""
    if max_tokens is None:
        return trained
    config = copy.deepcopy(trained)
    active_schedule(config).max_tokens = max_tokens
    return config


def _batches(rows: Sequence[dict[str, Any]], documents: int, tokens: int) -> Iterator[Sequence[dict[str, Any]]]:
    """Divide rows of at most ``tokens`` each into batches of at most so many documents and tokens, in order."""
    start, total = 0, 0
    for place, row in enumerate(rows):
        total += row["length"]
        if place - start == documents or total > tokens:
            yield rows[start:place]
            start, total = place, row["length"]
    if rows:
        yield rows[start:]


class Answerer(Predictor):
    """A run's best model, ready for questions on a user's tables, in the precision of the device.

    Args:
        max_tokens: of an input; None: as many as a table needs, up to ``MOST_TOKENS`` where the model can read so many,
            though the inputs of its training were shorter.
        rows: "chosen": of a table that needs more tokens than the inputs of the training, the rows that a question
            names or the model finds in parts of the table (``inference.table_reader``), or those that a statement
            names, among others (``inference.statement_reader``); "all": every row, together.

    Attributes:
        calibration: of its probabilities, if the run has one.
        remarks: a line if there is one that cannot be used, and one if the run was not trained to the end.

    Raises:
        UserError: as ``Predictor``; or the run's vocabulary does not fit its model, or its calibration is broken.
    """

    def __init__(
        self,
        folder: RunFolder,
        trained: TrainConfig,
        hardware: HardwareConfig,
        max_tokens: int | None = None,
        rows: str = CHOSEN_ROWS,
    ) -> None:
        super().__init__(folder, _with_tokens(trained, max_tokens), hardware, fixed_shapes=False)
        self.rows = rows
        if max_tokens is None:
            longest = max(self.options.max_tokens, min(MOST_TOKENS, self._limit))
            self.options = replace(self.options, max_tokens=longest)
        self.kind, self.tokenizer = kind_of(trained.task), CellTokenizer(folder.best_model)
        self._together = self._table_reader(None)
        self._reader = self._together if rows == ALL_ROWS else self._choosing_reader(trained)
        self.tokenizer.check_fits(self.model.config.vocab_size)
        self.calibration, remarks = calibration_of(folder)
        self.remarks = [*unfinished(folder), *remarks]

    def answer(self, example: Example) -> Prediction:
        """Predict one example, from all rows.

        Raises:
            UserError: the question is no text, or does not fit with the table, even with one word in each cell.
        """
        (prediction,) = self._predicted([self._fitting(example, self._together)])
        return prediction

    def read(self, example: Example, advance: Advance = silent) -> Reading | Assembled:
        """Choose the rows to read for an example and encode them, or answer it from parts of the table.

        Args:
            advance: as in ``record``.

        Raises:
            UserError: as ``answer``.
        """
        return self._fitting(example, self._reader, advance)

    def answered(self, example: Example, advance: Advance = silent) -> tuple[Reading | Assembled, Prediction]:
        """Answer an example, and return with the answer the rows that it is from.

        Args:
            advance: as in ``record``.

        Raises:
            UserError: as ``answer``.
        """
        return self._answered([self.read(example, advance)])[0]

    def check_some_fit(self, examples: Sequence[Example]) -> None:
        """Check that not every one of several questions on a table is refused.

        Raises:
            UserError: even the shortest does not fit with the rows that are read together, at least one.
        """
        shortest = min(examples, key=lambda example: len(example.question))
        (one_row,) = self._together.read([with_rows(shortest, (0,))], silent)
        if self._reader.most is None or self._refusal(one_row):
            self.read(shortest)

    @property
    def _limit(self) -> int:
        """The most tokens that the model can read."""
        model, limits = self.model, [sys.maxsize]
        if isinstance(model, OnnxModel):
            limits.append(model.max_tokens)
        if model.config.heads == "linformer":
            limits.append(model.config.linformer_tokens)
        if self.options.positions == "sequence":
            limits.append(self.options.max_positions)
        return min(limits)

    def _choosing_reader(self, trained: TrainConfig) -> Reader:
        """What chooses the rows to read, as many as an input of the training holds."""
        most = min(active_schedule(trained).max_tokens, self.options.max_tokens)
        asked = trained.task.traits.asked
        if asked == "statement":
            return StatementReader(self._encode, most)
        return self._table_reader(most if asked == "question" else None)

    def _table_reader(self, most: int | None) -> TableReader:
        combine = None if self.kind.answering is None else self.kind.answering.combined
        batch, limit = self.hardware.prediction_batch, self.options.max_tokens
        return TableReader(self._encode, self._choices, combine, batch, most, limit)

    def _encode(self, examples: Sequence[Example]) -> Iterable[Encoded]:
        return encode(examples, self.tokenizer, self.options)

    def _choices(self, readings: Sequence[Reading]) -> list[PartChoice]:
        assert self.kind.answering is not None
        predictions = self._predicted(readings)
        chosen = map(self.kind.answering.chosen, predictions)
        return [
            PartChoice(prediction, cells, operator not in ("", NONE.name))
            for prediction, (cells, operator) in zip(predictions, chosen, strict=True)
        ]

    def _predictions(self, readings: Sequence[Reading]) -> list[Prediction]:
        rows = [row_of(reading.read, reading.encoded) for reading in readings]
        batches = _batches(rows, self.hardware.prediction_batch, self.options.max_tokens)
        return self.predict(map(self.collator, batches))

    def _fitting(self, example: Example, reader: Reader, advance: Advance = silent) -> Reading | Assembled:
        check_question(example.question)
        (reading,) = reader.read([example], advance)
        if reason := self._refusal(reading):
            raise UserError(reason)
        return reading

    def _predicted(self, readings: Sequence[Reading | Assembled]) -> list[Prediction]:
        """Predict, with the places of cells in the asked tables."""
        whole = [reading for reading in readings if isinstance(reading, Reading)]
        predictions = map(Reading.in_asked, whole, self._predictions(whole))
        return [reading.prediction if isinstance(reading, Assembled) else next(predictions) for reading in readings]

    def _answered(self, readings: Sequence[Reading | Assembled]) -> list[tuple[Reading | Assembled, Prediction]]:
        """Predict, and once more where the reader reads other rows in view of the answer."""
        answered = list(zip(readings, self._predicted(readings), strict=True))
        again = {number: other for number, pair in enumerate(answered) if (other := self._again(*pair)) is not None}
        predictions = self._predicted([*again.values()]) if again else []
        for (number, reading), prediction in zip(again.items(), predictions, strict=True):
            answered[number] = (reading, prediction)
        return answered

    def _again(self, reading: Reading | Assembled, prediction: Prediction) -> Reading | None:
        if not isinstance(self._reader, TableReader) or isinstance(reading, Assembled) or self.kind.answering is None:
            return None
        cells, operator = self.kind.answering.chosen(prediction)
        return self._reader.again(reading, cells, operator)

    def _refusal(self, reading: Reading | Assembled) -> str | None:
        """Say that an example does not fit, with a remedy for the longer of question and table; None: it does."""
        if isinstance(reading, Assembled):
            return None
        outcome, needed = reading.encoded.outcome, reading.encoded.full_length
        if not isinstance(outcome, TooLarge):
            return None
        more = [f"add max_tokens={needed}"] if needed <= self._limit else []
        of_question, of_table = outcome.question_tokens, outcome.needed - outcome.question_tokens
        if of_question > of_table:
            return (
                f"the question {shown(reading.asked.question)} has {of_question} tokens, table {outcome.table_id!r} at "
                f"least {of_table}, and this run reads {outcome.limit}; {', or '.join([*more, 'ask in fewer words'])}"
            )
        more += ["name rows by the whole text of a cell"] if self._reader.most is not None else []
        return (
            f"table {outcome.table_id!r} and the question need {needed} tokens, and this run reads "
            f"{outcome.limit}; {', or '.join([*more, 'ask about fewer rows or columns'])}"
        )

    def record(self, example: Example, before: Sequence[str], top: int, advance: Advance = silent) -> dict[str, Any]:
        """Answer a conversation, each question with the answer to the one before; return what is printed of the last.

        A calibrated model adds ``answer_probability``, the probability that the answer is right; a table that was read
        without some of its columns, or the ends of its cells, adds ``unread``, a line that says so.

        Args:
            before: the questions before that of ``example``, in order.
            top: number of cells that a selector names.
            advance: called for each part of a large table that was read.
        """
        for question in before:
            assert self.kind.answering is not None
            _, earlier = self.answered(replace(example, question=question), advance)
            cells, _ = self.kind.answering.chosen(earlier)
            example = replace(example, previous=cells, earlier=(*example.earlier, question))
        return self._record(*self.answered(example, advance), top)

    def records(self, examples: Sequence[Example], top: int, advance: Advance = silent) -> list[dict[str, Any]]:
        """As ``record``, of several questions, none of which follows up on another; of one that does not fit, why."""
        asked = [replace(example, id=str(number)) for number, example in enumerate(examples)]
        read = self._reader.read(asked, advance)
        reasons = [self._refusal(reading) for reading in read]
        fitting = [reading for reading, reason in zip(read, reasons, strict=True) if reason is None]
        answered = iter(self._answered(fitting))
        return [
            self._record(*next(answered), top)
            if reason is None
            else unanswered(reading.asked.question, reading.asked.table.id, reason)
            for reading, reason in zip(read, reasons, strict=True)
        ]

    def predict_examples(self, examples: Sequence[Example]) -> Iterator[Prediction]:
        """Predict examples, in order, each by the rows that are read for it; those that do not fit are left out."""
        for start in range(0, len(examples), _AT_ONCE):
            read = self._reader.read(examples[start : start + _AT_ONCE], silent)
            fitting = [reading for reading in read if self._refusal(reading) is None]
            yield from (prediction for _, prediction in self._answered(fitting))

    def _record(self, reading: Reading | Assembled, prediction: Prediction, top: int) -> dict[str, Any]:
        assert self.kind.answering is not None
        answering = self.kind.answering
        record = answering.record(reading.asked.question, reading.asked.table, prediction, top)
        if (unread := reading.unread(self.options.max_tokens)) is not None:
            record["unread"] = unread
        if self.calibration is None or answering.confidence is None:
            return record
        (sure,) = self.calibration.probabilities([answering.confidence(prediction)])
        of_cells = self.calibration.cell_probabilities([cell["probability"] for cell in record["cells"]])
        # The cells of a right answer belong to it, also of one that was computed, for which the map was not fitted.
        at_least = [max(float(sure), p) for p in of_cells]
        cells = [cell | {"probability": round(p, 6)} for cell, p in zip(record["cells"], at_least, strict=True)]
        return record | {"answer_probability": round(float(sure), 6), "cells": cells}
