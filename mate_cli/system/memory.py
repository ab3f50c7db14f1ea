"""The unit that memory is counted in, and how the C library manages it."""

from __future__ import annotations

import contextlib
import ctypes

GIB = 2**30  # bytes

# mallopt(3)
_M_TRIM_THRESHOLD, _M_MMAP_MAX = -1, -4


def keep_freed_memory() -> None:
    """Keep freed memory for the next step of a training; does nothing without glibc.

    By default glibc returns tensors of more than 32 MB to the system, which clears their memory again for the next
    step: 5% of MiniLM's in bf16. What the process holds at its peak may grow by a tenth.
    """
    with contextlib.suppress(OSError, AttributeError, TypeError):
        mallopt = ctypes.CDLL(None).mallopt
        mallopt(_M_TRIM_THRESHOLD, -1)
        mallopt(_M_MMAP_MAX, 0)
