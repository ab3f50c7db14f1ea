"""Numbers of a bench with their units."""

from __future__ import annotations


def seconds(value: float) -> str:
    return f"{value:.2f} s" if value >= 1 else f"{1e3 * value:.3g} ms"


def flops(value: float) -> str:
    return f"{value / 1e9:,.1f} GFLOP"


def memory(value: float) -> str:
    return f"{value / 2**20:,.0f} MiB"


def ratio(value: float) -> str:
    return f"{value:.2f}"


def optional(value: float | None) -> str:
    """A ratio, or a dash where there is none."""
    return "–" if value is None else ratio(value)


def series(value: list[object] | tuple[object, ...]) -> str:
    """What the points of a curve share, in words."""
    size, layout, batch, mode, dtype = value
    return f"{size}, {mode}, {dtype}, {layout}, batch {batch}"
