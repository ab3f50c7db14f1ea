"""What a command left: whether every file is whole, and a digest of each that a rerun must give again."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import torch
import yaml
from safetensors.torch import load_file

_RECORDS = ("metrics.json", "statistics.json", "report.json")
_EQUAL = ("*.jsonl", "*.csv", "*.md", "*.tex", "*.arrow", *_RECORDS)
_WORDS = ("name", "resume", "overwrite")  # say that a run goes on, as mate reproduce does where one has begun
_STATE = ("state_dict", "optimizer_states", "lr_schedulers", "global_step")


def check_whole(folder: Path) -> int:
    """Read every file that stands under its own name; how many they are.

    ``metrics.csv`` may end in half a line: a run that goes on cuts it off.
    """
    files = [path for path in folder.rglob("*") if path.is_file() and not _is_aside(path.relative_to(folder))]
    for path in files:
        _read(path)
    return len(files)


def leftovers(folder: Path) -> list[str]:
    """What is not under its own name."""
    return [str(path.relative_to(folder)) for path in folder.rglob("*") if _is_aside(path.relative_to(folder))]


def digests(folder: Path) -> dict[str, str]:
    """Of weights, states, predictions, scores, curves and caches, by path."""
    found = {str(path.relative_to(folder)): _sha(path.read_bytes()) for glob in _EQUAL for path in folder.rglob(glob)}
    for path in folder.rglob("*.safetensors"):
        found[str(path.relative_to(folder))] = _sha(path.read_bytes())
    for path in folder.rglob("last.ckpt"):
        state = torch.load(path, weights_only=True)
        found[str(path.relative_to(folder))] = _sha(_plain({name: state[name] for name in _STATE}).encode())
    for path in folder.rglob("config.yaml"):
        settings = {name: own for name, own in yaml.safe_load(path.read_text()).items() if name not in _WORDS}
        found[str(path.relative_to(folder))] = _sha(repr(settings).encode())
    for path in folder.rglob("status.json"):
        status = json.loads(path.read_text())
        found[str(path.relative_to(folder))] = f"{status['state']} {status['step']}"
    return found


def _is_aside(path: Path) -> bool:
    return any(part.endswith((".tmp", ".partial")) for part in path.parts)


def _read(path: Path) -> Any:
    match path.suffix:
        case ".json":
            return json.loads(path.read_text())
        case ".jsonl":
            return [json.loads(line) for line in path.read_text().splitlines()]
        case ".yaml":
            return yaml.safe_load(path.read_text())
        case ".ckpt":
            return torch.load(path, weights_only=True)
        case ".safetensors":
            return load_file(path)
        case ".arrow":
            with pa.memory_map(str(path)) as file:
                is_file = file.read(6) == b"ARROW1"
                file.seek(0)
                return (pa.ipc.open_file if is_file else pa.ipc.open_stream)(file).read_all().num_rows
    return None


def _plain(value: Any) -> str:
    """All numbers of nested containers, bit for bit."""
    if isinstance(value, torch.Tensor):
        return f"{value.dtype} {list(value.shape)} {_sha(value.float().numpy().tobytes())}"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{name!r}: {_plain(own)}" for name, own in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(_plain, value)) + "]"
    return repr(value)


def _sha(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:16]
