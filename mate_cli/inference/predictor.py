"""Prediction with a run's best model, on a split or on examples in memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import pytorch_lightning as pl

from mate_cli.attention import widest_shape
from mate_cli.config.hardware import HardwareConfig
from mate_cli.config.train import TrainConfig
from mate_cli.kinds.registry import kind_of, task_of
from mate_cli.models.weights import load_model
from mate_cli.runs.folder import RunFolder
from mate_cli.system.errors import UserError
from mate_cli.tasks.task import Prediction
from mate_cli.training.backend import check_fixed, collator_for, inference_backend, most_masked
from mate_cli.training.data import batch_loader
from mate_cli.training.devices import loader_workers, resolve_devices
from mate_cli.training.module import TaskModule, quieten_lightning
from mate_cli.training.splits import encoding_options

if TYPE_CHECKING:
    from torch.utils.data import DataLoader


class Predictor:
    """A run's best model on one device, with the encoding and batching of its inputs.

    Attributes:
        options: the encoding; collator: makes batches of encoded rows.

    Raises:
        UserError: the run has no model, or the model does not match its configuration.
    """

    def __init__(self, folder: RunFolder, config: TrainConfig, hardware: HardwareConfig) -> None:
        if not folder.best_model.is_dir():
            state = folder.status().get("state", "not started")
            raise UserError(f"{folder.path} has no model yet (it is {state}); train it to the end with resume=true")
        task, model = task_of(config), load_model(folder.best_model, kind_of(config.task).model, config.model.heads)
        self.folder, self.hardware, self.devices = folder, hardware, resolve_devices(hardware).alone()
        self.module = TaskModule(model, task)
        self.options = encoding_options(config, task, model.config)
        on_xla = self.devices.device_type == "xla"
        if on_xla:
            check_fixed(config.task)
        self.collator = collator_for(
            model.config,
            config.model,
            inference_backend(config.model),
            self.devices.device_type,
            self.devices.low_precision,
            widest_shape(hardware.micro_batch, self.options.max_tokens) if on_xla else None,
            most_masked(config.task, self.options.max_tokens) if on_xla else 0,
        )

    def predict(self, batches: DataLoader[Any]) -> Sequence[Prediction]:
        """Predict each example of the batches, in order."""
        quieten_lightning()
        trainer = pl.Trainer(
            **self.devices.trainer_arguments(),
            logger=False,
            enable_checkpointing=False,
            enable_progress_bar=False,
            enable_model_summary=False,
            default_root_dir=self.folder.path,
        )
        self.module.predictions.clear()
        trainer.predict(self.module, batches, return_predictions=False)
        return self.module.predictions

    def predict_rows(self, rows: Any) -> Sequence[Prediction]:
        """Predict encoded rows, with the micro-batch of the hardware profile."""
        workers = loader_workers(self.hardware)
        return self.predict(batch_loader(rows, self.collator, workers, batch_size=self.hardware.micro_batch))
