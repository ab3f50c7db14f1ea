"""Checkpoints of BERT, MiniLM, TAPAS and our own: their files, read and written, and their tensors under our names."""

from __future__ import annotations

import os
import pickle
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor

from mate_cli.system.errors import UserError

WORDS = "tapas.embeddings.word_embeddings.weight"
POSITIONS = "tapas.embeddings.position_embeddings.weight"

_PREFIXES = ("bert.", "tapas.", "model.", "")
_POOLER = "tapas.pooler.dense."
_BERT_SEGMENTS = "tapas.embeddings.token_type_embeddings.weight"
_SEGMENTS = "tapas.embeddings.token_type_embeddings_0.weight"
_CLS = 101  # in every vocabulary of BERT
_READ_ERRORS = (OSError, SafetensorError, RuntimeError, ValueError, EOFError)


@contextmanager
def written_whole(folder: Path) -> Iterator[Path]:
    """A folder to write into, which takes the place of ``folder`` when all is written.

    Where one stands already, its files of the same names are replaced one by one: at no time is there no model.

    Raises:
        OSError: it cannot be written; nothing is left of the attempt.
    """
    temporary = folder.with_name(f".{folder.name}.tmp")  # hidden, so that no folder of the user's is in the way
    shutil.rmtree(temporary, ignore_errors=True)
    try:
        temporary.mkdir(parents=True)
        yield temporary
        _move_into_place(temporary, folder)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def weight_files(folder: Path) -> list[Path]:
    """The files with a model's tensors: safetensors, else PyTorch's; none where there are neither."""
    return sorted(folder.glob("model*.safetensors")) or sorted(folder.glob("pytorch_model*.bin"))


def read_tensors(folder: Path) -> dict[str, Tensor]:
    """All tensors of a model folder: safetensors, else a PyTorch file, of which nothing but tensors is read.

    Raises:
        UserError: there is none, it is broken, or it holds objects whose reading could run code.
    """
    files = weight_files(folder)
    if not files:
        raise UserError(f"{folder} holds no weights: neither model.safetensors nor pytorch_model.bin")
    tensors: dict[str, Tensor] = {}
    for path in files:
        try:
            tensors.update(_read_file(path))
        except pickle.UnpicklingError as error:  # its text tells how to read the file all the same
            raise UserError(
                f"{path} cannot be read as weights (broken, or objects that could run code, which are refused); "
                "take the model's safetensors file"
            ) from error
        except _READ_ERRORS as error:
            reason = (str(error).splitlines() or [type(error).__name__])[0]
            raise UserError(f"{path} cannot be read as weights ({reason}); fetch the model again") from error
    return tensors


def renamed(stored: dict[str, Tensor], own: dict[str, Tensor]) -> dict[str, Tensor]:
    """Tensors of a checkpoint under our names: heads as they are, the encoder under ``tapas.``, buffers dropped.

    BERT, known by its single table of segments, is made ready for tables here, and nothing else is: our own
    checkpoints and TAPAS's have seven type tables.

    Args:
        own: the tensors of the model that they are for.
    """
    found = {}
    for name, tensor in stored.items():
        if name.endswith("position_ids"):
            continue
        name = name.replace("LayerNorm.gamma", "LayerNorm.weight").replace("LayerNorm.beta", "LayerNorm.bias")
        prefix = next(p for p in _PREFIXES if name.startswith(p))
        inner = "tapas." + name.removeprefix(prefix)
        is_encoder = inner in own or inner == _BERT_SEGMENTS
        found[inner if is_encoder else name] = tensor
    if _SEGMENTS not in found and _BERT_SEGMENTS in found:
        found[_SEGMENTS] = _segment_table(found.pop(_BERT_SEGMENTS), own[_SEGMENTS])
        _free_first_position(found)
    return found


def identity_pooler(own: dict[str, Tensor]) -> dict[str, Tensor]:
    """A pooler that changes nothing but the scale of a state: what was trained on another one would only blur it."""
    return {
        _POOLER + "weight": torch.eye(len(own[_POOLER + "bias"])),
        _POOLER + "bias": torch.zeros_like(own[_POOLER + "bias"]),
    }


def _read_file(path: Path) -> dict[str, Tensor]:
    if path.suffix == ".safetensors":
        return load_file(path)
    tensors = torch.load(path, map_location="cpu", weights_only=True)
    if not isinstance(tensors, dict) or not all(isinstance(t, Tensor) for t in tensors.values()):
        raise ValueError("it holds more than named tensors")
    return tensors


def _free_first_position(tensors: dict[str, Tensor]) -> None:
    """Move BERT's first position into the word [CLS], whose sum of both stays, and the others up by one."""
    words, positions = tensors.get(WORDS), tensors.get(POSITIONS)
    if words is None or positions is None or len(words) <= _CLS or words.shape[1:] != positions.shape[1:]:
        return
    tensors[WORDS] = words.clone()
    tensors[WORDS][_CLS] += positions[0] - positions[1]
    tensors[POSITIONS] = torch.cat([positions[1:], positions[-1:]])


def _segment_table(of_bert: Tensor, own: Tensor) -> Tensor:
    """BERT's rows, then the rest of our own; as it is where the widths differ, which is reported later."""
    if of_bert.shape[1:] != own.shape[1:]:
        return of_bert
    return torch.cat([of_bert.to(own), own[len(of_bert) :]])[: len(own)]


def _move_into_place(temporary: Path, folder: Path) -> None:
    """Rename the finished folder or, where one stands already, its files: at no time is there no model."""
    if not folder.exists():
        os.replace(temporary, folder)
        return
    for path in sorted(temporary.iterdir()):
        os.replace(path, folder / path.name)
