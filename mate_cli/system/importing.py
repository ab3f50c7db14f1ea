"""Imports of large libraries."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def without_collection() -> Iterator[None]:
    """Import without looking for garbage, here and later, among what modules hold: a fifth of the time of PyTorch's."""
    gc.disable()
    try:
        yield
    finally:
        if not gc.get_freeze_count():  # later jobs of a sweep would keep the garbage of those before
            gc.freeze()
        gc.enable()
