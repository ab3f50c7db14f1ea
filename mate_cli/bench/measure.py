"""All contenders of one point: their speed, side by side in this process, their FLOPs and their memory."""

from __future__ import annotations

import gc
from dataclasses import asdict, replace
from typing import Any

import numpy as np
import torch

from mate_cli.bench.budget import GIB, Budget
from mate_cli.bench.contenders import contender
from mate_cli.bench.flops import counted_flops
from mate_cli.bench.largest_batch import largest_batch
from mate_cli.bench.layouts import documents
from mate_cli.bench.memory import MemoryServer
from mate_cli.bench.peak_rate import peak_rate
from mate_cli.bench.point import Point
from mate_cli.bench.speed import interleave, paired_ratio, summary, timed
from mate_cli.bench.work import Work, make_work
from mate_cli.config.bench import SuiteConfig

Record = dict[str, Any]
"""Of one model at one point, plain data. What could not be measured is missing; ``left_out`` says why, by measure."""

SPEED_REFERENCES = ("hf_tapas", "dense_sdpa")


def measure(
    point: Point, models: dict[str, list[str]], suite: SuiteConfig, budget: Budget, server: MemoryServer
) -> list[Record]:
    """Measure a point; ``models`` says which, by measure.

    Returns:
        a record for each model, in the order in which they are named first.
    """
    names = list(dict.fromkeys(name for measured in models.values() for name in measured))
    records = {name: {"model": name, **asdict(point), "left_out": {}} for name in names}
    in_process = [name for name in names if name in models.get("speed", []) + models.get("flops", [])]
    works = {name: work for name in in_process if (work := _started(records[name], point, budget))}
    for name in models.get("flops", []):
        _add_flops(records[name], works.get(name))
    timed_works = {name: works[name] for name in models.get("speed", []) if name in works}
    times = interleave(timed_works, suite.rounds, suite.point_seconds)
    for name, seconds in times.items():
        records[name] |= _speed(seconds, times) | _rates(works[name], float(np.median(seconds)))
    works.clear()
    timed_works.clear()
    gc.collect()  # leave the memory to the process that measures it
    if point.device == "cuda":
        torch.cuda.empty_cache()
    for name in models.get("memory", []):
        _add_memory(records[name], point, budget, server)
    for name in models.get("largest_batch", []):
        _add_largest_batch(records[name], point, budget, server)
    _compare_memory(records)
    return list(records.values())


def _started(record: Record, point: Point, budget: Budget) -> Work | None:
    """The contender after its first call; None, and the reason in the record, where there shall not be a second."""
    try:
        work = make_work(contender(record["model"]), point)
        record["plan_seconds"] = work.inputs.plan_seconds
        record["flops"] = {"formula": work.flops(), "needed": work.flops(needed=True)}
        reason = budget.refusal(work) or budget.record(work, timed(work))
    except Exception as error:  # a backend that this device or precision does not have
        reason = _one_line(error)
    if reason:
        record["left_out"]["speed"] = reason
        return None
    return work


def _add_flops(record: Record, work: Work | None) -> None:
    if work is None:
        record["left_out"]["flops"] = record["left_out"]["speed"]
        return
    work.reset()
    record["flops"]["counted"] = counted_flops(work)


def _speed(seconds: list[float], times: dict[str, list[float]]) -> Record:
    found: Record = {"seconds": summary(seconds), "samples": seconds, "speedup": {}}
    if "limit" in times:
        found["time_over_limit"] = paired_ratio(seconds, times["limit"])
        found["seconds_above_limit"] = summary(np.subtract(seconds, times["limit"]).tolist())
    for reference in SPEED_REFERENCES:
        if reference in times:
            found["speedup"][reference] = paired_ratio(times[reference], seconds)
    return found


def _rates(work: Work, seconds: float) -> Record:
    """Tokens a second, padding not counted, and model FLOPs utilisation: those that the pattern needs, over what the
    device could do in that time."""
    tokens = sum(len(table.document) for table in documents(work.point))
    rate, flops = peak_rate(work.point), work.flops(needed=True)
    utilisation = {"mfu": flops / seconds / rate} if rate and flops else {}
    return {"tokens_per_second": tokens / seconds, **utilisation}


def _add_memory(record: Record, point: Point, budget: Budget, server: MemoryServer) -> None:
    try:
        reason = budget.refusal(make_work(contender(record["model"]), point))
    except Exception as error:
        reason = _one_line(error)
    found = {"error": reason} if reason else server.peak(record["model"], point)
    if "bytes" in found:
        record["peak_bytes"] = found["bytes"]
    else:
        record["left_out"]["memory"] = found["error"]


def _add_largest_batch(record: Record, point: Point, budget: Budget, server: MemoryServer) -> None:
    reasons: list[str] = []

    def peak(batch: int) -> float | None:
        found = server.peak(record["model"], replace(point, batch=batch))
        reasons.append(found.get("error", f"one example takes more than {budget.memory:.2f} GiB"))
        return found.get("bytes")

    if found := largest_batch(peak, budget.memory * GIB):
        record["largest_batch"] = found
    else:
        record["left_out"]["largest_batch"] = reasons[0]


def _compare_memory(records: dict[str, Record]) -> None:
    limit = records.get("limit", {}).get("peak_bytes")
    for record in records.values():
        if limit and "peak_bytes" in record:
            record["peak_over_limit"] = record["peak_bytes"] / limit


def _one_line(error: Exception) -> str:
    return f"{type(error).__name__}: {(str(error).splitlines() or [''])[0]}"
