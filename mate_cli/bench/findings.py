"""What the records of a bench say together: exponents, break-even lengths (paper table 1, figures 4 to 6)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from mate_cli.bench.fits import break_even, exponent
from mate_cli.bench.measure import SPEED_REFERENCES, Record
from mate_cli.bench.point import Point

FIT_RANGE = (2048, 16384)

# Complexity and class in table 1; the models it leaves out are quadratic.
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
    "time above limit": lambda record: _median(record, "seconds_above_limit"),
    "FLOPs": lambda record: record.get("flops", {}).get("counted"),
    "memory": lambda record: record.get("peak_bytes"),
}
Series = tuple[str, str, int, str, str]


def point_of(record: Record) -> Point:
    return Point(**{name: record[name] for name in Point.__dataclass_fields__})


def curves(records: Iterable[Record]) -> dict[tuple[Series, str], list[Record]]:
    """The records of each series and model, from short to long."""
    found: dict[tuple[Series, str], list[Record]] = {}
    for record in sorted(records, key=lambda record: int(record["length"])):
        found.setdefault((point_of(record).series, record["model"]), []).append(record)
    return found


def xy(curve: Iterable[Record], value: Value) -> tuple[list[int], list[float]]:
    """Lengths and values where there is one."""
    pairs = [(record["length"], found) for record in curve if (found := value(record)) is not None]
    return [length for length, _ in pairs], [found for _, found in pairs]


def findings(records: Iterable[Record]) -> list[dict[str, Any]]:
    """For every series and model of three lengths or more: exponents and break-even lengths, plain data."""
    return [
        {"series": list(series), "model": model, "exponents": _exponents(curve), "break_even": dict(_break_even(curve))}
        for (series, model), curve in curves(records).items()
        if len(curve) > 1
    ]


def _exponents(curve: list[Record]) -> dict[str, float | None]:
    low, high = FIT_RANGE
    inside = [record for record in curve if low <= record["length"] <= high]
    return {name: exponent(*xy(inside, value)) for name, value in VALUES.items()}


def _break_even(curve: list[Record]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Against each reference: the length from which on this model is faster, None where it never is."""
    for reference in SPEED_REFERENCES:
        lengths, speedups = xy(curve, lambda record, name=reference: _median(record.get("speedup", {}), name))  # type: ignore[misc]
        if len(lengths) > 1 and curve[0]["model"] not in ("limit", reference):
            yield reference, {"length": break_even(lengths, speedups), "from": lengths[0], "to": lengths[-1]}


def _median(record: Any, name: str) -> float | None:
    return record[name]["median"] if name in record else None
