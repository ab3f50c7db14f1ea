"""Every place that raises a ``UserError`` has an input that raises it: checked after a run of all fast tests.

Hooks of pytest, loaded by ``tests/conftest.py``. What child processes raise is not seen, so each place needs a test in
this process.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mate_cli.system.errors import UserError

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "mate_cli"
KEY = "user_errors"

_raised: set[tuple[str, int]] = set()  # file and line of each call of UserError, in this process and its workers
_plain = UserError.__init__


def _recording(self: UserError, *arguments: Any, **named: Any) -> None:
    _plain(self, *arguments, **named)
    caller = sys._getframe(1)
    _raised.add((caller.f_code.co_filename, caller.f_lineno))


UserError.__init__ = _recording  # type: ignore[method-assign]


def pytest_sessionfinish(session: pytest.Session) -> None:
    """A worker of xdist hands its places over; the session that has all of them fails where one is missing."""
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput[KEY] = sorted(_raised)
    elif session.exitstatus == pytest.ExitCode.OK and _runs_all_fast_tests(session.config) and not_raised():
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any, error: object) -> None:
    """Take over the places of a worker of xdist."""
    _raised.update((file, line) for file, line in getattr(node, "workeroutput", {}).get(KEY, ()))


def pytest_terminal_summary(terminalreporter: Any, exitstatus: int, config: pytest.Config) -> None:
    """Name the places without an input."""
    if _runs_all_fast_tests(config) and (missing := not_raised()):
        terminalreporter.section("UserErrors that no test raises", red=True, bold=True)
        for place in missing:
            terminalreporter.line(place)


def not_raised() -> list[str]:
    """FILE:LINE of each call of ``UserError`` in the package that no test came to."""
    return [
        f"{file.relative_to(ROOT)}:{call.lineno}"
        for file, call in _calls()
        if not any((str(file), line) in _raised for line in range(call.lineno, (call.end_lineno or call.lineno) + 1))
    ]


def _calls() -> Iterator[tuple[Path, ast.Call]]:
    for file in sorted(PACKAGE.rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "UserError":
                yield file, node


def _runs_all_fast_tests(config: pytest.Config) -> bool:
    everything = [str(path) for path in config.getini("testpaths")]
    chosen = any(config.getoption(name, None) for name in ("keyword", "lf", "deselect"))
    marked = config.getoption("markexpr", "")
    return (
        config.args in (everything, [str(ROOT / path) for path in everything])
        and marked.startswith("not (slow")
        and not chosen
    )
