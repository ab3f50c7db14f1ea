"""Weights in and out: BERT, MiniLM, TAPAS and our own, from a folder, a package or the Hugging Face cache."""

from __future__ import annotations

import copy
import importlib.util
import re
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from safetensors import SafetensorError
from safetensors.torch import save_file
from torch import Tensor, nn

from mate_cli.models.checkpoint import identity_pooler, read_tensors, renamed, weight_files, written_whole
from mate_cli.models.config_file import read_config
from mate_cli.models.model import MatePreTrainedModel
from mate_cli.models.variants import ADDED_PARAMETERS
from mate_cli.system.distribution import install_command
from mate_cli.system.errors import UserError

Model = TypeVar("Model", bound=MatePreTrainedModel)

VOCABULARY_FILES = ("vocab.txt", "tokenizer.json")

_TYPE_TABLES = "tapas.embeddings.token_type_embeddings_"
# What every checkpoint of the family has; without it, it is something else.
_CORE = ("tapas.encoder.", "tapas.embeddings.word", "tapas.embeddings.position", "tapas.embeddings.LayerNorm")


@dataclass(frozen=True)
class LoadReport:
    """Which tensors of a checkpoint went into the model, which are new, which were left over."""

    source: str
    matched: tuple[str, ...]
    new: tuple[str, ...]
    unused: tuple[str, ...]

    def __str__(self) -> str:
        new = f" ({', '.join(_families(self.new))})" if self.new else ""
        unused = f" ({', '.join(_families(self.unused))})" if self.unused else ""
        return (
            f"weights {self.source}: {len(self.matched)} tensors matched, {len(self.new)} new{new}, "
            f"{len(self.unused)} unused{unused}"
        )


def package_folder(package: str) -> Path:
    """The folder of weights and vocabulary inside an installed package, which is not imported.

    Raises:
        UserError: the package is not installed.
    """
    spec = importlib.util.find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        install = install_command("minilm")
        raise UserError(f"the package {package} is not installed; install it with: {install}")
    return Path(next(iter(spec.submodule_search_locations))) / "model"


def hub_folder(hub_id: str) -> Path:
    """The snapshot of a hub model in the local cache; downloaded where the hub can be reached.

    Raises:
        UserError: it is neither cached nor to be had.
    """
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import LocalEntryNotFoundError

    wanted = ["config.json", "model*.safetensors", "vocab.txt", "tokenizer.json"]
    try:
        folder = Path(snapshot_download(hub_id, allow_patterns=wanted, local_files_only=True))
        if weight_files(folder):
            return folder
    except LocalEntryNotFoundError:
        pass
    try:
        folder = Path(snapshot_download(hub_id, allow_patterns=wanted, etag_timeout=5))
        if not weight_files(folder):  # older models have no safetensors; elsewhere they would be a second copy
            snapshot_download(hub_id, allow_patterns=["pytorch_model*.bin"], etag_timeout=5)
    except Exception as error:
        raise UserError(
            f"the weights of {hub_id} are not in the Hugging Face cache and could not be downloaded "
            f"({type(error).__name__}); take backbone=minilm schedule=laptop, "
            "or backbone=folder backbone.path=DIR"
        ) from error
    return folder


def load_weights(model: MatePreTrainedModel, folder: Path) -> LoadReport:
    """Fill ``model`` with what fits of a checkpoint, in place.

    Tensors are matched by name, heads too: what scores cells or labels goes on from where another task left it, as
    in the release, and a head that the checkpoint has not is new.

    BERT's two segment rows become the first two of TAPAS's segment table, so that question and table start as
    BERT's sentence A and B. Two more steps make a table readable to a BERT that has seen none:

    - Type tables that the checkpoint lacks start at zero. At the release's normal start the six of them are
      noise as large as the word embeddings of a small model.
    - BERT's first position goes to the word [CLS], and the others move up by one. BERT saw only [CLS] there; in
      MiniLM that row is five times as long as the others and turns every token into the same state in a layer
      or two. Positions start again in every cell, so each cell would lose its first word.

    Where the model pools otherwise than the checkpoint's did, its pooler starts as the identity.

    Raises:
        UserError: no weights, an unreadable file, tensors whose shapes do not fit, or no BERT encoder in it.
    """
    own = model.state_dict()
    stored = renamed(read_tensors(folder), own)
    fitting = {name: tensor for name, tensor in stored.items() if name in own}
    if model.config.pooling != "first" and read_config(folder).pooling != model.config.pooling:
        fitting |= identity_pooler(own)
    _check_shapes(fitting, own, folder)
    report = LoadReport(
        _source(folder),
        tuple(sorted(fitting)),
        tuple(sorted(set(own) - set(fitting))),
        tuple(sorted(set(stored) - set(fitting))),
    )
    missing = [name for name in report.new if name.startswith(_CORE) and not _is_added(name)]
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
    """Write configuration, weights and vocabulary to ``folder``; a model that stands there stays whole.

    Args:
        vocabulary: the folder that the tokeniser's files are copied from.
        tensors: the weights, where the model holds only a share of them.

    Raises:
        OSError: the folder cannot be written; nothing is left of the attempt.
    """
    with written_whole(folder) as staged:
        write_model(model, staged, tensors)
        for name in VOCABULARY_FILES:
            if (vocabulary / name).exists():
                shutil.copyfile(vocabulary / name, staged / name)


def write_model(model: MatePreTrainedModel, folder: Path, tensors: Mapping[str, Tensor] | None = None) -> None:
    """Write configuration and weights into a folder that is there.

    Raises:
        OSError: it cannot be written.
    """
    config = copy.copy(model.config)
    # FSDP puts a class of its own before ours.
    config.architectures = [next(own.__name__ for own in type(model).__mro__ if "kind" in vars(own))]
    # Every field, so that another version's defaults cannot change the model.
    (folder / "config.json").write_text(config.to_json_string(use_diff=False), encoding="utf-8")
    whole = model.state_dict() if tensors is None else tensors
    stored = {name: tensor.detach().cpu().contiguous() for name, tensor in whole.items()}
    try:
        save_file(stored, folder / "model.safetensors", metadata={"format": "pt"})
    except SafetensorError as error:  # its own kind of error where a disk is full
        raise OSError(f"{folder}: {error}") from error


def load_model(folder: Path, model_class: type[Model], heads: str | None = None) -> Model:
    """Load a saved model, in evaluation mode.

    Args:
        heads: the pattern family that the caller expects.

    Raises:
        UserError: the folder holds another model, or not all of its tensors.
    """
    config = read_config(folder)
    if config.kind != model_class.kind:
        raise UserError(
            f"{folder} holds a model of kind={config.kind}, and this needs kind={model_class.kind}; "
            "name a run of such a task"
        )
    if heads is not None and config.heads != heads:
        raise UserError(
            f"{folder} is a checkpoint of another model: it has {config.heads!r} heads, and the run's "
            f"configuration says {heads!r}; train again, or name the run it belongs to"
        )
    model = model_class(config)
    report = load_weights(model, folder)
    wrong = [f"{name} is missing" for name in report.new] + [f"{name} is unknown" for name in report.unused]
    if wrong:
        listed = f"{'; '.join(wrong[:3])} ({len(wrong)} in all)"
        raise UserError(f"{folder} is a checkpoint of another model: {listed}")
    model.eval()
    return model


def _is_added(name: str) -> bool:
    return any(f".{part}." in name for part in ADDED_PARAMETERS)


def _check_shapes(stored: dict[str, Tensor], own: dict[str, Tensor], folder: Path) -> None:
    wrong = [
        f"{name} is {tuple(tensor.shape)} there and {tuple(own[name].shape)} in the model"
        for name, tensor in stored.items()
        if tensor.shape != own[name].shape
    ]
    if wrong:
        listed = f"{'; '.join(wrong[:3])} ({len(wrong)} tensors in all)"
        raise UserError(f"the weights of {folder} do not fit the model: {listed}")


def _source(folder: Path) -> str:
    """A short name: the hub id of a cached snapshot, the package around its model folder, or the folder."""
    if folder.parent.name == "snapshots":
        return folder.parent.parent.name.removeprefix("models--").replace("--", "/")
    return folder.parent.name if folder.name == "model" else folder.name


def _families(names: tuple[str, ...]) -> list[str]:
    """Tensor names without what tells layers and tables apart, each once."""
    short = (name.removeprefix("tapas.").removesuffix(".weight").removesuffix(".bias") for name in names)
    return sorted({re.sub(r"[._]\d+", "", name) for name in short})
