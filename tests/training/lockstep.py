"""Let replicas of torch-xla run as threads on its processor, where torch-xla 2.9 alone makes them wait for ever.

There the parts of a collective find each other by the number of the compiled program. Replicas that need a program at
the same moment compile one each, so their numbers differ and they never meet. Here they take turns at compiling, so
that the second one finds the program of the first; and each collective is run at once, while programs are the same.
For tests: a TPU needs none of this.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable
from typing import Any

import torch_xla
import torch_xla.core.xla_model as xm

COLLECTIVES = ("all_reduce", "all_gather", "collective_broadcast", "reduce_scatter")


def install(replicas: int) -> None:
    """Before any of them starts."""
    together, turn = threading.Barrier(replicas, timeout=120), threading.Lock()
    closures = torch_xla.sync

    def sync(*_: Any, **__: Any) -> None:
        together.wait()
        with turn:
            device = torch_xla._XLAC._xla_get_default_device()
            torch_xla._XLAC._xla_step_marker(device, [], wait=False, reset_scope=True)
        together.wait()
        closures()  # nothing is left to compute: what was put off until now is done

    torch_xla.sync = torch_xla.torch_xla.sync = sync
    inside = threading.local()
    for name in COLLECTIVES:
        setattr(xm, name, _at_once(getattr(xm, name), sync, inside))


def _at_once(collective: Callable[..., Any], sync: Callable[[], None], inside: threading.local) -> Callable[..., Any]:
    @functools.wraps(collective)
    def run(*arguments: Any, **named: Any) -> Any:
        if getattr(inside, "running", False):
            return collective(*arguments, **named)
        if collective.__name__ == "all_gather":
            named["pin_layout"] = False  # the other way pads by the replica's number: a program for each
        inside.running = True
        try:
            result = collective(*arguments, **named)
        finally:
            inside.running = False
        sync()
        return result

    return run
