"""What a run that is to be measured puts in the place of a suite's models and sizes."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from mate_cli.config.bench import BenchConfig
from mate_cli.models.configuration import read_config
from mate_cli.runs.folder import GRAPH, RunFolder, load_run_config
from mate_cli.system.errors import UserError

_LAYERS = 2


def with_run(config: BenchConfig) -> BenchConfig:
    """Set the model, the size and the layers as ``config.run`` has them; without a run, the number of layers.

    Raises:
        UserError: the folder is no run, has no model yet, or holds a graph instead of weights.
    """
    if config.run is None:
        return replace(config, layers=config.layers or _LAYERS)
    load_run_config(config.run)
    folder = RunFolder(Path(config.run))
    if folder.weights_file.name == GRAPH:
        raise UserError(f"{config.run} holds a graph for ONNX Runtime; measure the run that it was exported from")
    model = read_config(folder.best_model)
    size = f"{model.hidden_size}x{model.num_attention_heads}x{model.intermediate_size}"
    models = [*(config.models or ("limit", "hf_tapas")), config.run]
    return replace(config, models=models, sizes=[size], layers=config.layers or model.num_hidden_layers)
