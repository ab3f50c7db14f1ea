"""The model that training starts from, as the configuration names it."""

from __future__ import annotations

from pathlib import Path

from rich.console import Console

from mate_cli.config.model import BackboneConfig, ModelConfig
from mate_cli.config.task import active_schedule
from mate_cli.config.train import TrainConfig
from mate_cli.encoding.tokenizer import CellTokenizer
from mate_cli.kinds.registry import kind_of, task_of
from mate_cli.models.configuration import MateConfig, read_config
from mate_cli.models.encoder import Encoder
from mate_cli.models.model import MatePreTrainedModel
from mate_cli.models.weights import hub_folder, load_weights
from mate_cli.runs.parent import parent_run
from mate_cli.system.distribution import package_folder
from mate_cli.system.errors import UserError
from mate_cli.tasks.task import Task


def weights_folder(backbone: BackboneConfig) -> Path:
    """Find the folder of a backbone's weights and vocabulary; for random weights, of the vocabulary alone.

    Raises:
        UserError: they are not there, naming the way to get them.
    """
    if backbone.source == "hub":
        return hub_folder(str(backbone.hub_id))
    if backbone.source == "folder":
        return Path(str(backbone.path)).expanduser()
    if backbone.source == "run":
        return parent_run(str(backbone.path)).best_model
    return package_folder(backbone.package or backbone.vocabulary)


def encoding_model(backbone: BackboneConfig, model: ModelConfig, max_tokens: int) -> tuple[Path, MateConfig]:
    """Find the folder of a backbone's vocabulary, and the configuration that training would give the model.

    A hub model that is not here yet has the size of its option, and BERT's uncased vocabulary from a package: all of
    them share it.
    """
    try:
        folder = weights_folder(backbone)
    except UserError:
        if backbone.source != "hub":
            raise
        folder, config = package_folder(backbone.vocabulary), _untrained(backbone)
    else:
        config = _untrained(backbone) if backbone.source == "random" else read_config(folder)
    choose_attention(config, model, max_tokens)
    return folder, config


def model_config(config: TrainConfig) -> MateConfig:
    """Return the configuration of the model that training starts from; its weights need not be here.

    Raises:
        UserError: as ``weights_folder``, but for those of the hub.
    """
    _, chosen = encoding_model(config.backbone, config.model, active_schedule(config).max_tokens)
    _choose_settings(chosen, config, task_of(config))
    return chosen


def starting_model(
    config: TrainConfig, task: Task, console: Console
) -> tuple[MatePreTrainedModel, Path, frozenset[str]]:
    """Make the model; also return the folder of its vocabulary, and the names of parameters that no checkpoint filled.

    Raises:
        UserError: weights or vocabulary are not there, do not fit each other or the model.
    """
    folder = weights_folder(config.backbone)
    is_random = config.backbone.source == "random"
    chosen = _untrained(config.backbone) if is_random else read_config(folder)
    CellTokenizer(folder).check_fits(chosen.vocab_size)
    _choose_settings(chosen, config, task)
    model = kind_of(config.task).model(chosen)
    if is_random:
        head_lr = active_schedule(config).head_lr
        if head_lr is not None:
            console.print(f"weights: random, all of them learn at head_lr={head_lr:g}", highlight=False)
        return model, folder, frozenset(name for name, _ in model.named_parameters())
    report = load_weights(model, folder)
    console.print(str(report), highlight=False)
    return model, folder, frozenset(report.new)


def freeze_layers(model: MatePreTrainedModel, layers: int, new: frozenset[str]) -> None:
    """Keep the embeddings and the first ``layers`` of the encoder as they are; 0: everything learns.

    The gradient is not computed below the first layer that learns.

    Args:
        new: names of parameters that no checkpoint filled.

    Raises:
        UserError: the encoder has fewer layers, or some of the kept parameters are new.
    """
    if not layers:
        return
    encoder, embeddings = model.get_submodule("tapas.encoder"), model.get_submodule("tapas.embeddings")
    assert isinstance(encoder, Encoder)
    if layers > len(encoder.layer):
        raise UserError(f"frozen_layers={layers} is more than the {len(encoder.layer)} layers of this encoder")
    frozen = {id(p) for module in (embeddings, *encoder.layer[:layers]) for p in module.parameters()}
    untrained = [name for name, parameter in model.named_parameters() if id(parameter) in frozen and name in new]
    if untrained:
        raise UserError(
            f"frozen_layers={layers} would keep weights that were never trained ({untrained[0]}, {len(untrained)} "
            "tensors in all); start from a model that has learned tables, such as backbone=mate_minilm"
        )
    for parameter in model.parameters():
        parameter.requires_grad_(id(parameter) not in frozen)


def _choose_settings(chosen: MateConfig, config: TrainConfig, task: Task) -> None:
    """Set what model, backbone, schedule and task say about a model."""
    schedule = active_schedule(config)
    choose_attention(chosen, config.model, schedule.max_tokens)
    chosen.pooling = config.backbone.pooling or chosen.pooling
    chosen.hidden_dropout_prob = schedule.dropout
    chosen.attention_probs_dropout_prob = schedule.attention_dropout
    task.prepare_model(chosen)


def choose_attention(chosen: MateConfig, model: ModelConfig, max_tokens: int) -> None:
    """Set heads and positions as the option of ``conf/model`` says, for inputs of at most ``max_tokens``."""
    chosen.heads = model.heads
    chosen.row_heads_ratio = model.row_ratio
    chosen.linformer_k, chosen.linformer_tokens = model.linformer.k, max_tokens
    chosen.table_etc_radius, chosen.table_etc_global_size = model.table_etc.radius, model.table_etc.global_size
    chosen.etc_global_size = model.etc.global_size
    positions = model.positions
    if positions == "paper":
        positions = "sequence" if max_tokens <= chosen.max_position_embeddings else "cell"
    if positions != "auto":
        chosen.reset_position_index_per_cell = positions == "cell"
        chosen.reset_position_index_per_column = positions == "column"
    chosen.text_only, chosen.histogram_row = model.sat.text_only, model.sat.histogram


def _untrained(backbone: BackboneConfig) -> MateConfig:
    return MateConfig(
        hidden_size=backbone.hidden,
        num_hidden_layers=backbone.layers,
        num_attention_heads=backbone.heads,
        intermediate_size=backbone.intermediate,
        max_position_embeddings=backbone.max_positions,
    )
