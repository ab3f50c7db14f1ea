"""Prediction with a run's best model: on a split, on rows in memory, or of one question on one table."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import torch

from mate_cli.attention import FixedShape, widest_shape
from mate_cli.config.hardware import HardwareConfig
from mate_cli.config.task import active_schedule
from mate_cli.config.train import TrainConfig
from mate_cli.encoding.batch import Batch
from mate_cli.inference.onnx_model import OnnxModel, load_onnx
from mate_cli.kinds.registry import kind_of, task_of
from mate_cli.models.model import MatePreTrainedModel
from mate_cli.models.weights import load_model
from mate_cli.runs.folder import GRAPH, RunFolder
from mate_cli.system.errors import UserError
from mate_cli.system.stopping import stop_if_asked
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


def _open_model(folder: RunFolder, config: TrainConfig) -> MatePreTrainedModel:
    model_class = kind_of(config.task).model
    if folder.weights_file.name == GRAPH:
        return load_onnx(folder.weights_file, model_class, config.model.heads, active_schedule(config).max_tokens)
    return load_model(folder.best_model, model_class, config.model.heads)
