"""The processor of this machine: its name and instructions, as far as the system tells."""

from __future__ import annotations

import platform
from functools import cache
from pathlib import Path


def processor_name() -> str:
    return _cpuinfo().get("model name") or platform.processor() or platform.machine()


def processor_flags() -> frozenset[str]:
    """Return the names of the instruction sets, as Linux calls them; empty on other systems."""
    info = _cpuinfo()
    return frozenset((info.get("flags") or info.get("Features") or "").split())


@cache
def _cpuinfo() -> dict[str, str]:
    """Return what Linux says of the first core."""
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    except OSError:
        return {}
    lines = (line.partition(":") for line in text.partition("\n\n")[0].splitlines())
    return {name.strip(): value.strip() for name, _, value in lines}
