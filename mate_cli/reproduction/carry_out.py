"""Run the missing steps one after the other, each in its own process; a failure costs its dependents only."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from mate_cli.reproduction.ledger import Ledger
from mate_cli.reproduction.steps import Step, Training
from mate_cli.system.children import child_environment
from mate_cli.system.errors import TRY_AGAIN, UserError
from mate_cli.system.stopping import SWEPT
from mate_cli.training.starting_model import weights_folder

Run = Callable[[Sequence[str], Path], int]
Tell = Callable[[str], None]

_POLL = 5.0  # seconds between looks at a run of another process


def run_child(words: Sequence[str], log: Path) -> int:
    """Run ``mate WORDS`` with its output in ``log`` and return its exit code; memory and devices are free afterwards.

    The child has its own session: Ctrl-C reaches this process alone, which passes each on once, so that a training
    saves its state. A child whose parent has died stops as well.

    Raises:
        KeyboardInterrupt: this process was asked to stop; the child has ended.
    """
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("w", encoding="utf-8") as file:
        process = subprocess.Popen(
            [sys.executable, "-m", "mate_cli", *words],
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=subprocess.STDOUT,
            env=child_environment(**{SWEPT: "1"}),
            start_new_session=True,
        )
        return _wait(process)


def _wait(process: subprocess.Popen[Any]) -> int:
    interrupt: KeyboardInterrupt | None = None
    while True:
        try:
            code = process.wait()
            break
        except KeyboardInterrupt as error:
            interrupt = error
            process.send_signal(signal.SIGINT)
    if interrupt is not None:
        raise interrupt
    return code


def last_words(log: Path) -> str:
    """Return the error line of a child's output, else its last line."""
    lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
    errors = [line.removeprefix("error: ") for line in lines if line.startswith("error: ")]
    return errors[0] if errors else next((line for line in reversed(lines) if line.strip()), "no output")


def carry_out(steps: Iterable[Step], ledger: Ledger, tell: Tell, run: Run = run_child) -> dict[Step, str]:
    """Run every step that is not done, with ``again`` every step.

    Args:
        steps: in an order in which each follows the steps that it needs.
        tell: takes a line of progress.
        run: runs a command, as ``run_child`` does.

    Returns:
        the reason of each failure; steps that the command line leaves out are no failures.
    """
    failures: dict[Step, str] = {}
    missing = [step for step in steps if ledger.config.again or step.result(ledger) is None]
    missing = [step for step in missing if step.hindrance(ledger) is None]
    for number, step in enumerate(missing, 1):
        reason = next((f"skipped, because it needs: {need.title}" for need in step.needs if need in failures), None)
        if reason is None:
            tell(f"[{number}/{len(missing)}] {step.title}")
            reason = _run_step(step, ledger, tell, run)
        if reason is not None:
            failures[step] = reason
            tell(f"[{number}/{len(missing)}] {step.title}: {reason}")
    return failures


def _run_step(step: Step, ledger: Ledger, tell: Tell, run: Run) -> str | None:
    """Run one step; return the reason of its failure, or None."""
    log, code = log_file(step, ledger), TRY_AGAIN
    while code == TRY_AGAIN:
        while step.state(ledger) == "running":
            tell(f"{step.title}: running in another process; waiting")
            time.sleep(_POLL)
            ledger.refresh()
        if step.result(ledger) is not None and not ledger.config.again:
            return None
        code = run(step.words(ledger, ledger.config.again), log)
        ledger.refresh()
    if code:
        return f"{last_words(log)} (exit code {code}; log: {log})"
    return None if step.result(ledger) is not None else f"it ended without a result; see {log}"


def check_weights(steps: Iterable[Step], ledger: Ledger) -> None:
    """Look for the weights that the missing trainings start from.

    Raises:
        UserError: there are none; says how to get them.
    """
    for step in steps:
        if not isinstance(step, Training) or step.parent is not None:
            continue
        if step.result(ledger) is None and step.hindrance(ledger) is None:
            weights_folder(ledger.training_config(step).backbone)


def log_file(step: Step, ledger: Ledger) -> Path:
    """Return the file for a step's output."""
    name = re.sub(r"[^\w=.]+", "-", step.title).strip("-")
    return ledger.runs / "reproduce" / "logs" / f"{name}.log"


def raise_failures(failures: dict[Step, str]) -> None:
    """
    Raises:
        UserError: there are failures.
    """
    if failures:
        steps = "step" if len(failures) == 1 else "steps"
        raise UserError(f"{len(failures)} {steps} failed; see the lines above", exit_code=1)
