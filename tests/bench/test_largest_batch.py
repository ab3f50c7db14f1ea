"""The search for the largest batch, against counting up."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from mate_cli.bench.memory import largest_batch


@given(st.floats(0, 200), st.floats(0.1, 20), st.floats(1, 400), st.floats(0, 0.05), st.none() | st.integers(0, 60))
def test_it_fits_and_one_more_does_not(
    fixed: float, each: float, limit: float, noise: float, exhausted: int | None
) -> None:
    tried: list[int] = []

    def peak(batch: int) -> float | None:
        tried.append(batch)
        return fixed + each * batch * (1 + noise * (batch % 2)) if fits_at_all(batch) else None

    def fits_at_all(batch: int) -> bool:
        return exhausted is None or batch <= exhausted

    def fits(batch: int) -> bool:
        needed = peak(batch)
        return needed is not None and needed <= limit

    found = largest_batch(peak, limit)
    assert len(tried) == len(set(tried)) < 20
    assert found == 0 or fits(found)
    assert not fits(found + 1)
    if not noise:
        assert found == next(batch for batch in range(5000) if not fits(batch + 1))


def test_few_batches_are_tried() -> None:
    tried: list[int] = []
    assert largest_batch(lambda batch: tried.append(batch) or 100 + 3 * batch, 10_000) == 3300
    assert tried == [1, 97, 3300, 3301]
