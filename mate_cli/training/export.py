"""Export of a run's best model to a folder for Hugging Face's libraries, without traces of the training machine.

::

    README.md                        the model card
    config.json, model.safetensors   the model; TAPAS's classes read them too
    model-own.safetensors, model.safetensors.index.json
                                     instead, with base=FOLDER: the tensors that differ, and where the others are
    modeling_mate.py                 imports this package, for programs without ``import mate_cli.models``
    model.onnx                       instead of the weights, the model as a graph for ONNX Runtime
    vocab.txt, tokenizer_config.json the vocabulary in TAPAS's format, for ``transformers.TapasTokenizer``
    config.yaml                      the training configuration, with which ``mate predict`` reads the folder as a run
"""

from __future__ import annotations

import json
import shlex
import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
import yaml
from transformers import AutoConfig

from mate_cli import models
from mate_cli.config import schema
from mate_cli.config.paths import PathsConfig
from mate_cli.config.plain import to_plain
from mate_cli.config.task import active_schedule
from mate_cli.config.train import LoggerConfig, TrainConfig
from mate_cli.config.user_folder import take_config_dir
from mate_cli.encoding.tokenizer import CellTokenizer
from mate_cli.kinds.registry import kind_named, kind_of
from mate_cli.models.checkpoint import replaced_whole, write_own
from mate_cli.models.configuration import MateConfig
from mate_cli.models.model import MatePreTrainedModel
from mate_cli.models.weights import load_model, write_config, write_model
from mate_cli.runs.folder import RunFolder, read_record
from mate_cli.system.errors import UserError, disk_reason

_REMOTE = Path(models.__file__).with_name("modeling_mate.py")


def check_target(to: Path, overwrite: bool, model_file: str) -> None:
    """Check that an export may be written to a folder.

    Args:
        model_file: name of the file that the export has its model in.

    Raises:
        UserError: it exists, and is not an export in the same format, or ``overwrite`` is false.
    """
    if not to.exists() or (to.is_dir() and not any(to.iterdir())):
        return
    is_export = (to / "README.md").is_file() and read_record(to / "config.json").get("model_type") == "mate"
    if not is_export:
        raise UserError(f"to={to} exists and is not an export; set to=DIR to another folder")
    if not (to / model_file).is_file():
        raise UserError(f"to={to} exists and is an export in another format; set to=DIR to another folder")
    if not overwrite:
        raise UserError(f"to={to} exists; overwrite=true replaces it, or set to=DIR to another folder")


def export_run(
    folder: RunFolder, trained: TrainConfig, to: Path, card: str, write: Callable[[MatePreTrainedModel, Path], None]
) -> None:
    """Write a run's best model to ``to``, completely or not at all; files there that no export writes stay.

    Args:
        card: the text of ``README.md``.
        write: writes model and ``config.json`` into an existing folder, and what belongs to them; it may change the
            model.

    Raises:
        UserError: the model is broken or does not match its configuration, or ``to`` cannot be written.
    """
    kind = kind_of(trained.task)
    model = load_model(folder.best_model, kind.model, trained.model.heads)
    tokenizer = CellTokenizer(folder.best_model)
    tokenizer.check_fits(model.config.vocab_size)
    try:
        with replaced_whole(to, [folder.calibration_file.name]) as staged:
            (staged / "README.md").write_text(card, encoding="utf-8")
            tokenizer.write(staged / "vocab.txt")
            settings = {"tokenizer_class": "TapasTokenizer", "do_lower_case": True}
            settings |= {"model_max_length": active_schedule(trained).max_tokens}
            (staged / "tokenizer_config.json").write_text(json.dumps(settings, indent=2) + "\n", encoding="utf-8")
            plain = yaml.safe_dump(to_plain(public_config(trained)), sort_keys=False, allow_unicode=True)
            (staged / "config.yaml").write_text(plain, encoding="utf-8")
            model.config.update(kind.card.tapas_fields(model.config) | _auto_map(kind.model))
            shutil.copyfile(_REMOTE, staged / _REMOTE.name)
            write(model, staged)
    except OSError as error:
        raise UserError(f"cannot write to {to} ({disk_reason(error)}); it is as it was before", exit_code=1) from error


def _auto_map(model_class: type[MatePreTrainedModel]) -> dict[str, Any]:
    """The field of ``config.json`` by which transformers finds the classes of the model in ``modeling_mate.py``."""
    named = {AutoConfig.__name__: MateConfig.__name__}
    for auto, own in models.AUTO_CLASSES.items():
        if own in (models.MateModel, model_class):
            named[auto.__name__] = own.__name__
    return {"auto_map": {auto: f"{_REMOTE.stem}.{own}" for auto, own in named.items()}}


def write_weights(model: MatePreTrainedModel, folder: Path, dtype: str, base: Path | None, to: Path) -> None:
    """Write configuration and weights into a folder.

    Args:
        dtype: name of the dtype of the weights; base: safetensors file of a model whose tensors are not written again;
        to: the final place of the folder.
    """
    tensors = {name: tensor.to(getattr(torch, dtype)) for name, tensor in model.state_dict().items()}
    if base is None:
        write_model(model, folder, tensors)
        return
    write_config(model, folder)
    write_own(tensors, base, folder, to)


def public_config(config: TrainConfig) -> TrainConfig:
    """The configuration without the paths, names and projects of the training machine."""
    path, mixed = config.backbone.path, replace(config.task.mixed, data_dir=None)
    return replace(
        config,
        task=replace(config.task, mixed=mixed, qa=replace(config.task.qa, history=None)),
        backbone=replace(config.backbone, path=None if path is None else Path(path).name),
        paths=PathsConfig(),
        logger=LoggerConfig(name="csv"),
        data_dir=None,
        name=None,
        resume=False,
        overwrite=False,
    )


def public_command(command: Sequence[str]) -> str | None:
    """A recorded ``mate train`` command without local paths; None if the training was started by other means."""
    if list(command[1:2]) != ["train"]:
        return None
    return " ".join(["mate train", *_public_words(command[2:])])


def is_tapas(config: MateConfig) -> bool:
    """True if TAPAS's classes compute the same: full attention, a pooled [CLS], all token types, its positions."""
    pools_first = config.pooling == "first" or not kind_named(config.kind).pools(config)
    has_own_parts = config.text_only or config.histogram_row or config.positions == "column"
    return config.heads == "full" and pools_first and not has_own_parts


def _public_words(words: Sequence[str]) -> Iterator[str]:
    for word in take_config_dir(list(words))[0]:
        name, _, value = word.lstrip("+").partition("=")
        key = schema.find(TrainConfig, name)
        if name in ("data_dir", "task.mixed.data_dir"):
            yield f"{name}=DATA"
        elif name.startswith(("-", "hydra", "paths.", "logger", "resume", "overwrite")):
            continue
        elif key is not None and key.text and name != "backbone.hub_id":
            yield shlex.quote(f"{name}={Path(value).name}")
        else:
            yield shlex.quote(word)
