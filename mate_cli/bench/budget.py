"""What is too slow or too large to be measured, said before it is tried."""

from __future__ import annotations

import os

import torch

from mate_cli.bench.work import Work

GIB = 2**30

# Of the memory that is free: estimates are rough, and the machine has other things to do.
_SHARE = 0.75


class Budget:
    """Estimates calls from their FLOPs and from how fast the calls before them were.

    Args:
        call_seconds: longest time of a call.
        memory: GiB a call may take; None: three quarters of what is free on the device.
    """

    def __init__(self, call_seconds: float, memory: float | None, device: str) -> None:
        self.call_seconds = call_seconds
        self.memory = _SHARE * _free_bytes(device) / GIB if memory is None else memory
        self._pace: dict[tuple[str, str, str], float] = {}

    def refusal(self, work: Work) -> str | None:
        """Why a call is not to be tried, or None."""
        gibibytes = work.estimated_bytes() / GIB
        if gibibytes > self.memory:
            return f"would take about {gibibytes:.1f} GiB, of which there are {self.memory:.1f}"
        time, pace = work.estimated_time(), self._pace.get(_kind(work))
        if time is not None and pace is not None and time * pace > self.call_seconds:
            return f"a call would take about {time * pace:.0f} s, over call_seconds={self.call_seconds:g}"
        return None

    def record(self, work: Work, seconds: float) -> str | None:
        """Learn from a call; why there are to be no more of it, or None."""
        time = work.estimated_time()
        if time:
            self._pace[_kind(work)] = min(seconds / time, self._pace.get(_kind(work), float("inf")))
        if seconds > self.call_seconds:
            return f"a call took {seconds:.0f} s, over call_seconds={self.call_seconds:g}"
        return None


def _kind(work: Work) -> tuple[str, str, str]:
    """Calls of one pace."""
    return work.point.size, work.point.mode, work.point.dtype


def _free_bytes(device: str) -> int:
    if device == "cuda":
        return int(torch.cuda.mem_get_info()[0])
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_AVPHYS_PAGES")
