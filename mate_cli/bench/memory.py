"""Peak memory of one call, each measured in a process of its own (paper figure 6).

A server process imports everything once and forks a child for every measurement. The child runs a short step
first, so that libraries and weights are there, then the step in question; its peak beyond what was there before
is what counts. Memory that is freed goes back to the system at once: what glibc keeps for later depends on where it
put earlier things, and moved the figure of one model at 2048 tokens between 75 and 89 MiB. On CUDA it is the
allocator's peak beyond what was allocated before.
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
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import torch

from mate_cli.bench.contenders import contender
from mate_cli.bench.layouts import documents
from mate_cli.bench.point import Point
from mate_cli.bench.work import Work, make_encoder

# Tokens of the step before, at most; a short example has a shorter one before it.
_WARM_LENGTH = 256
_WARM_SHARE = 4

# From this many bytes on an allocation has pages of its own, which go when it does (mallopt(3), M_MMAP_THRESHOLD).
_OWN_PAGES = 1 << 16


class MemoryServer:
    """The process starts with the first measurement."""

    def __init__(self, threads: int) -> None:
        self.threads = threads
        self._process: subprocess.Popen[str] | None = None

    def close(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()

    def peak(self, model: str, point: Point) -> dict[str, Any]:
        """``{"bytes": growth}``, or ``{"error": one line}``."""
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
        return dict(json.loads(answer)) if answer else {"error": "the measuring process is gone"}


def _start() -> subprocess.Popen[str]:
    root = str(Path(__file__).resolve().parents[2])
    path = os.pathsep.join(filter(None, [root, os.environ.get("PYTHONPATH")]))
    program = [sys.executable, "-c", "from mate_cli.bench.memory import serve; serve()"]
    pipe = subprocess.PIPE
    environment = {**os.environ, "PYTHONPATH": path, "MALLOC_MMAP_THRESHOLD_": str(_OWN_PAGES)}
    return subprocess.Popen(program, stdin=pipe, stdout=pipe, text=True, env=environment)


def serve() -> None:
    """Answer each line of stdin, a task, by a line on stdout; a child measures, for it may be killed."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # Ctrl-C reaches the whole group: end without a word
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
    """Bytes that the step of ``point`` needs beyond what a short one left; inputs and plan are part of it."""
    chosen = contender(model)
    encoder = make_encoder(chosen, point)
    small = replace(point, length=min(max(point.length // _WARM_SHARE, 32), _WARM_LENGTH), batch=1)
    Work(chosen, small, encoder, documents(small))()
    if point.device == "cuda":
        torch.cuda.reset_peak_memory_stats()
        before = torch.cuda.memory_allocated()
        _step(Work(chosen, point, encoder, documents(point)))
        return torch.cuda.max_memory_allocated() - before
    _reset_peak()
    before = _peak()
    _step(Work(chosen, point, encoder, documents(point)))
    return _peak() - before


def _step(work: Work) -> None:
    work.reset()
    work()


def _reset_peak() -> None:
    """Let the peak begin again at what is resident now, where Linux lets us (proc(5), clear_refs)."""
    with contextlib.suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5", encoding="utf-8")


def _peak() -> int:
    """Bytes the process has had at most.

    Linux says so in a file as well, and better: ``ru_maxrss`` outlives exec, so a child of a large process would
    begin with the peak of its parent.
    """
    try:
        found = re.search(r"VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text(encoding="utf-8"))
    except OSError:
        found = None
    if found:
        return int(found[1]) * 1024
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
