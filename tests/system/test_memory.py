"""Freed memory is kept: in a process of its own, for there is no way back."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from pathlib import Path

import pytest

_FAULTS = """
import resource, sys
import numpy as np
from mate_cli.system.memory import keep_freed_memory

if sys.argv[1] == "keep":
    keep_freed_memory()
for round in range(3):
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    np.empty(100 << 20, np.uint8).fill(1)
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


def faults(how: str) -> int:
    root = str(Path(__file__).parents[2])
    words = [sys.executable, "-c", _FAULTS, how]
    # NumPy asks for huge pages, which would be few faults.
    environment = {**os.environ, "PYTHONPATH": root, "NUMPY_MADVISE_HUGEPAGE": "0"}
    return int(subprocess.run(words, env=environment, capture_output=True, text=True, check=True).stdout)


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="mallopt is glibc's")
def test_an_array_is_made_where_the_last_one_was() -> None:
    pages = (100 << 20) // os.sysconf("SC_PAGE_SIZE")
    assert faults("return") >= pages
    assert faults("keep") < pages / 10


def test_other_c_libraries_are_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    from mate_cli.system import memory

    for library in (object(), None):
        monkeypatch.setattr(memory.ctypes, "CDLL", lambda _, library=library: library)
        memory.keep_freed_memory()
