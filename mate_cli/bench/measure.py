"""Measure the contenders of one point: speed in turns in this process, FLOPs, and memory in processes of their own."""

from __future__ import annotations

import gc
from dataclasses import asdict, replace
from typing import Any

import numpy as np
import torch

from mate_cli.bench.contenders import contender
from mate_cli.bench.flops import counted_flops, peak_rate
from mate_cli.bench.memory import MemoryServer, largest_batch
from mate_cli.bench.point import Measures, Point, documents
from mate_cli.bench.speed import interleave, paired_ratio, summary, timed
from mate_cli.bench.work import Budget, Work, make_work
from mate_cli.config.bench import SuiteConfig
from mate_cli.system.memory import GIB

Record = dict[str, Any]
"""Results of one model at one point, plain data; ``left_out`` gives the reason for each measure without a value."""

SPEED_REFERENCES = ("hf_tapas", "dense_sdpa")


def measure(point: Point, models: Measures, suite: SuiteConfig, budget: Budget, server: MemoryServer) -> list[Record]:
    """Measure a point and return a record for each model, in the order in which ``models`` names them first."""
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
    """Make the contender and call it once; None, with the reason in the record, if it is not to be called again."""
    try:
        work = make_work(contender(record["model"]), point)
        record["plan_seconds"] = work.inputs.plan_seconds
        record["backend"] = getattr(work.inputs.argument, "backend", None)
        record["flops"] = {"formula": work.flops(), "needed": work.flops(needed=True)}
        reason = budget.refusal(work) or budget.record(work, timed(work))
    except Exception as error:  # a backend that does not support this device or precision
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
    speedups = {name: paired_ratio(times[name], seconds) for name in SPEED_REFERENCES if name in times}
    speed: Record = {"seconds": summary(seconds), "samples": seconds, "speedup": speedups}
    if "limit" in times:
        speed["time_over_limit"] = paired_ratio(seconds, times["limit"])
        speed["seconds_above_limit"] = summary(np.subtract(seconds, times["limit"]).tolist())
    return speed


def _rates(work: Work, seconds: float) -> Record:
    """Return tokens per second without padding, and the model FLOPs utilisation.

    The latter is the FLOPs that the pattern needs over those that the device could do in that time.
    """
    tokens = sum(len(table.document) for table in documents(work.point))
    rate, flops = peak_rate(work.point), work.flops(needed=True)
    utilisation = {"mfu": flops / seconds / rate} if rate and flops else {}
    return {"tokens_per_second": tokens / seconds, **utilisation}


def _add_memory(record: Record, point: Point, budget: Budget, server: MemoryServer) -> None:
    try:
        reason = budget.refusal(make_work(contender(record["model"]), point))
    except Exception as error:
        reason = _one_line(error)
    answer = {"error": reason} if reason else server.peak(record["model"], point)
    if "bytes" in answer:
        record["peak_bytes"] = answer["bytes"]
    else:
        record["left_out"]["memory"] = answer["error"]


def _add_largest_batch(record: Record, point: Point, budget: Budget, server: MemoryServer) -> None:
    reasons: list[str] = []

    def peak(batch: int) -> float | None:
        answer = server.peak(record["model"], replace(point, batch=batch))
        reasons.append(answer.get("error", f"one example takes more than {budget.memory:.2f} GiB"))
        return answer.get("bytes")

    if batch := largest_batch(peak, budget.memory * GIB):
        record["largest_batch"] = batch
    else:
        record["left_out"]["largest_batch"] = reasons[0]


def _compare_memory(records: dict[str, Record]) -> None:
    limit = records.get("limit", {}).get("peak_bytes")
    for record in records.values():
        if limit and "peak_bytes" in record:
            record["peak_over_limit"] = record["peak_bytes"] / limit


def _one_line(error: Exception) -> str:
    return f"{type(error).__name__}: {(str(error).splitlines() or [''])[0]}"
