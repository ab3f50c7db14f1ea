"""Train from a configuration: build model and data, print the cost, fit, keep the best model."""

from __future__ import annotations

import contextlib
import math
import shutil
import sys
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import pytorch_lightning as pl
import torch
from rich.console import Console

from mate_cli.config.paths import cache_folder
from mate_cli.config.plain import to_plain
from mate_cli.config.task import ScheduleConfig, active_schedule
from mate_cli.config.train import TrainConfig
from mate_cli.encoding.batch import Collator
from mate_cli.kinds.registry import task_of
from mate_cli.runs.folder import FollowedFolder, RunFolder
from mate_cli.runs.parent import check_parent, origin_of
from mate_cli.runs.place import current_identity, run_path, run_to_resume
from mate_cli.system.errors import Preempted, UserError, disk_reason
from mate_cli.system.products import bf16_speedup
from mate_cli.system.ranks import is_first_on_host, is_first_rank
from mate_cli.training.backend import (
    check_dropout,
    collator_for,
    most_masked,
    tuned_backend,
    typical_layout,
)
from mate_cli.training.callbacks import Checkpoints, Interruption, ProgressReport, TrainingInterrupted, saved_step
from mate_cli.training.cost import describe_cost, training_flops
from mate_cli.training.curves import Curves
from mate_cli.training.data import TaskDataModule
from mate_cli.training.devices import Devices, accumulation, device_name, has_slow_bf16, loader_workers, resolve_devices
from mate_cli.training.divided import DividingCollator
from mate_cli.training.finite import FiniteLoss
from mate_cli.training.loggers import check_logger, finish_tracking, loggers
from mate_cli.training.memory_fit import fitting_way, inputs_of, memory_limit
from mate_cli.training.module import TaskModule, quieten_lightning
from mate_cli.training.rows import Rows, open_rows
from mate_cli.training.shapes import LengthClasses, fixed_classes
from mate_cli.training.splits import encoding_options
from mate_cli.training.starting_model import freeze_layers, starting_model
from mate_cli.training.xla import SyncEachBatch, start_xla

_REASONS = {
    "auto": ", estimated to be the fastest here for the first examples",
    "autotune": ", measured to be the fastest here for the first examples",
}


@dataclass(frozen=True)
class TrainingSetup:
    """The parts of a training, built and checked: model, data, devices, run folder."""

    config: TrainConfig
    devices: Devices
    folder: RunFolder
    module: TaskModule
    data: TaskDataModule
    mean_length: float
    vocabulary: Path
    steps: int
    accumulation: int
    attention: str
    classes: LengthClasses

    @property
    def schedule(self) -> ScheduleConfig:
        return active_schedule(self.config)

    @property
    def validate_every(self) -> int:
        return min(self.schedule.validate_every or self.steps, self.steps)


def train(config: TrainConfig, console: Console) -> RunFolder:
    """Train, keep the best model and the last checkpoint, and return the run folder, locked until its ``release``.

    Raises:
        UserError: something is missing or cannot work; nothing is left behind.
        KeyboardInterrupt: stopped on request (``Preempted``: by SIGTERM), with a checkpoint to resume from.
    """
    identity = current_identity(config)
    path = run_path(config, identity)
    if config.resume and (begun := run_to_resume(config, identity)) != path:
        console.print(f"resuming {begun}", highlight=False, markup=False)
        path = begun
    folder = (RunFolder if is_first_rank() else FollowedFolder)(path)
    check_parent(config, folder)
    check_logger(config)
    devices = resolve_devices(config.hardware)
    is_new = folder.claim(resume=config.resume, overwrite=config.overwrite, identity=identity)
    try:
        setup, origin = _set_up_or_remove(config, devices, folder, console, is_new)
        if config.overwrite or not folder.last_checkpoint.exists():  # left by a run killed before its first checkpoint
            folder.clear()
        folder.record_start(to_plain(config), sys.argv, origin, identity.data)
        examples = setup.steps * setup.schedule.batch
        console.print(describe_cost(setup.module.model, setup.mean_length, examples, devices))
        if has_slow_bf16(devices):
            console.print(
                f"warning: products in bf16 take {1 / bf16_speedup():.1f} times as long as in 32 bits here; "
                "use hardware=cpu"
            )
        try:
            _fit(setup, console)
        finally:
            finish_tracking()
    except BaseException:
        folder.release()
        raise
    return folder


def _set_up_or_remove(
    config: TrainConfig, devices: Devices, folder: RunFolder, console: Console, is_new: bool
) -> tuple[TrainingSetup, dict[str, Any]]:
    """Return the setup and the origin of its weights; on failure remove a new folder."""
    try:
        return build_setup(config, devices, folder, console), origin_of(config.backbone)
    except BaseException:
        if is_new:
            shutil.rmtree(folder.path, ignore_errors=True)
        raise


def build_setup(config: TrainConfig, devices: Devices, folder: RunFolder, console: Console) -> TrainingSetup:
    """Build data, model and module of a run; write nothing to the run folder."""
    schedule = active_schedule(config)
    accumulation(schedule.batch, config.hardware.micro_batch or 1, devices.world_size)  # before reading data
    on_xla = devices.device_type == "xla"
    check_dropout(config)
    if on_xla:
        start_xla(cache_folder(config.paths), devices.strategy == "spmd")
    pl.seed_everything(config.seed, verbose=False)
    task = task_of(config)
    model, vocabulary, new = starting_model(config, task, console)
    freeze_layers(model, schedule.frozen_layers, new)
    options = encoding_options(config, task, model.config)
    rows = open_rows(config, task, options, vocabulary, console)
    steps = schedule.steps or math.ceil((schedule.epochs or 0) * len(rows.train) / schedule.batch)
    if devices.replicas and schedule.validate_every and steps % schedule.validate_every:
        raise UserError(
            f"validate_every={schedule.validate_every} does not divide {steps} steps, and on several XLA devices no "
            "validation can follow the last step: set it to a divisor"
        )
    # A resumed run keeps its classes on any hardware: they decide which examples are left of the pass.
    begun = config.resume and folder.last_checkpoint.exists()
    recorded = folder.status().get("length_classes", ()) if begun else None
    classes = LengthClasses(tuple(recorded or ()))
    if on_xla:
        classes = fixed_classes(rows, schedule.batch, 1, steps, options.max_tokens, recorded)
        console.print(classes.describe())
    inputs = inputs_of(rows.train, options.max_tokens, classes.shapes)
    way = fitting_way(config, model.config, devices, inputs, memory_limit(config.hardware))
    micro_batch, passes = accumulation(schedule.batch, way.micro_batch, devices.world_size)
    backend = way.backend
    if backend == "autotune":
        backend = tuned_backend(config, model.config, rows.train, devices, micro_batch)
    shapes = [replace(shape, documents=micro_batch) for shape in classes.shapes]
    masked = most_masked(config.task, options.max_tokens)
    collator = collator_for(
        model.config, config.model, backend, devices.device_type, devices.low_precision, shapes, masked
    )
    attention = collator.planner(typical_layout(rows.train, micro_batch)).backend
    console.print(f"attention: {attention}{_REASONS.get(config.model.attention.backend, '')}")
    data = _data_module(config, devices, rows, collator, micro_batch, steps, classes)
    module = TaskModule(model, task, schedule, steps, new, config.seed)
    module.encoder.recompute = way.recompute
    return TrainingSetup(
        config, devices, folder, module, data, rows.mean_length, vocabulary, steps, passes, attention, classes
    )


def _data_module(
    config: TrainConfig,
    devices: Devices,
    rows: Rows,
    collator: Collator,
    micro_batch: int,
    steps: int,
    classes: LengthClasses,
) -> TaskDataModule:
    return TaskDataModule(
        rows.train,
        rows.dev,
        rows.is_stream,
        DividingCollator(collator, devices.of_process, micro_batch) if devices.of_process > 1 else collator,
        active_schedule(config).batch,
        micro_batch * devices.of_process,
        steps,
        config.seed,
        loader_workers(config.hardware, devices.devices, devices.of_process),
        classes.borders,
    )


def _fit(setup: TrainingSetup, console: Console) -> None:
    checkpoint = None
    if setup.config.resume and setup.folder.last_checkpoint.exists():
        checkpoint = setup.folder.last_checkpoint
        console.print(f"goes on after step {saved_step(checkpoint)} of {setup.steps}", highlight=False)
    setup.folder.set_status("running", **_facts(setup))
    try:
        trainer = _trainer(setup, console)
        try:
            trainer.fit(setup.module, setup.data, ckpt_path=checkpoint, weights_only=True)
        finally:
            # After an error in a validation Lightning leaves the loader of training open. Its workers ignore SIGTERM,
            # and the exit would wait for them for ever.
            trainer.fit_loop.teardown()
        if setup.steps % setup.validate_every:
            trainer.validate(setup.module, setup.data, verbose=False)
    except TrainingInterrupted as stop:
        setup.folder.set_status("interrupted", step=stop.step)
        console.print(f"stopped at step {stop.step} of {setup.steps}; go on with the same command and resume=true")
        if not is_first_on_host():
            sys.exit()  # on an error Lightning would kill the first rank while it still writes
        raise (Preempted if stop.preempted else KeyboardInterrupt) from None
    except (KeyboardInterrupt, SystemExit):
        _try_set_status(setup.folder, "interrupted")
        raise
    except OSError as error:
        _try_set_status(setup.folder, "failed", error=str(error))
        raise UserError(
            f"cannot write to {setup.folder.path}: {disk_reason(error)}; resume=true then goes on where it was saved",
            exit_code=1,
        ) from error
    except BaseException as error:
        _try_set_status(setup.folder, "failed", error=str(error) if isinstance(error, UserError) else repr(error))
        raise
    clamped = setup.module.clamped_ids
    # Replicas on XLA have their own modules, whose counts do not come back.
    setup.folder.set_status("trained", step=setup.steps, **({} if setup.devices.replicas else {"clamped_ids": clamped}))
    if clamped:
        console.print(
            f"{clamped} row or column indices were beyond their embedding tables and were clamped in the look-up"
        )


def _try_set_status(folder: RunFolder, state: str, **facts: Any) -> None:
    """Set the status unless the disk is full."""
    with contextlib.suppress(OSError):
        folder.set_status(state, **facts)


def _facts(setup: TrainingSetup) -> dict[str, Any]:
    """Size of the run and hardware, for ``status.json``."""
    hardware = {**asdict(setup.devices), "device": device_name(setup.devices), "threads": torch.get_num_threads()}
    return {
        "steps": setup.steps,
        "mean_tokens": round(setup.mean_length, 1),
        "parameters": sum(parameter.numel() for parameter in setup.module.model.parameters()),
        "flops_per_token": training_flops(setup.module.model),
        "attention": setup.attention,
        **setup.classes.facts(),
        "hardware": hardware,
    }


def _trainer(setup: TrainingSetup, console: Console) -> pl.Trainer:
    quieten_lightning()
    checkpoints = Checkpoints(setup.folder, setup.vocabulary, setup.schedule.save_every, setup.validate_every)
    callbacks: list[pl.Callback] = [SyncEachBatch()] if setup.devices.device_type == "xla" else []
    callbacks += [FiniteLoss(setup.folder), Curves(setup.folder.path / "metrics.csv", setup.module.task.metric)]
    callbacks.append(checkpoints)
    if not setup.devices.replicas:  # signals reach the main thread; replicas are other threads
        callbacks.append(Interruption(checkpoints))
    callbacks.append(ProgressReport(console))
    return pl.Trainer(
        **setup.devices.trainer_arguments(),
        max_steps=setup.steps,
        max_epochs=1,
        accumulate_grad_batches=setup.accumulation,
        gradient_clip_val=setup.schedule.clip_norm,
        val_check_interval=setup.validate_every * setup.accumulation,
        check_val_every_n_epoch=None,
        num_sanity_val_steps=0,
        # Reading a loss blocks XLA devices: fewer in long runs.
        log_every_n_steps=max(1, min(50, setup.steps // 100)) if setup.devices.device_type == "xla" else 1,
        use_distributed_sampler=False,
        callbacks=callbacks,
        logger=loggers(setup.config, setup.folder),
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
    )
