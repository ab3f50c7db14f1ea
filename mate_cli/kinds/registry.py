"""Look up kinds of task: each of ``mate_cli.config.kinds.KINDS`` is the ``KIND`` of the module of its name."""

from __future__ import annotations

from functools import cache
from importlib import import_module

from mate_cli.config.kinds import KINDS
from mate_cli.config.task import Scheduled, TaskConfig, active_schedule
from mate_cli.kinds.kind import TaskKind
from mate_cli.tasks.task import Task


def kind_of(task: TaskConfig) -> TaskKind:
    """Return the kind of a configured task."""
    return kind_named(task.kind)


def task_of(config: Scheduled) -> Task:
    """Make the objective that a configuration describes, with the schedule in use."""
    assert config.task is not None
    return kind_of(config.task).task(config.task, active_schedule(config))


@cache
def kind_named(name: str) -> TaskKind:
    """Return the kind of that name.

    Raises:
        ValueError: its module holds the record of another kind, or contradicts its traits.
    """
    kind: TaskKind = import_module(f"mate_cli.kinds.{name}").KIND
    if kind.name != name:
        raise ValueError(f"mate_cli/kinds/{name}.py: its model is of kind={kind.name}")
    if (kind.answering is None) != (KINDS[name].asked is None):
        raise ValueError(f"mate_cli/kinds/{name}.py: answers single questions here or in its traits, and not in both")
    return kind
