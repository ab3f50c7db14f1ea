"""Prediction with a run's best model: on a split, on rows in memory, or of one question on one table."""

from __future__ import annotations

import copy
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import torch

from mate_cli.attention import FixedShape, widest_shape
from mate_cli.config.hardware import HardwareConfig
from mate_cli.config.inference import MOST_TOKENS, ROWS
from mate_cli.config.task import active_schedule
from mate_cli.config.train import TrainConfig
from mate_cli.encoding.batch import Batch
from mate_cli.encoding.encode import encode, row_of
from mate_cli.encoding.features import Encoded, TooLarge
from mate_cli.encoding.tokenizer import CellTokenizer
from mate_cli.inference.asked_tables import check_question
from mate_cli.inference.calibration import calibration_of
from mate_cli.inference.caveats import unanswered, unfinished
from mate_cli.inference.onnx_model import OnnxModel, load_onnx
from mate_cli.inference.reading import Reading, names_rows, readings
from mate_cli.kinds.registry import kind_of, task_of
from mate_cli.models.model import MatePreTrainedModel
from mate_cli.models.weights import load_model
from mate_cli.runs.folder import GRAPH, RunFolder
from mate_cli.system.errors import UserError, shown
from mate_cli.system.stopping import stop_if_asked
from mate_cli.tables.table import Example
from mate_cli.tasks.task import Prediction
from mate_cli.training.backend import collator_for, inference_backend, most_masked
from mate_cli.training.devices import loader_workers, resolve_devices
from mate_cli.training.loader import batch_loader
from mate_cli.training.sampler import shares_by_class
from mate_cli.training.shapes import ShapedRows, needs_of, shape_numbers
from mate_cli.training.splits import encoding_options


class Predictor:
    """A run's best model on one device, with the encoding and batching of its inputs.

    Args:
        fixed_shapes: give batches the shapes of the training on XLA devices, which compile a program for each shape;
            examples that none of them holds get the widest one.

    Attributes:
        shapes: of batches, from short to long; empty if they follow from the examples.
        options: the encoding; collator: makes batches of encoded rows.

    Raises:
        UserError: the run has no model, or the model does not match its configuration.
    """

    def __init__(
        self, folder: RunFolder, config: TrainConfig, hardware: HardwareConfig, fixed_shapes: bool = True
    ) -> None:
        if not folder.best_model.is_dir():
            state = folder.state if folder.status() else "not started"
            raise UserError(f"{folder.path} has no model yet (it is {state}); train it to the end with resume=true")
        task, model = task_of(config), _open_model(folder, config)
        self.folder, self.hardware, self.devices = folder, hardware, resolve_devices(hardware).alone()
        self.task, self.model = task, model
        self.options = encoding_options(config, task, model.config)
        is_graph = isinstance(model, OnnxModel)
        is_fixed = fixed_shapes and self.devices.device_type == "xla" and not is_graph
        self.shapes = self._shapes() if is_fixed else ()
        self.collator = collator_for(
            model.config,
            config.model,
            "dense" if is_graph else inference_backend(config.model),  # a graph needs no more of a plan than its place
            self.devices.device_type,
            self.devices.low_precision,
            self.shapes,
            most_masked(config.task, self.options.max_tokens),
        )

    def predict(self, batches: Iterable[Batch]) -> list[Prediction]:
        """Predict each example of the batches, in order."""
        device = self.devices.device_type
        torch.nn.Module.to(self.model, device).eval()
        predictions: list[Prediction] = []
        # No inference mode: torch-xla cannot split a parameter that it has seen in one before.
        with torch.no_grad(), torch.autocast(device, torch.bfloat16, enabled=self.devices.low_precision):
            for batch in batches:
                stop_if_asked()
                predictions += self.task.predict(self.model, batch.to(device))
        return predictions

    def predict_rows(self, rows: Any) -> list[Prediction]:
        """Predict encoded rows, in order, with the micro-batch of the hardware profile."""
        batch, workers = self.hardware.prediction_batch, loader_workers(self.hardware)
        if len(self.shapes) < 2:
            return self.predict(batch_loader(rows, self.collator, workers, batch_size=batch))
        drawn = shares_by_class(shape_numbers(needs_of(rows), self.shapes), batch, rank=0, world_size=1)
        loader = batch_loader(ShapedRows(rows), self.collator, workers, sampler=drawn, batch_size=batch)
        by_shape = self.predict(loader)
        in_order = sorted(zip(drawn, by_shape, strict=True), key=lambda pair: pair[0][0])
        return [prediction for _, prediction in in_order]

    def _shapes(self) -> tuple[FixedShape, ...]:
        """The shapes of the training, with the micro-batch of this hardware, and the widest one."""
        documents, max_tokens = self.hardware.prediction_batch, self.options.max_tokens
        recorded = [FixedShape(**shape) for shape in self.folder.status().get("shapes", [])]
        shapes = [replace(shape, documents=documents) for shape in recorded if shape.tokens <= max_tokens]
        return tuple(dict.fromkeys([*shapes, widest_shape(documents, max_tokens)]))


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


def _open_model(folder: RunFolder, config: TrainConfig) -> MatePreTrainedModel:
    model_class = kind_of(config.task).model
    if folder.weights_file.name == GRAPH:
        return load_onnx(folder.weights_file, model_class, config.model.heads, active_schedule(config).max_tokens)
    return load_model(folder.best_model, model_class, config.model.heads)


class Answerer(Predictor):
    """A run's best model, ready for questions on a user's tables, in the precision of the device.

    Args:
        max_tokens: of an input; None: as many as a table needs, up to ``MOST_TOKENS`` where the model can read so many,
            though the inputs of its training were shorter.
        rows: "named": of a table that needs more tokens than the inputs of the training, only the rows that a question
            names, if it names some and needs no others (``named_rows``); "all": every row.

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
        rows: str = ROWS[0],
    ) -> None:
        super().__init__(folder, _with_tokens(trained, max_tokens), hardware, fixed_shapes=False)
        self.rows = rows
        is_narrowed = rows == "named" and trained.task.traits.asked == "question"
        self._whole_up_to = active_schedule(trained).max_tokens if is_narrowed else None
        if max_tokens is None:
            longest = max(self.options.max_tokens, min(MOST_TOKENS, self._limit))
            self.options = replace(self.options, max_tokens=longest)
        self.kind, self.tokenizer = kind_of(trained.task), CellTokenizer(folder.best_model)
        self.tokenizer.check_fits(self.model.config.vocab_size)
        self.calibration, remarks = calibration_of(folder)
        self.remarks = [*unfinished(folder), *remarks]

    def answer(self, example: Example) -> Prediction:
        """Predict one example, from all rows.

        Raises:
            UserError: the question is no text, or does not fit with the table, even with one word in each cell.
        """
        return self._predicted(self._fitting(example, None))

    def read(self, example: Example) -> Reading:
        """Choose the rows to read for an example and encode them.

        Raises:
            UserError: as ``answer``.
        """
        return self._fitting(example, self._whole_up_to)

    def check_some_fit(self, examples: Sequence[Example]) -> None:
        """Check that not every one of several questions on a table is refused.

        Raises:
            UserError: even the shortest does not fit, and none names rows to read alone.
        """
        try:
            self.read(min(examples, key=lambda example: len(example.question)))
        except UserError:
            if self._whole_up_to is None or not any(map(names_rows, examples)):
                raise

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

    def _encode(self, examples: Sequence[Example]) -> Iterable[Encoded]:
        return encode(examples, self.tokenizer, self.options)

    def _fitting(self, example: Example, whole_up_to: int | None) -> Reading:
        check_question(example.question)
        (reading,) = readings([example], self._encode, whole_up_to)
        if reason := self._refusal(reading):
            raise UserError(reason)
        return reading

    def _predicted(self, reading: Reading) -> Prediction:
        (prediction,) = self.predict([self.collator([row_of(reading.read, reading.encoded)])])
        return prediction

    def _refusal(self, reading: Reading) -> str | None:
        """Say that an example does not fit, with a remedy for the longer of question and table; None: it does."""
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
        more += ["name rows by the whole text of a cell"] if self._whole_up_to is not None else []
        return (
            f"table {outcome.table_id!r} and the question need {needed} tokens, and this run reads "
            f"{outcome.limit}; {', or '.join([*more, 'ask about fewer rows or columns'])}"
        )

    def record(self, example: Example, before: Sequence[str], top: int) -> dict[str, Any]:
        """Answer a conversation, each question with the answer to the one before; return what is printed of the last.

        A calibrated model adds ``answer_probability``, the probability that the answer is right; a table that was read
        without some of its columns, or the ends of its cells, adds ``unread``, a line that says so.

        Args:
            before: the questions before that of ``example``, in order.
            top: number of cells that a selector names.
        """
        for question in before:
            assert self.kind.answering is not None
            cells, _ = self.kind.answering.chosen(self.answer(replace(example, question=question)))
            example = replace(example, previous=cells, earlier=(*example.earlier, question))
        reading = self.read(example)
        return self._record(reading, self._predicted(reading), top)

    def records(self, examples: Sequence[Example], top: int) -> list[dict[str, Any]]:
        """As ``record``, of several questions, none of which follows up on another; of one that does not fit, why."""
        asked = [replace(example, id=str(number)) for number, example in enumerate(examples)]
        read = readings(asked, self._encode, self._whole_up_to)
        reasons = [self._refusal(reading) for reading in read]
        rows = [row_of(r.read, r.encoded) for r, reason in zip(read, reasons, strict=True) if reason is None]
        batches = _batches(rows, self.hardware.prediction_batch, self.options.max_tokens)
        predictions = iter(self.predict(map(self.collator, batches)))
        return [
            self._record(reading, next(predictions), top)
            if reason is None
            else unanswered(reading.asked.question, reading.asked.table.id, reason)
            for reading, reason in zip(read, reasons, strict=True)
        ]

    def _record(self, reading: Reading, read: Prediction, top: int) -> dict[str, Any]:
        assert self.kind.answering is not None
        answering, prediction = self.kind.answering, reading.in_asked(read)
        record = answering.record(reading.asked.question, reading.asked.table, prediction, top)
        if unread := reading.unread(self.options.max_tokens):
            record["unread"] = unread
        if self.calibration is None or answering.confidence is None:
            return record
        (sure,) = self.calibration.probabilities([answering.confidence(prediction)])
        of_cells = self.calibration.cell_probabilities([cell["probability"] for cell in record["cells"]])
        # The cells of a right answer belong to it, also of one that was computed, for which the map was not fitted.
        at_least = [max(float(sure), p) for p in of_cells]
        cells = [cell | {"probability": round(p, 6)} for cell, p in zip(record["cells"], at_least, strict=True)]
        return record | {"answer_probability": round(float(sure), 6), "cells": cells}
