"""Load and save weights of BERT, MiniLM, TAPAS and mate: folders, packages, the Hugging Face cache."""

from __future__ import annotations

import copy
import importlib.util
import re
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from torch import Tensor, nn

from mate_cli.config.catalogue import typed_options
from mate_cli.config.model import BackboneConfig
from mate_cli.models.checkpoint import INDEX, identity_pooler, read_tensors, renamed, write_tensors, written_whole
from mate_cli.models.configuration import MateConfig, read_config
from mate_cli.models.model import MatePreTrainedModel
from mate_cli.models.variants import ADDED_PARAMETERS
from mate_cli.system.errors import UserError
from mate_cli.system.files import weight_files

Model = TypeVar("Model", bound=MatePreTrainedModel)

VOCABULARY_FILES = ("vocab.txt", "tokenizer.json")

_OPERATORS = "aggregation_classifier."
_TYPE_TABLES = "tapas.embeddings.token_type_embeddings_"
# Tensors that every checkpoint of this family has.
_CORE = ("tapas.encoder.", "tapas.embeddings.word", "tapas.embeddings.position", "tapas.embeddings.LayerNorm")


@dataclass(frozen=True)
class LoadReport:
    """Names of the tensors that the checkpoint filled, that are new, and that the model does not use.

    Attributes:
        operators: says which operators on cells were filled, if the model has others as well or fewer.
    """

    source: str
    matched: tuple[str, ...]
    new: tuple[str, ...]
    unused: tuple[str, ...]
    operators: str = ""

    def __str__(self) -> str:
        new = f" ({', '.join(_families(self.new))})" if self.new else ""
        unused = f" ({', '.join(_families(self.unused))})" if self.unused else ""
        return (
            f"weights {self.source}: {len(self.matched)} tensors matched{self.operators}, {len(self.new)} new{new}, "
            f"{len(self.unused)} unused{unused}"
        )


def hub_folder(hub_id: str) -> Path:
    """Return the snapshot of a hub model in the local cache, downloaded if it is not there.

    Raises:
        UserError: it is not in the cache and cannot be downloaded.
    """
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import LocalEntryNotFoundError

    patterns = ["config.json", "model*.safetensors", INDEX, "vocab.txt", "tokenizer.json"]
    try:
        folder = Path(snapshot_download(hub_id, allow_patterns=patterns, local_files_only=True))
        if weight_files(folder):
            return folder
    except LocalEntryNotFoundError:
        pass
    try:
        folder = Path(snapshot_download(hub_id, allow_patterns=patterns, etag_timeout=5))
        if not weight_files(folder):  # older models; others have both, a second copy
            snapshot_download(hub_id, allow_patterns=["pytorch_model*.bin"], etag_timeout=5)
    except Exception as error:
        names = ", ".join(f"backbone={name}" for name in backbones_at_hand()) or "none"
        raise UserError(
            f"the weights of {hub_id} are not in the Hugging Face cache and could not be downloaded "
            f"({type(error).__name__}); those that are here: {names}; others: backbone=folder backbone.path=DIR"
        ) from error
    return folder


def backbones_at_hand() -> list[str]:
    """Return the names of the options of ``backbone`` whose trained weights are on this machine.

    Installed packages come before models in the Hugging Face cache.
    """
    from huggingface_hub import try_to_load_from_cache

    files = ("model.safetensors", "pytorch_model.bin")
    packages, cached = [], []
    for name, backbone in typed_options("backbone", BackboneConfig).items():
        if backbone.source == "package" and importlib.util.find_spec(str(backbone.package)):
            packages.append(name)
        paths = [try_to_load_from_cache(backbone.hub_id, file) for file in files] if backbone.hub_id else []
        if any(isinstance(path, str) for path in paths):
            cached.append(name)
    return packages + cached


def load_weights(model: MatePreTrainedModel, folder: Path) -> LoadReport:
    """Fill ``model`` in place with the tensors of a checkpoint that it has too.

    Tensors are matched by name: a head continues from another task, as in the release. BERT's two segment rows become
    the first two of TAPAS's segment table. Two more steps make tables readable to a BERT that has seen none:

    - Type tables that the checkpoint lacks start at zero. With the release's normal distribution the six of them are
      noise as large as the word embeddings of a small model.
    - BERT's first position is added to the word [CLS], and the others move up by one. BERT saw only [CLS] there; in
      MiniLM that row is five times as long as the others and makes all states equal in a layer or two. Positions
      restart in every cell, so each cell would lose its first word.

    If the checkpoint's pooling differs from the model's, the pooler starts as the identity. If it has more or fewer
    operators on cells than the model, those of both are filled: they come in one order.

    Raises:
        UserError: no weights, an unreadable file, tensors of other shapes, or no BERT encoder.
    """
    tensors = model.state_dict()
    stored = renamed(read_tensors(folder), tensors)
    fitting = {name: tensor for name, tensor in stored.items() if name in tensors}
    if model.config.pooling != "first" and read_config(folder).pooling != model.config.pooling:
        fitting |= identity_pooler(tensors)
    operators, here = "", model.config.num_aggregation_labels
    if here and (there := read_config(folder).num_aggregation_labels) not in (0, here):
        fitting |= _operators_of_both(fitting, tensors, there)
        operators = f" ({there} operators there, {here} here)"
    _check_shapes(fitting, tensors, folder)
    report = LoadReport(
        _source(folder),
        tuple(sorted(fitting)),
        tuple(sorted(set(tensors) - set(fitting))),
        tuple(sorted(set(stored) - set(fitting))),
        operators,
    )
    is_added = re.compile(rf"\.({'|'.join(ADDED_PARAMETERS)})\.").search
    missing = [name for name in report.new if name.startswith(_CORE) and not is_added(name)]
    if missing:
        raise UserError(
            f"the weights of {folder} are not those of a BERT, MiniLM or TAPAS encoder: "
            f"{missing[0]} is missing ({len(missing)} tensors in all)"
        )
    model.load_state_dict(fitting, strict=False)
    for name in report.new:
        if name.startswith(_TYPE_TABLES):
            nn.init.zeros_(model.get_parameter(name))
    return report


def save_model(
    model: MatePreTrainedModel, folder: Path, vocabulary: Path, tensors: Mapping[str, Tensor] | None = None
) -> None:
    """Write configuration, weights and vocabulary to ``folder``; it has a whole model at all times.

    Args:
        vocabulary: folder with the tokenizer's files.
        tensors: the weights, if the model has only a shard of them.

    Raises:
        OSError: the folder cannot be written; an existing model stays.
    """
    with written_whole(folder) as staged:
        write_model(model, staged, tensors)
        for name in VOCABULARY_FILES:
            if (vocabulary / name).exists():
                shutil.copyfile(vocabulary / name, staged / name)


def write_model(model: MatePreTrainedModel, folder: Path, tensors: Mapping[str, Tensor] | None = None) -> None:
    """Write configuration and weights into an existing folder.

    Raises:
        OSError: it cannot be written.
    """
    write_config(model, folder)
    write_tensors(model.state_dict() if tensors is None else tensors, folder / "model.safetensors")


def write_config(model: MatePreTrainedModel, folder: Path) -> None:
    """Write the configuration of a model into an existing folder.

    Raises:
        OSError: it cannot be written.
    """
    config = copy.copy(model.config)
    # FSDP puts its own class before ours.
    config.architectures = [next(parent.__name__ for parent in type(model).__mro__ if "kind" in vars(parent))]
    # Every field, so that another version's defaults cannot change the model.
    (folder / "config.json").write_text(config.to_json_string(use_diff=False), encoding="utf-8")


def not_finite(tensors: Mapping[str, Tensor]) -> str | None:
    """Return the name of the first tensor with an infinite number or NaN, None if there is none."""
    return next((name for name, tensor in tensors.items() if not bool(tensor.isfinite().all())), None)


def load_model(folder: Path, model_class: type[Model], heads: str | None = None) -> Model:
    """Load a saved model, in evaluation mode.

    Args:
        heads: expected value of ``MateConfig.heads``.

    Raises:
        UserError: the folder has another model, not all of its tensors, or numbers that are not finite.
    """
    model = model_class(checked_config(folder, model_class, heads))
    report = load_weights(model, folder)
    missing = [name for name in report.new if model.unread is None or not name.startswith(model.unread)]
    problems = [f"{name} is missing" for name in missing] + [f"{name} is unknown" for name in report.unused]
    if problems:
        raise UserError(
            f"{folder} is a checkpoint of another model: {'; '.join(problems[:3])} ({len(problems)} in all)"
        )
    if wrong := not_finite(dict(model.named_parameters())):
        raise UserError(f"{folder}: the numbers of {wrong} are not all finite; take another checkpoint")
    model.eval()
    return model


def checked_config(folder: Path, model_class: type[MatePreTrainedModel], heads: str | None) -> MateConfig:
    """Read the configuration of a saved model, and check that it is of this class and has these ``heads``.

    Raises:
        UserError: it is not.
    """
    config = read_config(folder)
    if config.kind != model_class.kind:
        raise UserError(
            f"{folder} holds a model of kind={config.kind}, and this needs kind={model_class.kind}; "
            "name a run of such a task"
        )
    if heads is not None and config.heads != heads:
        raise UserError(
            f"{folder} is a checkpoint of another model: it has {config.heads!r} heads, not {heads!r} as the run's "
            "configuration; train again, or name the run it belongs to"
        )
    return config


def _operators_of_both(stored: dict[str, Tensor], model: dict[str, Tensor], number: int) -> dict[str, Tensor]:
    """Return the head of the model, filled from the first ones of a checkpoint of ``number`` operators."""
    filled = {}
    for name, tensor in stored.items():
        if name.startswith(_OPERATORS) and len(tensor) == number and tensor.shape[1:] == model[name].shape[1:]:
            filled[name] = model[name].clone()
            filled[name][:number] = tensor[: len(model[name])]
    return filled


def _check_shapes(stored: dict[str, Tensor], model: dict[str, Tensor], folder: Path) -> None:
    problems = [
        f"{name} is {tuple(tensor.shape)} there and {tuple(model[name].shape)} in the model"
        for name, tensor in stored.items()
        if tensor.shape != model[name].shape
    ]
    if problems:
        listed = f"{'; '.join(problems[:3])} ({len(problems)} tensors in all)"
        raise UserError(f"the weights of {folder} do not fit the model: {listed}")


def _source(folder: Path) -> str:
    """Return a short name: the hub id of a cached snapshot, the package of a model folder, or the folder."""
    if folder.parent.name == "snapshots":
        return folder.parent.parent.name.removeprefix("models--").replace("--", "/")
    return folder.parent.name if folder.name == "model" else folder.name


def _families(names: tuple[str, ...]) -> list[str]:
    """Return the tensor names without the numbers of layers and tables, each once."""
    short = (name.removeprefix("tapas.").removesuffix(".weight").removesuffix(".bias") for name in names)
    return sorted({re.sub(r"[._]\d+", "", name) for name in short})
