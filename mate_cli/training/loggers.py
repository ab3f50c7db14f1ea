"""Where the curves of a run go beside its ``metrics.csv``: to Weights & Biases or TensorBoard, where asked."""

from __future__ import annotations

import importlib.util
import os
import secrets
import sys
from collections.abc import Callable
from typing import Any

from pytorch_lightning.loggers import Logger

from mate_cli.config.plain import to_plain
from mate_cli.config.train import TrainConfig
from mate_cli.runs.folder import RunFolder
from mate_cli.runs.identity import run_group
from mate_cli.system.distribution import install_command
from mate_cli.system.errors import UserError


def check_logger(config: TrainConfig) -> None:
    """
    Raises:
        UserError: the library that the logger writes with is not installed.
    """
    if config.logger.name == "tensorboard" and importlib.util.find_spec("tensorboard") is None:
        raise UserError(f"logger=tensorboard needs TensorBoard: {install_command('tensorboard')}")


def loggers(config: TrainConfig, folder: RunFolder) -> list[Logger]:
    """The loggers of one run beside its ``metrics.csv``, made anew for each."""
    return _LOGGERS[config.logger.name](config, folder)


def finish_tracking() -> None:
    """End the run of Weights & Biases: its import hooks fail in forked processes, and encoding a split forks."""
    wandb: Any = sys.modules.get("wandb")
    if wandb is not None and wandb.run is not None:
        wandb.finish()


def _csv(config: TrainConfig, folder: RunFolder) -> list[Logger]:
    del config, folder
    return []


def _wandb(config: TrainConfig, folder: RunFolder) -> list[Logger]:
    """One run of Weights & Biases for a run folder, however often it is resumed; below the folder where offline."""
    from pytorch_lightning.loggers import WandbLogger

    own_id = folder.status().get("wandb_id") or secrets.token_hex(4)
    folder.set_status("running", wandb_id=own_id)
    logger = WandbLogger(
        project=config.logger.project,
        group=config.logger.group or run_group(config),
        name=folder.path.name,
        id=own_id,
        save_dir=folder.path,
        config=to_plain(config),
        mode=None if _knows_wandb() else "offline",
    )
    return [logger]


def _knows_wandb() -> bool:
    """Whether the user chose a mode, or has a key, so that wandb need not ask for one."""
    import wandb

    return "WANDB_MODE" in os.environ or wandb.login(prompt=False, verify=False)


def _tensorboard(config: TrainConfig, folder: RunFolder) -> list[Logger]:
    from pytorch_lightning.loggers import TensorBoardLogger

    del config
    return [TensorBoardLogger(folder.path, name="tensorboard", version="", default_hp_metric=False)]


_LOGGERS: dict[str, Callable[[TrainConfig, RunFolder], list[Logger]]] = {
    "csv": _csv,
    "wandb": _wandb,
    "tensorboard": _tensorboard,
}
