"""The mark of other data than a run's own: evaluations of such data keep out of the way of the run's own scores."""

from __future__ import annotations

import hashlib
from dataclasses import replace

from mate_cli.config.train import TrainConfig
from mate_cli.runs.data import data_hash, task_data_hash
from mate_cli.runs.folder import RunFolder, read_record


def data_mark(folder: RunFolder, config: TrainConfig, data_dir: str | None) -> str:
    """Return what the names of scores and predictions get after the split: ``-data-1a2b3c4d``, or "" for own data.

    The digits stand for the content of the data, as ``runs.data`` knows it. A model without a record of its data, such
    as an export, has none of its own.

    Args:
        config: of the run, with the paths in use.
        data_dir: folder of the data; None for that of the run.
    """
    own = read_record(folder.environment_file).get("data")
    if own is None:
        return ""
    asked = task_data_hash(config.task, data_dir or config.data_dir, config.paths)
    if asked is None or _is_own(own, config, data_dir, asked):
        return ""
    return f"-data-{hashlib.sha1(asked.encode()).hexdigest()[:8]}"


def _is_own(own: str, config: TrainConfig, data_dir: str | None, asked: str) -> bool:
    if data_hash(replace(config, data_dir=data_dir or config.data_dir)) == own:
        return True
    if config.task.mixed.format is None and config.task.qa.history is None:
        return False
    # The hash is of mixed examples or a history too, and these may be gone; the folder of the training tells then.
    return data_dir is None or asked == task_data_hash(config.task, config.data_dir, config.paths)
