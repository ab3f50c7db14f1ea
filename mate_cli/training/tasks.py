"""From the configuration of a task to the task itself: the one place that tells kinds apart."""

from __future__ import annotations

from mate_cli.config_task import TaskConfig
from mate_cli.tables.reading import TrainingCells
from mate_cli.tasks.cell_selection import CellSelection
from mate_cli.tasks.span_reading import SpanReading
from mate_cli.tasks.task import Task


def task_of(config: TaskConfig) -> Task:
    """The task that a configuration describes."""
    return _TASKS[config.kind](config)


def _cell_selection(config: TaskConfig) -> Task:
    return CellSelection(config.objective)  # type: ignore[arg-type]


def _span_reading(config: TaskConfig) -> Task:
    span = config.span
    cells = TrainingCells(span.traced, span.together, not config.ambiguous, span.noisy_cells)  # type: ignore[arg-type]
    return SpanReading(span.max_span, span.head, config.input, cells)  # type: ignore[arg-type]


_TASKS = {"cell_selection": _cell_selection, "span_reading": _span_reading}
