"""The search for the largest batch, against counting up."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from mate_cli.bench.largest_batch import largest_batch


@given(st.floats(0, 50), st.floats(0.1, 20), st.floats(1, 400), st.one_of(st.none(), st.integers(0, 60)))
def test_it_is_the_last_that_fits_and_one_is_tried_beyond(
    fixed: float, each: float, limit: float, exhausted: int | None
) -> None:
    tried: list[int] = []

    def peak(batch: int) -> float | None:
        tried.append(batch)
        return None if exhausted is not None and batch > exhausted else fixed + each * batch

    def fits(batch: int) -> bool:
        needed = peak(batch)
        return needed is not None and needed <= limit

    found = largest_batch(peak, limit)
    beyond = [batch for batch in tried if batch > found]
    assert found == next(batch for batch in range(5000) if not fits(batch + 1))
    assert beyond[-1] == found + 1
    if exhausted is None:
        assert beyond == [found + 1]


def test_few_batches_are_tried() -> None:
    tried: list[int] = []
    assert largest_batch(lambda batch: tried.append(batch) or 100 + 3 * batch, 10_000) == 3300
    assert len(tried) < 20
