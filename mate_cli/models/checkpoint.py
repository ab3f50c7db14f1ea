"""Checkpoint files of BERT, MiniLM, TAPAS and mate: reading, writing, and mapping their tensors to our names."""

from __future__ import annotations

import json
import os
import pickle
import re
import shutil
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor

from mate_cli.models.tensorflow_checkpoint import read_checkpoint
from mate_cli.system.errors import UserError
from mate_cli.system.files import content_hash, remove_leftovers, temporary_of, weight_files, write_json

INDEX = "model.safetensors.index.json"
"""Hugging Face's file that says which file has which tensor."""

OWN_WEIGHTS = "model-own.safetensors"
"""The tensors of a folder that shares its others with another model."""

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
    """Yield a temporary folder that replaces ``folder`` when everything is written.

    The files of an existing folder are replaced one by one: it has a whole model at all times, even after a kill, if
    its other files are the same before and after, as those of a training's best models are.

    Raises:
        OSError: it cannot be written; the temporary folder is removed.
    """
    with _staged(folder) as staged:
        yield staged
        if folder.exists():
            _move(staged, folder)
        else:
            os.replace(staged, folder)


@contextmanager
def replaced_whole(folder: Path, names: Collection[str]) -> Iterator[Path]:
    """Yield a temporary folder whose files take the place of those in ``folder`` that have one of the names.

    Files of other names stay. All old ones leave before the first new one comes, so that no kill leaves a model of
    both: the old ones are then beside the folder, and ``put_back`` puts them back.

    Raises:
        OSError: it cannot be written; ``folder`` is as it was, and the temporary folder is removed.
    """
    folder = folder.resolve()  # where a link leads, so that all is on one disk
    with _staged(folder) as staged:
        yield staged
        if not folder.exists():
            os.replace(staged, folder)
            return
        new, aside = [path.name for path in staged.iterdir()], _aside(folder)
        aside.mkdir()
        try:
            _move(folder, aside, {*names, *new})
            _move(staged, folder)
        except BaseException:
            for name in new:
                if not (staged / name).exists():  # it had moved already
                    (folder / name).unlink()
            put_back(folder)
            raise
        shutil.rmtree(aside, ignore_errors=True)


def put_back(folder: Path) -> None:
    """Undo what a killed ``replaced_whole`` had begun.

    Raises:
        OSError: the folder cannot be written.
    """
    folder = folder.resolve()
    aside = _aside(folder)
    if aside.is_dir():
        _move(aside, folder)
        aside.rmdir()


def _aside(folder: Path) -> Path:
    return folder.with_name(f".{folder.name}.replaced")


@contextmanager
def _staged(folder: Path) -> Iterator[Path]:
    """A new folder beside ``folder``, which is removed at the end; and what killed processes left of such ones."""
    remove_leftovers(folder)
    temporary = temporary_of(folder)
    shutil.rmtree(temporary, ignore_errors=True)  # of a killed process that had our number
    try:
        temporary.mkdir(parents=True)
        yield temporary
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def _move(source: Path, to: Path, names: Collection[str] | None = None) -> None:
    """Move the files of a folder to another on the same disk, or those of them that have one of the names."""
    for path in sorted(source.iterdir()):
        if names is None or path.name in names:
            os.replace(path, to / path.name)


def read_tensors(folder: Path) -> dict[str, Tensor]:
    """Read all tensors of a model folder: of safetensors, of PyTorch without running code, or of TensorFlow 1.

    Where there is an ``INDEX``, it names the files; some may be those of a model beside the folder.

    Raises:
        UserError: there are no files, or one is corrupt or contains pickled code.
    """
    if (folder / INDEX).is_file():
        return _read_indexed(folder / INDEX)
    files = weight_files(folder)
    if not files:
        raise UserError(f"{folder} has no weights: no model.safetensors, pytorch_model.bin or model.ckpt.index")
    if len(files) > 1 and files[0].suffix == ".index":
        raise UserError(f"{folder} holds {len(files)} checkpoints of TensorFlow; leave one of them there")
    return {name: tensor for path in files for name, tensor in _read_whole(path).items()}


def write_tensors(tensors: Mapping[str, Tensor], file: Path) -> None:
    """Write tensors of any device to a safetensors file, which others may read as they may the user's other files.

    Raises:
        OSError: it cannot be written.
    """
    stored = {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}
    file.touch()
    mode = file.stat().st_mode
    try:
        save_file(stored, file, metadata={"format": "pt"})
        file.chmod(mode)  # the library keeps its files to their owner
    except SafetensorError as error:  # raised if the disk is full
        number = re.search(r"\(os error (\d+)\)", str(error))  # which says what mends it
        raise OSError(int(number[1]) if number else 0, str(error), str(file.parent)) from error


def write_own(tensors: dict[str, Tensor], shared: Path, folder: Path, to: Path) -> None:
    """Write those of a model's tensors that another model lacks or has with other values, and an index of all.

    Args:
        shared: safetensors file of the other model; folder: where to write; to: the final place of that folder, from
            which the index leads to ``shared``.

    Raises:
        UserError: the other model has none of the tensors, or its file cannot be read.
        OSError: the folder cannot be written.
    """
    theirs = _read_whole(shared)
    common = [name for name, tensor in tensors.items() if name in theirs and _equal(tensor, theirs[name])]
    if not common:
        raise UserError(f"{shared} has none of the model's tensors in this dtype; leave out base")
    own = {name: tensor for name, tensor in tensors.items() if name not in common}
    write_tensors(own, folder / OWN_WEIGHTS)
    way = Path(os.path.relpath(shared.resolve(), to.resolve())).as_posix()
    size = sum(tensor.numel() * tensor.element_size() for tensor in tensors.values())
    places = dict.fromkeys(own, OWN_WEIGHTS) | dict.fromkeys(common, way)
    hashes = {way: content_hash([shared])}
    write_json(folder / INDEX, {"metadata": {"total_size": size, "hashes": hashes}, "weight_map": places})


def renamed(stored: dict[str, Tensor], model: dict[str, Tensor]) -> dict[str, Tensor]:
    """Rename a checkpoint's tensors: heads keep their names, the encoder gets ``tapas.``, buffers are dropped.

    BERT, recognised by its single segment table, is adapted to tables as ``load_weights`` explains; TAPAS and mate have
    seven type tables.

    Args:
        model: tensors of the model to fill.
    """
    tensors = {}
    for name, tensor in stored.items():
        if name.endswith("position_ids"):
            continue
        name = name.replace("LayerNorm.gamma", "LayerNorm.weight").replace("LayerNorm.beta", "LayerNorm.bias")
        prefix = next(p for p in _PREFIXES if name.startswith(p))
        inner = "tapas." + name.removeprefix(prefix)
        is_encoder = inner in model or inner == _BERT_SEGMENTS
        tensors[inner if is_encoder else name] = tensor
    if _SEGMENTS not in tensors and _BERT_SEGMENTS in tensors:
        tensors[_SEGMENTS] = _segment_table(tensors.pop(_BERT_SEGMENTS), model[_SEGMENTS])
        _free_first_position(tensors)
    return tensors


def identity_pooler(model: dict[str, Tensor]) -> dict[str, Tensor]:
    """Return an identity pooler, for states that the checkpoint's pooler was not trained on."""
    bias = torch.zeros_like(model[_POOLER + "bias"])
    return {_POOLER + "weight": torch.eye(len(bias)), _POOLER + "bias": bias}


def _read_indexed(index: Path) -> dict[str, Tensor]:
    """Read the tensors that an index names, each from its file."""
    try:
        content = json.loads(index.read_text(encoding="utf-8"))
        places, hashes = dict(content["weight_map"]), dict(content.get("metadata", {}).get("hashes", {}))
        files = sorted(set(map(os.fspath, places.values())))
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise UserError(f"{index} is no index of a model's tensors; download the model again") from error
    tensors: dict[str, Tensor] = {}
    for file in files:
        path, names = index.parent / file, [name for name in places if places[name] == file]
        if path.suffix != ".safetensors" or not path.is_file():
            raise UserError(f"{index} names {file}, which is not there; put the folders side by side as they were")
        if file in hashes and content_hash([path]) != hashes[file]:
            raise UserError(f"{index} was written for other weights than {path} has now; install both together again")
        stored = _read_whole(path)
        if missing := [name for name in names if name not in stored]:
            raise UserError(f"{path} lacks {missing[0]}, which {index} says it has; download the model again")
        tensors |= {name: stored[name] for name in names}
    return tensors


def _read_whole(path: Path) -> dict[str, Tensor]:
    """Read a file, with a line for the user where that fails."""
    try:
        return _read_file(path)
    except pickle.UnpicklingError as error:  # its text explains how to run the code
        raise UserError(
            f"cannot load weights from {path}: corrupt, or contains pickled code; use the model's safetensors file"
        ) from error
    except _READ_ERRORS as error:
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise UserError(f"cannot load weights from {path} ({reason}); download the model again") from error


def _equal(one: Tensor, other: Tensor) -> bool:
    return one.dtype == other.dtype and torch.equal(one.cpu(), other)


def _read_file(path: Path) -> dict[str, Tensor]:
    if path.suffix == ".safetensors":
        return load_file(path)
    if path.suffix == ".index":
        return read_checkpoint(path)
    tensors = torch.load(path, map_location="cpu", weights_only=True)
    if not isinstance(tensors, dict) or not all(isinstance(t, Tensor) for t in tensors.values()):
        raise ValueError("it contains more than named tensors")
    return tensors


def _free_first_position(tensors: dict[str, Tensor]) -> None:
    """Move BERT's first position into the word [CLS], which keeps the sum of both, and the others up by one."""
    words, positions = tensors.get(WORDS), tensors.get(POSITIONS)
    if words is None or positions is None or len(words) <= _CLS or words.shape[1:] != positions.shape[1:]:
        return
    tensors[WORDS] = words.clone()
    tensors[WORDS][_CLS] += positions[0] - positions[1]
    tensors[POSITIONS] = torch.cat([positions[1:], positions[-1:]])


def _segment_table(of_bert: Tensor, ours: Tensor) -> Tensor:
    """Return BERT's rows and the rest of ours; BERT's alone if the widths differ, which is reported later."""
    if of_bert.shape[1:] != ours.shape[1:]:
        return of_bert
    return torch.cat([of_bert.to(ours), ours[len(of_bert) :]])[: len(ours)]
