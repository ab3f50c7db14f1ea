"""Write a run's best model as a folder for Hugging Face's libraries or ONNX Runtime, with its model card."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from mate_cli.config.commands import ExportConfig
from mate_cli.runs.folder import GRAPH, WEIGHTS, RunFolder, load_run_config
from mate_cli.system.errors import UserError


def run(config: ExportConfig) -> None:
    """Write the folder and say what is in it."""
    from mate_cli.inference.calibration import carry_over
    from mate_cli.models.checkpoint import OWN_WEIGHTS, put_back
    from mate_cli.models.model import MatePreTrainedModel
    from mate_cli.reporting.model_card import model_card
    from mate_cli.training.export import check_target, export_run, write_weights
    from mate_cli.training.onnx_graph import check_graph, write_graph

    folder, to = RunFolder(Path(config.run)), Path(config.to).expanduser()
    trained, exported = load_run_config(folder.path), load_run_config(folder.path, config.max_tokens)
    _check_source(config, folder)
    put_back(to)
    if config.format == "onnx":
        check_target(to, config.overwrite, GRAPH)
        check_graph(trained)
        write_model = partial(write_graph, config=exported, int8=config.quantize == "int8")
    else:
        check_target(to, config.overwrite, WEIGHTS if config.base is None else OWN_WEIGHTS)
        base = None if config.base is None else Path(config.base).expanduser() / WEIGHTS
        write_model = partial(write_weights, dtype=config.dtype, base=base, to=to)

    def write(model: MatePreTrainedModel, staged: Path) -> None:
        write_model(model, staged)
        if config.quantize is None:  # other probabilities need a calibration of their own
            carry_over(folder, staged)

    export_run(folder, exported, to, model_card(folder, trained, config), write)
    print(f"{to}: {', '.join(sorted(path.name for path in to.iterdir()))}")


def _check_source(config: ExportConfig, folder: RunFolder) -> None:
    if not folder.weights_file.is_file():
        raise UserError(f"run={config.run} has no model yet; train it to the end with resume=true")
    is_export = folder.best_model == folder.path
    if is_export and (config.format == "safetensors" or folder.weights_file.name == GRAPH):
        raise UserError(f"run={config.run} is an export already; copy the folder")
