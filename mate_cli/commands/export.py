"""Write a run's best model as a folder for Hugging Face's libraries or ONNX Runtime, with its model card."""

from __future__ import annotations

from collections import Counter
from functools import partial
from pathlib import Path

from mate_cli.config.commands import ExportConfig
from mate_cli.runs.folder import GRAPH, WEIGHTS, RunFolder, load_run_config
from mate_cli.system.errors import UserError


def run(config: ExportConfig) -> None:
    """Write the folder and say what is in it."""
    from mate_cli.inference.calibration import carry_over
    from mate_cli.models.averaging import average_with
    from mate_cli.models.checkpoint import OWN_WEIGHTS, put_back
    from mate_cli.models.model import MatePreTrainedModel
    from mate_cli.reporting.model_card import model_card
    from mate_cli.training.export import check_target, export_run, write_weights
    from mate_cli.training.onnx_graph import check_graph, write_graph

    folder, to = RunFolder(Path(config.run)), Path(config.to)
    trained, exported = load_run_config(folder.path), load_run_config(folder.path, config.max_tokens)
    others = [RunFolder(Path(run)) for run in config.average or ()]
    for source in (folder, *others):
        _check_source(config, source)
    if twice := [path for path, count in Counter(run.path.resolve() for run in (folder, *others)).items() if count > 1]:
        raise UserError(f"average: {twice[0]} would count twice; name each run once")
    put_back(to)
    if config.format == "onnx":
        check_target(to, config.overwrite, GRAPH)
        check_graph(trained)
        write_model = partial(write_graph, config=exported, int8=config.quantize == "int8")
    else:
        check_target(to, config.overwrite, WEIGHTS if config.base is None else OWN_WEIGHTS)
        base = None if config.base is None else Path(config.base) / WEIGHTS
        write_model = partial(write_weights, dtype=config.dtype, base=base, to=to)

    def write(model: MatePreTrainedModel, staged: Path) -> None:
        average_with(model, folder.best_model, [other.best_model for other in others])
        write_model(model, staged)
        if config.quantize is None and not others:  # other probabilities need a calibration of their own
            carry_over(folder, staged)

    export_run(folder, exported, to, model_card(folder, trained, config), write)
    print(f"{to}: {', '.join(sorted(path.name for path in to.iterdir()))}")


def _check_source(config: ExportConfig, folder: RunFolder) -> None:
    load_run_config(folder.path)  # raises where there is no run
    if not folder.weights_file.is_file():
        raise UserError(f"{folder.path} has no model yet; train it to the end with resume=true")
    is_export, is_graph = folder.best_model == folder.path, folder.weights_file.name == GRAPH
    if is_graph or (is_export and config.format == "safetensors" and not config.average):
        raise UserError(f"{folder.path} is an export already; copy the folder")
