"""Callbacks of a training run: checkpoints, interruption, progress."""

from __future__ import annotations

import os
import pickle
import signal
import time
from collections.abc import Mapping
from pathlib import Path
from types import FrameType
from typing import Any, NoReturn

import pytorch_lightning as pl
import torch
from pytorch_lightning.callbacks import Callback
from pytorch_lightning.trainer.states import TrainerFn
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from torch import Tensor

from mate_cli.models.weights import not_finite, save_model
from mate_cli.runs.folder import RunFolder
from mate_cli.system.errors import Preempted, UserError
from mate_cli.system.ranks import is_first_rank
from mate_cli.system.stopping import STOP_SIGNALS, pending_request
from mate_cli.training.module import TaskModule, ends_step, logs_step


class TrainingInterrupted(Exception):
    """Training stopped on request, after saving a checkpoint.

    Attributes:
        step: optimizer steps done.
        preempted: stopped by SIGTERM, not by Ctrl-C.
    """

    def __init__(self, step: int, preempted: bool) -> None:
        super().__init__(f"stopped at step {step}")
        self.step, self.preempted = step, preempted


class Checkpoints(Callback):
    """Save the last trainer state and the best model; each is written to a temporary name and renamed.

    Both are saved between optimizer steps only, so a resumed run computes exactly what an uninterrupted one does.
    """

    def __init__(self, folder: RunFolder, vocabulary: Path, save_every: int, validate_every: int) -> None:
        self.folder, self.vocabulary = folder, vocabulary
        self.save_every, self.validate_every = save_every, validate_every
        self.best_score: float | None = None

    @property
    def state_key(self) -> str:
        return "checkpoints"

    def state_dict(self) -> dict[str, Any]:
        return {"best_score": self.best_score}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        self.best_score = state_dict["best_score"]

    def on_load_checkpoint(
        self, trainer: pl.Trainer, pl_module: pl.LightningModule, checkpoint: dict[str, Any]
    ) -> None:
        """Convert the count of finished micro-batches: it depends on the number of devices."""
        done = checkpoint["global_step"] * trainer.accumulate_grad_batches
        progress = checkpoint["loops"]["fit_loop"]["epoch_loop.batch_progress"]
        for counts in (progress["total"], progress["current"]):
            counts.update(dict.fromkeys(counts, done))

    def on_train_batch_end(self, trainer: pl.Trainer, *_: Any) -> None:
        step = trainer.global_step
        # If the step also validates, it is saved after validation, with the best score.
        if ends_step(trainer) and step % self.save_every == 0 and step % self.validate_every:
            self.save_last(trainer)

    def on_validation_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        assert isinstance(pl_module, TaskModule)
        score = pl_module.validation_score
        if self.best_score is None or score > self.best_score:
            self.best_score = score
            # With sharded weights every rank must take part.
            tensors = trainer.strategy.lightning_module_state_dict()
            if trainer.is_global_zero:
                weights = {name.removeprefix("model."): tensor for name, tensor in tensors.items()}
                _check_finite(weights, trainer.global_step)
                save_model(pl_module.model, self.folder.best_model, self.vocabulary, weights)
        if trainer.state.fn == TrainerFn.FITTING:
            self.save_last(trainer)

    def on_train_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        if trainer.global_step % self.validate_every:
            self.save_last(trainer)

    def save_last(self, trainer: pl.Trainer) -> None:
        temporary = self.folder.unfinished_checkpoint
        try:
            trainer.save_checkpoint(temporary)
            if trainer.is_global_zero:
                os.replace(temporary, self.folder.last_checkpoint)
        except OSError:
            temporary.unlink(missing_ok=True)  # free a full disk
            raise
        if trainer.is_global_zero:
            self.folder.set_status("running", step=trainer.global_step)


def _check_finite(weights: Mapping[str, Tensor], step: int) -> None:
    """Check the weights after an update, so that those of a diverged training replace no good ones.

    Raises:
        UserError: one is infinite or NaN.
    """
    if wrong := not_finite(weights):
        raise UserError(
            f"step {step}: the weights {wrong} are not finite and are not saved; train with a smaller lr and another "
            "name=NAME",
            exit_code=1,
        )


def saved_step(checkpoint: Path) -> int:
    """Return the step of a trainer state, which is complete and holds only plain data, without reading all of it.

    Raises:
        UserError: it is corrupt, or contains pickled code.
    """
    try:
        state = torch.load(checkpoint, map_location="cpu", weights_only=True, mmap=True)
        is_complete = {"state_dict", "optimizer_states", "loops", "global_step"} <= state.keys()
    except (pickle.UnpicklingError, RuntimeError, ValueError, EOFError, AttributeError):
        is_complete = False
    if not is_complete:
        raise UserError(
            f"cannot load checkpoint {checkpoint}: corrupt, or contains pickled code; "
            "remove it, or start the run anew with overwrite=true"
        )
    return int(state["global_step"])


class Interruption(Callback):
    """On the first Ctrl-C, SIGTERM or SIGHUP finish the optimizer step, save and stop; on the second stop at once.

    SIGHUP stays ignored under nohup. Signals reach the ranks at different times, so the ranks agree after each step.
    """

    def __init__(self, checkpoints: Checkpoints) -> None:
        self.checkpoints = checkpoints
        self.requested = self.preempted = False
        self._previous: dict[signal.Signals, Any] = {}

    def on_train_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        for number in STOP_SIGNALS:
            if (number, signal.getsignal(number)) != (signal.SIGHUP, signal.SIG_IGN):
                self._previous[number] = signal.signal(number, self._request)
        if (pending := pending_request()) is not None:
            self._request(pending, None)

    def on_train_batch_end(self, trainer: pl.Trainer, *_: Any) -> None:
        if ends_step(trainer) and self._is_wanted(trainer):
            self.checkpoints.save_last(trainer)
            self._stop(trainer)

    def on_train_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Stop after the last validation too, which is saved by then."""
        if self._is_wanted(trainer):
            self._stop(trainer)

    def _is_wanted(self, trainer: pl.Trainer) -> bool:
        return trainer.strategy.reduce_boolean_decision(self.requested, all=False)

    def _stop(self, trainer: pl.Trainer) -> NoReturn:
        # All ranks end alike, so that a scheduler starts all hosts again when it took one away.
        preempted = trainer.strategy.reduce_boolean_decision(self.preempted, all=False)
        raise TrainingInterrupted(trainer.global_step, preempted)

    def teardown(self, trainer: pl.Trainer, pl_module: pl.LightningModule, stage: str) -> None:
        for number, handler in self._previous.items():
            signal.signal(number, handler)
        self._previous.clear()

    def _request(self, number: int, frame: FrameType | None) -> None:
        if self.requested:
            raise Preempted if number == signal.SIGTERM else KeyboardInterrupt
        self.requested, self.preempted = True, number == signal.SIGTERM
        if is_first_rank():
            again = "" if self.preempted else " (press Ctrl-C again to stop at once)"
            Console(stderr=True).print(f"stopping after this step, then saving{again}")


class ProgressReport(Callback):
    """A bar on a terminal; elsewhere (log files, batch systems) a line every ``seconds_between_lines``."""

    def __init__(self, console: Console, seconds_between_lines: float = 20.0) -> None:
        self.console, self.seconds_between_lines = console, seconds_between_lines
        self._bar: Progress | None = None
        self._started = self._last_line = 0.0
        self._first_step = self._examples = 0
        self._loss = ""

    def __reduce__(self) -> tuple[Any, ...]:
        """Make a new report for a replica in another process or thread: a console cannot be copied."""
        return _new_report, (self.console.quiet, self.seconds_between_lines)

    def on_train_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        self._started = self._last_line = time.monotonic()
        self._first_step = trainer.global_step
        if not trainer.is_global_zero:
            self.console = Console(quiet=True)
        if self.console.is_terminal:
            self._bar = Progress(
                TextColumn("training"),
                BarColumn(),
                MofNCompleteColumn(),
                TextColumn("{task.fields[facts]}"),
                TimeRemainingColumn(),
                console=self.console,
            )
            self._bar.add_task("train", total=trainer.max_steps, completed=trainer.global_step, facts="")
            self._bar.start()

    def on_train_batch_end(
        self, trainer: pl.Trainer, pl_module: pl.LightningModule, outputs: Any, batch: Any, batch_idx: int
    ) -> None:
        assert isinstance(pl_module, TaskModule)
        self._examples += len(batch.ids)
        if not ends_step(trainer):
            return
        seconds = time.monotonic() - self._started
        if logs_step(trainer):
            self._loss = f"loss {float(pl_module.step_loss):.3f}"
        facts = f"{self._loss}  {self._examples * trainer.world_size / seconds:.1f} examples/s"
        if self._bar is not None:
            self._bar.update(self._bar.task_ids[0], completed=trainer.global_step, facts=facts)
        elif time.monotonic() - self._last_line > self.seconds_between_lines:
            self._last_line = time.monotonic()
            left = seconds / (trainer.global_step - self._first_step) * (trainer.max_steps - trainer.global_step)
            self.console.print(f"step {trainer.global_step}/{trainer.max_steps}  {facts}  {left / 60:.1f} min left")

    def on_validation_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        assert isinstance(pl_module, TaskModule)
        score = 100 * pl_module.validation_score
        self.console.print(f"step {trainer.global_step}  dev {pl_module.task.title} {score:.1f}")

    def teardown(self, trainer: pl.Trainer, pl_module: pl.LightningModule, stage: str) -> None:
        if self._bar is not None:
            self._bar.stop()
            self._bar = None


def _new_report(quiet: bool, seconds_between_lines: float) -> ProgressReport:
    return ProgressReport(Console(soft_wrap=True, quiet=quiet), seconds_between_lines)
