"""How many examples fit into memory at once, found by measuring ever larger batches."""

from __future__ import annotations

from collections.abc import Callable


def largest_batch(peak: Callable[[int], float | None], limit: float) -> int:
    """The largest batch whose peak is at most ``limit`` bytes; 0 where not even one example fits.

    A batch takes a fixed part and a part for each example, so whatever would fit if all of a peak were the examples'
    does fit: the guesses come nearer to the limit from below, and one batch alone is tried that is too large.

    Args:
        peak: bytes that a batch of so many examples needs; None where it ran out of memory.
    """
    found = 0
    needed = peak(1)
    while needed is not None and needed <= limit:
        found += 1
        guess = int(found * limit / needed) if needed else 2 * found
        if guess > found:
            larger = peak(guess)
            found = guess if larger is not None and larger <= limit else found
        needed = peak(found + 1)
    return found
