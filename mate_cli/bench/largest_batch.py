"""How many examples fit into memory at once, found by measuring a few batches."""

from __future__ import annotations

from collections.abc import Callable


def largest_batch(peak: Callable[[int], float | None], limit: float) -> int:
    """The largest batch whose peak is at most ``limit`` bytes; 0 where not even one example fits.

    Each try is a step in a process of its own, so there should be few. A batch takes a fixed part and a part for each
    example: a line through the last two peaks that fitted, the first through none, says what to try next, until one is
    too large. From then on what lies between is halved, for peaks come near to a line and not on it.

    Args:
        peak: bytes that a batch of so many examples needs; None where it ran out of memory.
    """
    found, needed_before, tried = 0, 0.0, 1
    beyond: int | None = None
    while beyond is None or beyond - found > 1:
        needed = peak(tried)
        if needed is None or needed > limit:
            beyond = tried
        else:
            each = (needed - needed_before) / (tried - found)
            found, needed_before = tried, needed
            tried += max(int((limit - needed) / each), 1) if each > 0 else found
        if beyond is not None:
            tried = (found + beyond) // 2
    return found
