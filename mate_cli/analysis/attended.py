"""Open the model and the examples of an attention flow: of a run, of a backbone, or without a model."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from mate_cli.analysis.flow import Flow, attention_flow, uniform_flow
from mate_cli.config.analysis import AnalyzeConfig
from mate_cli.config.hardware import HardwareConfig
from mate_cli.config.model import ModelConfig
from mate_cli.config.task import active_schedule
from mate_cli.config.train import TrainConfig
from mate_cli.encoding.batch import Collator
from mate_cli.inference.predictor import Predictor
from mate_cli.kinds.registry import task_of
from mate_cli.models.model import MatePreTrainedModel
from mate_cli.models.observed import reason_unobservable
from mate_cli.models.variants import make_planner
from mate_cli.runs.folder import RunFolder, load_run_config
from mate_cli.system.errors import UserError
from mate_cli.training.devices import loader_workers, resolve_devices
from mate_cli.training.loader import batch_loader
from mate_cli.training.splits import data_source, encoding_options, open_split
from mate_cli.training.starting_model import encoding_model, starting_model

_PAPERS = ("wtq", "dev")


@dataclass(frozen=True)
class Attended:
    """A model (or None) and its encoded examples.

    Attributes:
        is_papers: the examples are those of paper table 7.
        rows: examples of an encoded split, as returned by ``row_of``.
    """

    title: str
    is_papers: bool
    model: MatePreTrainedModel | None
    rows: Any

    def flow(self, hardware: HardwareConfig, console: Console) -> Flow:
        """Compute the attention flow in fp32, on a GPU if the hardware has one."""
        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
        with Progress(*columns, console=console, transient=True) as progress:
            if self.model is None:
                return uniform_flow(progress.track(self.rows, description="examples"))
            device = "cuda" if resolve_devices(hardware).device_type == "cuda" else "cpu"
            collator = Collator(make_planner(self.model.config, "eager"))
            # One example at a time: the probabilities of the longest one bound the memory.
            loader = batch_loader(self.rows, collator, loader_workers(hardware), batch_size=1)
            batches = progress.track(loader, len(self.rows), description="examples")
            model = torch.nn.Module.to(self.model, device).eval()  # the type of Hugging Face's `to` is unusable
            return attention_flow(model, (batch.to(device) for batch in batches))


def open_attended(config: AnalyzeConfig, console: Console) -> Attended:
    """Open the run of the configuration, or its task with a backbone or without a model.

    Raises:
        UserError: the model or the data is missing, the model has no attention flow, or the task reads no tables.
    """
    trained = None if config.run is None else load_run_config(config.run)
    source = config if trained is None or config.task is not None else trained
    assert source.task is not None
    if source.task.traits.role == "reader":
        raise UserError(
            f"task={source.task.name} reads single cells, and attention flow needs tables; choose another task"
        )
    # Missing data is reported before a model is loaded.
    data = data_source(source.task, config.split, config.data_dir or source.data_dir, config.paths)
    if config.analysis.baseline_only and trained is None:
        vocabulary, model_config = encoding_model(config.backbone, config.model, active_schedule(config).max_tokens)
        name, model = "no model", None
    else:
        name, vocabulary, model = _run_model(config, trained) if trained else _backbone_model(config, console)
        model_config = model.config
    task = task_of(source)
    options = encoding_options(source, task, model_config)
    rows = open_split(task.source(data, training=False), vocabulary, options, config.paths, console).dataset
    is_papers = (data.format, data.split) == _PAPERS
    return Attended(f"{name}, {source.task.name} {data.split}", is_papers, model, rows)


def _run_model(config: AnalyzeConfig, trained: TrainConfig) -> tuple[str, Path, MatePreTrainedModel]:
    _check_flow(trained.model, f"run={config.run}: model={trained.model.name}")
    folder = RunFolder(Path(str(config.run)))
    return folder.path.resolve().name, folder.best_model, Predictor(folder, trained, config.hardware).model


def _backbone_model(config: AnalyzeConfig, console: Console) -> tuple[str, Path, MatePreTrainedModel]:
    assert config.task is not None
    _check_flow(config.model, f"model={config.model.name}")
    torch.manual_seed(config.analysis.seed)
    training = TrainConfig(task=config.task, model=config.model, backbone=config.backbone, schedule=config.schedule)
    model, vocabulary, _ = starting_model(training, task_of(training), console)
    name = Path(config.backbone.path).expanduser().resolve().name if config.backbone.path else config.backbone.name
    return f"{name} as {config.model.name}", vocabulary, model


def _check_flow(model: ModelConfig, name: str) -> None:
    if reason := reason_unobservable(model):
        raise UserError(f"{name} {reason}; choose mate, tapas or sat")
