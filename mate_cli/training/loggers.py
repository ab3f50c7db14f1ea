"""Loggers of a run beside its ``metrics.csv``: Weights & Biases, TensorBoard."""

from __future__ import annotations

import importlib.util
import os
import secrets
import sys
from typing import Any

from pytorch_lightning.loggers import Logger

from mate_cli.config.plain import to_plain
from mate_cli.config.train import TrainConfig
from mate_cli.runs.folder import RunFolder
from mate_cli.runs.place import current_identity, run_group
from mate_cli.system.distribution import install_command
from mate_cli.system.errors import UserError


def check_logger(config: TrainConfig) -> None:
    """
    Raises:
        UserError: the library of the logger is not installed.
    """
    if config.logger.name == "tensorboard" and importlib.util.find_spec("tensorboard") is None:
        raise UserError(f"logger=tensorboard needs TensorBoard: {install_command('tensorboard')}")


def loggers(config: TrainConfig, folder: RunFolder) -> list[Logger]:
    """Make the loggers of a run beside its ``metrics.csv``."""
    if config.logger.name == "wandb":
        return [_wandb(config, folder)]
    if config.logger.name == "tensorboard":
        from pytorch_lightning.loggers import TensorBoardLogger

        return [TensorBoardLogger(folder.path, name="tensorboard", version="", default_hp_metric=False)]
    return []


def finish_tracking() -> None:
    """End the Weights & Biases run: its import hooks fail in forked processes, and encoding a split forks."""
    wandb: Any = sys.modules.get("wandb")
    if wandb is not None and wandb.run is not None:
        wandb.finish()


def _wandb(config: TrainConfig, folder: RunFolder) -> Logger:
    """One Weights & Biases run for a run folder, however often resumed; offline without a key or a chosen mode."""
    import wandb
    from pytorch_lightning.loggers import WandbLogger

    wandb_id = folder.status().get("wandb_id") or secrets.token_hex(4)
    folder.set_status("running", wandb_id=wandb_id)
    has_mode = "WANDB_MODE" in os.environ or wandb.login(prompt=False, verify=False)
    return WandbLogger(
        project=config.logger.project,
        group=config.logger.group or run_group(config, current_identity(config)),
        name=folder.path.name,
        id=wandb_id,
        save_dir=folder.path,
        config=to_plain(config),
        mode=None if has_mode else "offline",
    )
