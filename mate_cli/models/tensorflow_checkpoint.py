"""Read the checkpoints that TensorFlow 1 wrote for BERT and TAPAS, without TensorFlow.

A checkpoint is a file of data and ``NAME.index``: a sorted table, in LevelDB's format, from the names of variables to
their types, shapes and places in the data, as Protocol Buffers (``BundleEntryProto`` of TensorFlow's
``tensor_bundle.proto``). Only what these checkpoints have is read: 32-bit numbers in one file or several, in tables
without compression.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from math import prod
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

_MAGIC = bytes.fromhex("57fb808b247547db")
_FOOTER, _TRAILER = 48, 5
"""Bytes at the end of a table, with the place of its index, and of a block: its compression and a checksum."""

_FLOAT32 = 1
_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5

_MOST_SHARDS = 1_000

_NAMES = (
    (r"/adam_[mv]$|^global_step$|^cls/seq_relationship/", None),
    (r"^output_weights_agg$", "aggregation_classifier.weight"),
    (r"^output_bias_agg$", "aggregation_classifier.bias"),
    (r"^output_weights_cls$", "classifier.weight"),
    (r"^output_bias_cls$", "classifier.bias"),
    (r"^cls/predictions/output_bias$", "cls.predictions.bias"),
    (r"/layer_(\d+)/", r"/layer/\1/"),
    (r"_embeddings(_\d)?$", r"\g<0>/weight"),
    (r"/kernel$", "/weight"),
)
"""Parts of TensorFlow's names, and what they are in PyTorch's; None: the variable is left out."""


@dataclass
class _Entry:
    """A variable's type, shape, file, first byte there and number of bytes."""

    dtype: int = 0
    shape: list[int] = field(default_factory=list)
    shard: int = 0
    offset: int = 0
    size: int = 0


def read_checkpoint(index: Path) -> dict[str, Tensor]:
    """Read the variables of a checkpoint by the names that Hugging Face's classes give them.

    Kernels are transposed, as ``torch.nn.Linear`` keeps them; the optimizer's variables are left out.

    Args:
        index: the file ``NAME.index``.

    Raises:
        ValueError: a file is damaged, or of another kind.
        OSError: a file cannot be read.
    """
    table = index.read_bytes()
    entries = {name.decode(): value for name, value in _table(table)}
    header = dict(_fields(entries.pop("", b"")))
    shards = int(header.get(1, 1))
    if shards > _MOST_SHARDS:
        raise ValueError("it is damaged")
    files = [index.with_name(f"{index.stem}.data-{number:05}-of-{shards:05}") for number in range(shards)]
    data = [np.memmap(file, dtype=np.uint8, mode="r") for file in files]
    tensors = {}
    for name, value in entries.items():
        if (ours := _renamed(name)) is not None:
            tensor = _tensor(name, _entry(value), data)
            tensors[ours] = tensor.T.contiguous() if name.endswith("/kernel") else tensor
    return tensors


def _renamed(name: str) -> str | None:
    for pattern, ours in _NAMES:
        if ours is None and re.search(pattern, name):
            return None
        name = re.sub(pattern, ours or "", name)
    return name.replace("/", ".")


def _tensor(name: str, entry: _Entry, data: list[np.memmap]) -> Tensor:
    if entry.dtype != _FLOAT32 or entry.size != 4 * prod(entry.shape):
        raise ValueError(f"{name} is no variable of 32-bit numbers")
    if entry.shard >= len(data) or entry.offset + entry.size > len(data[entry.shard]):
        raise ValueError(f"{name} is not whole")
    content = data[entry.shard][entry.offset : entry.offset + entry.size].tobytes()
    return torch.frombuffer(bytearray(content), dtype=torch.float32).reshape(entry.shape)


def _table(content: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Yield the keys and values of a sorted table."""
    if content[-8:] != _MAGIC or len(content) < _FOOTER:
        raise ValueError("it is no index of a TensorFlow checkpoint")
    footer = content[-_FOOTER:]
    _, place = _varint(footer, 0)  # of blocks about the table, which has none
    _, place = _varint(footer, place)
    for _, handle in _block(content, footer[place:]):
        yield from _block(content, handle)


def _block(content: bytes, handle: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Yield the keys and values of a block; each key is given by what it shares with the one before it."""
    start, place = _varint(handle, 0)
    size, _ = _varint(handle, place)
    if len(content) < start + size + _TRAILER or size < 4:
        raise ValueError("it is not whole")
    if content[start + size]:
        raise ValueError("it is compressed")
    block = content[start : start + size]
    restarts = int.from_bytes(block[-4:], "little")
    end, place, key = size - 4 * (restarts + 1), 0, b""
    while place < end:
        shared, place = _varint(block, place)
        own, place = _varint(block, place)
        length, place = _varint(block, place)
        key = key[:shared] + block[place : place + own]
        yield key, block[place + own : place + own + length]
        place += own + length


def _entry(message: bytes) -> _Entry:
    entry = _Entry()
    for number, value in _fields(message):
        match number, value:
            case 1, int():
                entry.dtype = value
            case 2, bytes():
                entry.shape = [
                    int(dict(_fields(size)).get(1, 0)) for _, size in _fields(value) if isinstance(size, bytes)
                ]
            case 3, int():
                entry.shard = value
            case 4, int():
                entry.offset = value
            case 5, int():
                entry.size = value
    return entry


def _fields(message: bytes) -> Iterator[tuple[int, int | bytes]]:
    """Yield the numbers and values of a Protocol Buffer's fields."""
    place = 0
    while place < len(message):
        tag, place = _varint(message, place)
        number, kind = tag >> 3, tag & 7
        if kind == _VARINT:
            value, place = _varint(message, place)
            yield number, value
            continue
        if kind == _BYTES:
            length, place = _varint(message, place)
        elif kind in (_FIXED32, _FIXED64):
            length = 4 if kind == _FIXED32 else 8
        else:
            raise ValueError("it has a field of an unknown kind")
        yield number, message[place : place + length]
        place += length


def _varint(content: bytes, place: int) -> tuple[int, int]:
    """Read a number of seven bits a byte, the lowest first; return it and the place after it."""
    value = shift = 0
    while True:
        if place >= len(content) or shift > 63:
            raise ValueError("it is damaged")
        byte = content[place]
        value, place, shift = value | (byte & 127) << shift, place + 1, shift + 7
        if byte < 128:
            return value, place
