"""From the configuration of a task to the task itself: the one place that tells kinds apart."""

from __future__ import annotations

from mate_cli.config.task import ScheduleConfig, TaskConfig
from mate_cli.tables.reading import TrainingCells
from mate_cli.tasks.cell_selection import CellSelection
from mate_cli.tasks.entailment import EntailmentTask
from mate_cli.tasks.masked_language import MaskedLanguage
from mate_cli.tasks.span_reading import SpanReading
from mate_cli.tasks.table_qa import TableQA
from mate_cli.tasks.task import Task
from mate_cli.tasks.weak_supervision import WeakSupervision


def task_of(config: TaskConfig, schedule: ScheduleConfig | None = None) -> Task:
    """The task that a configuration describes; to train it, as the schedule has it."""
    return _TASKS[config.kind](config, schedule)


def _cell_selection(config: TaskConfig, schedule: ScheduleConfig | None) -> Task:
    return CellSelection(config.objective)  # type: ignore[arg-type]


def _span_reading(config: TaskConfig, schedule: ScheduleConfig | None) -> Task:
    span = config.span
    cells = TrainingCells(span.traced, span.together, not config.ambiguous, span.noisy_cells)  # type: ignore[arg-type]
    return SpanReading(span.max_span, span.head, config.input, cells)  # type: ignore[arg-type]


def _table_qa(config: TaskConfig, schedule: ScheduleConfig | None) -> Task:
    qa = config.qa
    temperature = (schedule and schedule.temperature) or qa.temperature
    contrast = schedule.contrast if schedule else 0.0
    weak = WeakSupervision(qa.cell_select_pref, qa.huber_delta, qa.answer_loss_cutoff)
    return TableQA(temperature, qa.zero_head, qa.surest, contrast, weak if qa.aggregation else None)


def _entailment(config: TaskConfig, schedule: ScheduleConfig | None) -> Task:
    return EntailmentTask(mentions=schedule.mentions if schedule else 0.0)


def _masked_language(config: TaskConfig, schedule: ScheduleConfig | None) -> Task:
    return MaskedLanguage()


_TASKS = {
    "cell_selection": _cell_selection,
    "span_reading": _span_reading,
    "table_qa": _table_qa,
    "entailment": _entailment,
    "masked_language": _masked_language,
}
