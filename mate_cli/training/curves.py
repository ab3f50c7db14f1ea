"""``metrics.csv``: the learning curves of a run, continued exactly when the run is resumed."""

from __future__ import annotations

import csv
import io
import os
from pathlib import Path
from typing import Any

import pytorch_lightning as pl
from pytorch_lightning.callbacks import Callback
from pytorch_lightning.trainer.states import TrainerFn

from mate_cli.training.module import TaskModule, logs_step

_ROWS_AT_ONCE = 20


class Curves(Callback):
    """Append a line for each logged step, counted from 0, and one for each validation.

    A checkpoint stores the size of the file. A resumed run cuts off later lines, so the file equals that of an
    uninterrupted run; Lightning's own logger would start it anew. Must come before ``Checkpoints``.

    Args:
        score: the name of the validation score.
    """

    state_key = "curves"

    def __init__(self, file: Path, score: str) -> None:
        self.file, self.score = file, f"dev_{score}"
        self.columns: tuple[str, ...] = (self.score, "gradient_norm", "loss", "lr", "step")
        self._lines: list[str] = []
        self._is_resumed = False

    def state_dict(self) -> dict[str, Any]:
        self._write()
        return {"bytes": self.file.stat().st_size if self.file.exists() else 0}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        self._is_resumed = True
        if self.file.exists():
            os.truncate(self.file, min(state_dict["bytes"], self.file.stat().st_size))
            with self.file.open(encoding="utf-8") as file:
                header = file.readline().rstrip("\n")
            if header:  # older versions wrote fewer columns
                self.columns = tuple(header.split(","))

    def on_train_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        if trainer.is_global_zero and not self._is_resumed:
            self.file.unlink(missing_ok=True)

    def on_train_batch_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule, *_: Any) -> None:
        assert isinstance(pl_module, TaskModule)
        if logs_step(trainer):
            loss = trainer.strategy.reduce(pl_module.step_loss, reduce_op="mean")
            self._add(trainer, loss=float(loss), lr=pl_module.step_lr, gradient_norm=float(pl_module.gradient_norm))

    def on_validation_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        assert isinstance(pl_module, TaskModule)
        self._add(trainer, **{self.score: pl_module.validation_score})
        if trainer.state.fn != TrainerFn.FITTING:
            self._write()

    def on_train_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        self._write()

    def _add(self, trainer: pl.Trainer, **values: float) -> None:
        if not trainer.is_global_zero:
            return
        line = io.StringIO()
        writer = csv.DictWriter(line, self.columns, restval="", extrasaction="ignore", lineterminator="\n")
        writer.writerow({**values, "step": trainer.global_step - 1})
        self._lines.append(line.getvalue())
        if len(self._lines) >= _ROWS_AT_ONCE:
            self._write()

    def _write(self) -> None:
        if not self._lines:
            return
        with self.file.open("a", encoding="utf-8") as file:
            if file.tell() == 0:
                file.write(",".join(self.columns) + "\n")
            file.writelines(self._lines)
        self._lines.clear()
