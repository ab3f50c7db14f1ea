"""Write a run's best model as a folder for Hugging Face's libraries, with its model card."""

from __future__ import annotations

from pathlib import Path

from mate_cli.config.commands import ExportConfig
from mate_cli.runs.folder import RunFolder, load_run_config
from mate_cli.system.errors import UserError


def run(config: ExportConfig) -> None:
    """Write the folder and say what is in it."""
    from mate_cli.inference.calibration import carry_over
    from mate_cli.reporting.model_card import model_card
    from mate_cli.training.export import check_target, export_run

    folder, to = RunFolder(Path(config.run)), Path(config.to).expanduser()
    trained = load_run_config(folder.path)
    if not folder.weights_file.is_file():
        raise UserError(f"run={config.run} has no model yet; train it to the end with resume=true")
    if folder.best_model == folder.path:
        raise UserError(f"run={config.run} is an export already; copy the folder")
    check_target(to, config.overwrite)
    export_run(folder, trained, to, model_card(folder, trained), config.dtype)
    carry_over(folder, to)
    print(f"{to}: {', '.join(sorted(path.name for path in to.iterdir()))}")
