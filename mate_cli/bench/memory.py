"""Peak memory of one call, each measured in a process of its own (paper figure 6), and the largest batch that fits.

A server process imports everything once and forks a child for every measurement. The child runs a short step first, so
that libraries and weights are in memory, then the step in question; the result is the growth of its peak, on CUDA that
of the allocator's peak. Memory that is freed goes back to the system at once: what glibc keeps depends on earlier
allocations, and moved the result of one model at 2048 tokens between 75 and 89 MiB.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import resource
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import torch

from mate_cli.attention.generated import QUESTION_TOKENS
from mate_cli.bench.contenders import contender
from mate_cli.bench.point import Point, documents
from mate_cli.bench.work import Work, make_encoder
from mate_cli.system.children import child_environment

# Largest number of tokens of the first step, and its share of the example.
_WARM_LENGTH = 256
_WARM_SHARE = 4

# From this many bytes on, an allocation has its own pages, which are freed with it (mallopt(3), M_MMAP_THRESHOLD).
_OWN_PAGES = 1 << 16


class MemoryServer:
    """A process that measures; it starts with the first measurement."""

    def __init__(self, threads: int) -> None:
        self.threads = threads
        self._process: subprocess.Popen[str] | None = None

    def close(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()

    def peak(self, model: str, point: Point) -> dict[str, Any]:
        """Measure a call: ``{"bytes": growth}`` or ``{"error": one line}``."""
        if self._process is None:
            self._process = _start()
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        task = {"model": model, "point": asdict(point), "threads": self.threads}
        try:
            self._process.stdin.write(json.dumps(task) + "\n")
            self._process.stdin.flush()
            answer = self._process.stdout.readline()
        except BrokenPipeError:
            answer = ""
        return dict(json.loads(answer)) if answer else {"error": "the measuring process has ended"}


def _start() -> subprocess.Popen[str]:
    program = [sys.executable, "-c", "from mate_cli.bench.memory import serve; serve()"]
    pipe = subprocess.PIPE
    environment = child_environment(MALLOC_MMAP_THRESHOLD_=str(_OWN_PAGES))
    return subprocess.Popen(program, stdin=pipe, stdout=pipe, text=True, env=environment)


def serve() -> None:
    """Answer each line of stdin, a task, by a line on stdout; a child measures, because it may be killed."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # Ctrl-C reaches the whole process group: end silently
    for line in sys.stdin:
        child = os.fork()
        if not child:
            print(json.dumps(_answer(json.loads(line))), flush=True)
            os._exit(0)
        _, status = os.waitpid(child, 0)
        if status:
            print(json.dumps({"error": f"killed by signal {os.WTERMSIG(status)}: out of memory?"}), flush=True)


def _answer(task: dict[str, Any]) -> dict[str, Any]:
    try:
        torch.set_num_threads(task["threads"])
        return {"bytes": peak_growth(task["model"], Point(**task["point"]))}
    except Exception as error:
        return {"error": f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"}


def peak_growth(model: str, point: Point) -> int:
    """Return the bytes that the step of ``point`` needs, inputs and plan included, beyond what a short step left."""
    chosen = contender(model)
    encoder = make_encoder(chosen, point)
    length = min(max(point.length // _WARM_SHARE, 32), _WARM_LENGTH)
    small = replace(point, layout="grid", question=QUESTION_TOKENS, length=length, batch=1)
    Work(chosen, small, encoder, documents(small))()
    on_gpu = point.device == "cuda"
    if on_gpu:
        torch.cuda.reset_peak_memory_stats()
    else:
        with contextlib.suppress(OSError):  # proc(5): the peak starts again at what is resident now
            Path("/proc/self/clear_refs").write_text("5", encoding="utf-8")
    before = torch.cuda.memory_allocated() if on_gpu else peak_bytes()
    work = Work(chosen, point, encoder, documents(point))
    work.reset()
    work()
    return (torch.cuda.max_memory_allocated() if on_gpu else peak_bytes()) - before


def peak_bytes() -> int:
    """Return the largest number of bytes that the process has had.

    The file is better than ``ru_maxrss``, which outlives exec: a child would begin with the peak of a large parent.
    """
    try:
        high_water_mark = re.search(r"VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text(encoding="utf-8"))
    except OSError:
        high_water_mark = None
    if high_water_mark:
        return int(high_water_mark[1]) * 1024
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def largest_batch(peak: Callable[[int], float | None], limit: float) -> int:
    """Return the largest batch whose peak is at most ``limit`` bytes; 0 if one example does not fit.

    Each try is a step in a process of its own, so there should be few. The next try is where a line through the last
    two peaks that fitted (the first: through 0) reaches the limit, until one is too large; then the interval is
    halved, because peaks are near a line, not on it.

    Args:
        peak: bytes that a batch of so many examples needs; None if it ran out of memory.
    """
    fitting, fitting_peak, tried = 0, 0.0, 1
    too_large: int | None = None
    while too_large is None or too_large - fitting > 1:
        needed = peak(tried)
        if needed is None or needed > limit:
            too_large = tried
        else:
            each = (needed - fitting_peak) / (tried - fitting)
            fitting, fitting_peak = tried, needed
            tried += max(int((limit - needed) / each), 1) if each > 0 else fitting
        if too_large is not None:
            tried = (fitting + too_large) // 2
    return fitting
