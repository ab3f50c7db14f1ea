"""Takes the steps that are missing, one after the other; what fails costs only what needs it."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from mate_cli.reproduction.children import last_words, run_child
from mate_cli.reproduction.ledger import Ledger
from mate_cli.reproduction.steps import Step, Training
from mate_cli.system.errors import TRY_AGAIN, UserError
from mate_cli.training.starting_model import weights_folder

Run = Callable[[Sequence[str], Path], int]
Tell = Callable[[str], None]

_POLL = 5.0  # seconds between looks at a run of another process


def carry_out(steps: Iterable[Step], ledger: Ledger, tell: Tell, run: Run = run_child) -> dict[Step, str]:
    """Take every step that is not done, and with ``again`` the others too.

    Args:
        steps: each after what it needs; tell: takes a line on the way; run: as ``run_child``.

    Returns:
        why a step failed, for those that did; what the command line leaves out is no failure.
    """
    failures: dict[Step, str] = {}
    left = [step for step in steps if ledger.config.again or step.result(ledger) is None]
    left = [step for step in left if step.hindrance(ledger) is None]
    for number, step in enumerate(left, 1):
        reason = next((f"not taken, it needs: {need.title}" for need in step.needs if need in failures), None)
        if reason is None:
            tell(f"[{number}/{len(left)}] {step.title}")
            reason = _take(step, ledger, tell, run)
        if reason is not None:
            failures[step] = reason
            tell(f"[{number}/{len(left)}] {step.title}: {reason}")
    return failures


def _take(step: Step, ledger: Ledger, tell: Tell, run: Run) -> str | None:
    """Take one step; says why where it failed."""
    log, code = log_file(step, ledger), TRY_AGAIN
    while code == TRY_AGAIN:
        while step.state(ledger) == "running":
            tell(f"{step.title}: another process is at it; waiting")
            time.sleep(_POLL)
            ledger.refresh()
        if step.result(ledger) is not None and not ledger.config.again:
            return None
        code = run(step.words(ledger, ledger.config.again), log)
        ledger.refresh()
    if code:
        return f"{last_words(log)} (exit code {code}; all of it: {log})"
    return None if step.result(ledger) is not None else f"it ended without a result; see {log}"


def check_weights(steps: Iterable[Step], ledger: Ledger) -> None:
    """Look for the weights that the trainings to come start from.

    Raises:
        UserError: they are not here; says how to get them.
    """
    for step in steps:
        if not isinstance(step, Training) or step.parent is not None:
            continue
        if step.result(ledger) is None and step.hindrance(ledger) is None:
            weights_folder(ledger.training_config(step).backbone)


def log_file(step: Step, ledger: Ledger) -> Path:
    """Where a step's output goes."""
    name = re.sub(r"[^\w=.]+", "-", step.title).strip("-")
    return ledger.runs / "reproduce" / "logs" / f"{name}.log"


def raise_failures(failures: dict[Step, str]) -> None:
    """
    Raises:
        UserError: there are failures.
    """
    if failures:
        steps = "step" if len(failures) == 1 else "steps"
        raise UserError(f"{len(failures)} {steps} failed; the lines above say why", exit_code=1)
