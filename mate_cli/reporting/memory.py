"""The memory of a training before it starts, as a table and in a few lines."""

from __future__ import annotations

from collections.abc import Iterator

from rich.table import Table as RichTable

from mate_cli.config.task import active_schedule
from mate_cli.reporting.grid import terminal_table
from mate_cli.system.memory import GIB
from mate_cli.training.dry_run import MemoryPlan
from mate_cli.training.memory_fit import SHARE

_PARTS = {
    "parameters": "parameters",
    "gradients": "gradients",
    "optimizer": "optimizer",
    "sums": "gradients of all devices",
    "batch": "batch",
    "activations": "activations",
    "total": "total",
}


def memory_table(plan: MemoryPlan) -> RichTable:
    """Make a table with a line for each part, without and with recompute."""
    memories = [plan.lines[recompute].at(plan.way.micro_batch) for recompute in (False, True)]
    rows = [
        [title, *(_gib(getattr(memory, name)) for memory in memories)]
        for name, title in _PARTS.items()
        if name != "sums" or memories[0].sums
    ]
    if plan.limit is not None:
        share = active_schedule(plan.config).batch // plan.devices.world_size
        largest = (min(plan.lines[recompute].largest(plan.limit), share) for recompute in (False, True))
        rows.append(["largest micro-batch", *map(str, largest)])
    head = (f"GiB on a device, micro-batch {plan.way.micro_batch}", "layers kept", "layers recomputed")
    return terminal_table(head, rows, left=[head[0]], title=_title(plan))


def memory_lines(plan: MemoryPlan) -> Iterator[str]:
    """Say what was counted, and how the training would compute."""
    inputs, config, shape = plan.inputs, plan.config, plan.inputs.shape
    windows = "" if shape is None else f", windows of {shape.row_window:,} and {shape.column_window:,}"
    source = "the longest of the data" if plan.has_data else "as long as the schedule allows, for no data is read"
    yield f"inputs: {inputs.tokens:,} tokens{windows}; {source}"
    yield f"attention: {plan.way.backend}"
    if plan.limit is not None:
        yield f"limit: {_gib(plan.limit)} GiB, {SHARE:.0%} of the device's memory"
    if plan.refusal is None:
        passes = active_schedule(config).batch // (plan.way.micro_batch * plan.devices.world_size)
        taken = f"hardware.micro_batch={plan.way.micro_batch} hardware.recompute={str(plan.way.recompute).lower()}"
        yield f"takes: {taken}, {passes} pass{'es' * (passes > 1)} a step"


def _title(plan: MemoryPlan) -> str:
    schedule, number = active_schedule(plan.config), plan.devices.world_size
    return f"hardware={plan.config.hardware.name}: {number} device{'s' * (number > 1)}, batch {schedule.batch}"


def _gib(size: float) -> str:
    return f"{size / GIB:.2f}"
