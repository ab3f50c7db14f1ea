"""Conclusions from the records of a bench: exponents and break-even lengths (paper table 1, figures 4 to 6)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from mate_cli.bench.measure import SPEED_REFERENCES, Record
from mate_cli.bench.point import Point

FIT_RANGE = (2048, 16384)
_MIN_LENGTHS = 3  # Two lengths always lie on a line.
_DRAWS, _LEVEL = 2000, 0.95
_MOST_UNDEFINED = (
    0.01  # share of the draws that may have no exponent, for the time of one length is at most the limit's
)

# Complexity and class by paper table 1; models that are not in it are quadratic.
PAPER_COMPLEXITY = {
    "transformer_xl": ("n²", "RC"),
    "reformer": ("n log n", "LP"),
    "linformer": ("n", "LR"),
    "bigbird": ("ng + nb", "FP+RP+M"),
    "etc": ("ng + nb", "FP+M"),
    "table_etc": ("ng + nb", "FP+M"),
    "mate_bucketed": ("ng + nb", "FP"),
    "mate": ("ng + nb", "FP"),
}

Value = Callable[[Record], float | None]

VALUES: dict[str, Value] = {
    "time": lambda record: _median(record, "seconds"),
    "time above limit": lambda record: _median(record, "seconds_above_limit"),
    "FLOPs": lambda record: record.get("flops", {}).get("counted"),
    "memory": lambda record: record.get("peak_bytes"),
}
Series = tuple[str, str, int, str, str]


def point_of(record: Record) -> Point:
    """Return the point of a record; what older records lack has its default."""
    return Point(**{name: record[name] for name in Point.__dataclass_fields__ if name in record})


def curves(records: Iterable[Record]) -> dict[tuple[Series, str], list[Record]]:
    """Group the records by series and model, from short to long."""
    curves_by_key: dict[tuple[Series, str], list[Record]] = {}
    for record in sorted(records, key=lambda record: int(record["length"])):
        curves_by_key.setdefault((point_of(record).series, record["model"]), []).append(record)
    return curves_by_key


def xy(curve: Iterable[Record], value: Value) -> tuple[list[int], list[float]]:
    """Return the lengths with a value, and the values."""
    pairs = [(record["length"], number) for record in curve if (number := value(record)) is not None]
    return [length for length, _ in pairs], [number for _, number in pairs]


def findings(records: Iterable[Record]) -> list[dict[str, Any]]:
    """Return exponents and break-even lengths of every series and model with several lengths, as plain data.

    Exponents of times have 95% intervals over the rounds, None where they cannot be told.
    """
    by_curve = curves(records)
    return [
        {
            "series": list(series),
            "model": model,
            "exponents": exponents(curve),
            "intervals": dict(_intervals(_fitted(curve), by_curve.get((series, "limit"), []))),
            "break_even": dict(_break_even(curve)),
        }
        for (series, model), curve in by_curve.items()
        if len(curve) > 1
    ]


def exponents(curve: list[Record]) -> dict[str, float | None]:
    """Return the exponent of each value of ``VALUES`` over the length, of one model."""
    return {name: exponent(*xy(_fitted(curve), value)) for name, value in VALUES.items()}


def _fitted(curve: list[Record]) -> list[Record]:
    low, high = FIT_RANGE
    return [record for record in curve if low <= record["length"] <= high]


def _intervals(curve: list[Record], limit: list[Record]) -> Iterator[tuple[str, list[float] | None]]:
    """Yield the interval of each exponent of a time; above the limit, round by round."""
    rounds = {int(record["length"]): np.array(record["samples"]) for record in curve if record.get("samples")}
    below = {int(record["length"]): np.array(record["samples"]) for record in limit if record.get("samples")}
    pairs = {length: (rounds[length], below[length]) for length in rounds.keys() & below.keys()}
    above = {length: one - other for length, (one, other) in sorted(pairs.items()) if one.shape == other.shape}
    yield "time", exponent_interval(list(rounds), list(rounds.values()))
    yield "time above limit", exponent_interval(list(above), list(above.values()))


def _break_even(curve: list[Record]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield, for each reference, the length from which on this model is faster; None if it never is."""
    for reference in SPEED_REFERENCES:
        lengths, speedups = xy(curve, lambda record, name=reference: _median(record.get("speedup", {}), name))  # type: ignore[misc]
        if len(lengths) > 1 and curve[0]["model"] not in ("limit", reference):
            yield reference, {"length": break_even(lengths, speedups), "from": lengths[0], "to": lengths[-1]}


def _median(record: Any, name: str) -> float | None:
    return record[name]["median"] if name in record else None


def exponent(lengths: Sequence[int], values: Sequence[float]) -> float | None:
    """Fit log value = exponent * log length + c by least squares; None for fewer than 3 lengths or values <= 0."""
    if len(lengths) < _MIN_LENGTHS or min(values) <= 0:
        return None
    return float(np.polyfit(np.log(lengths), np.log(values), 1)[0])


def exponent_interval(lengths: Sequence[int], rounds: Sequence[np.ndarray]) -> list[float] | None:
    """Return the 95% bootstrap interval of the exponent of the median of each length's rounds, always the same.

    Returns:
        Both ends; None for fewer than 3 lengths, or if medians of drawn rounds are often not above 0.
    """
    if len(lengths) < _MIN_LENGTHS:
        return None
    random = np.random.default_rng(0)
    drawn = [np.median(random.choice(values, (_DRAWS, len(values))), axis=1) for values in rounds]
    medians = np.stack(drawn)[:, np.min(drawn, axis=0) > 0]
    if medians.shape[1] < (1 - _MOST_UNDEFINED) * _DRAWS:
        return None
    slopes = np.polyfit(np.log(lengths), np.log(medians), 1)[0]
    return [float(end) for end in np.quantile(slopes, [(1 - _LEVEL) / 2, (1 + _LEVEL) / 2])]


def break_even(lengths: Sequence[int], speedups: Sequence[float]) -> float | None:
    """Return the length from which on the speed-up stays above 1, interpolated in the logarithms.

    It is the shortest length if the speed-up is always above 1, and None if it is not at the longest.
    """
    if not lengths or speedups[-1] <= 1:
        return None
    slower = [index for index, speedup in enumerate(speedups) if speedup <= 1]
    if not slower:
        return float(lengths[0])
    neighbours = slice(slower[-1], slower[-1] + 2)
    return float(np.exp(np.interp(0.0, np.log(speedups[neighbours]), np.log(lengths[neighbours]))))
