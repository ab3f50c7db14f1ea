"""Writes docs/errors.md: an example of each message to users, and the test whose input makes it (make errors).

A plugin of pytest (``-p tests.error_list``). Every place of the source that makes a ``UserError`` is listed; one that
no test comes to is told apart. What child processes report is not seen.
"""

from __future__ import annotations

import ast
import json
import os
import re
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mate_cli.system.errors import UserError

ROOT = Path(__file__).parent.parent
GUIDE, PARTS = ROOT / "docs/errors.md", ROOT / ".pytest_cache/errors"

_FOUND: dict[str, tuple[str, str]] = {}
_LONGEST = 300


def pytest_configure(config: pytest.Config) -> None:
    plain = UserError.__init__

    def recording(self: UserError, message: str, *rest: Any, **named: Any) -> None:
        plain(self, message, *rest, **named)
        _record(str(message), sys._getframe(1).f_code.co_filename, sys._getframe(1).f_lineno)

    UserError.__init__ = recording  # type: ignore[method-assign]
    if not _is_worker(config):
        PARTS.mkdir(parents=True, exist_ok=True)
        for part in PARTS.glob("*.json"):
            part.unlink()


def pytest_sessionfinish(session: pytest.Session) -> None:
    name = os.environ.get("PYTEST_XDIST_WORKER", "main")
    (PARTS / f"{name}.json").write_text(json.dumps(_FOUND), encoding="utf-8")
    if not _is_worker(session.config):
        _write()


def places() -> Iterator[tuple[str, range]]:
    """File and lines of each ``UserError(...)`` in the source."""
    for file in sorted((ROOT / "mate_cli").rglob("*.py")):
        calls = (node for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))) if isinstance(node, ast.Call))
        own = [node for node in calls if isinstance(node.func, ast.Name) and node.func.id == "UserError"]
        for node in sorted(own, key=lambda node: node.lineno):
            yield str(file.relative_to(ROOT)), range(node.lineno, (node.end_lineno or node.lineno) + 1)


def _is_worker(config: pytest.Config) -> bool:
    return hasattr(config, "workerinput")


def _record(message: str, file: str, line: int) -> None:
    path = Path(file)
    if path.is_relative_to(ROOT / "mate_cli"):
        test = os.environ.get("PYTEST_CURRENT_TEST", "").rpartition(" (")[0]
        _FOUND.setdefault(f"{path.relative_to(ROOT)}:{line}", (_cleaned(message), test))


def _cleaned(message: str) -> str:
    """The first line without the folders of this machine."""
    first = message.splitlines()[0] if message else ""
    for folder, name in ((tempfile.gettempdir(), "FOLDER"), (str(ROOT), "CHECKOUT"), (str(Path.home()), "~")):
        own = r"(/pytest-of-\w+/pytest-\d+(/popen-gw\d)?/[\w-]+)?"  # pytest's folder of a test
        first = re.sub(re.escape(folder) + own, name, first)
    return first if len(first) <= _LONGEST else f"{first[:_LONGEST]}…"


def _write() -> None:
    found: dict[str, list[str]] = {}
    for part in sorted(PARTS.glob("*.json")):
        found |= json.loads(part.read_text(encoding="utf-8"))
    lines: list[str] = []
    untested: list[str] = []
    file_before = ""
    for file, where in places():
        own = next((found[f"{file}:{line}"] for line in where if f"{file}:{line}" in found), None)
        if own is None:
            untested.append(f"- `{file}`, line {where.start}")
            continue
        if file != file_before:
            lines += ["", f"## `{file}`", "", "| message | made by |", "|---|---|"]
            file_before = file
        message, test = own[0].replace("`", "'"), own[1].replace("|", r"\|")
        message = re.sub(r"([|*_<>\[\]\\])", r"\\\1", message)
        lines.append(f"| {message} | `{test}` |")
    total = len(list(places()))
    head = [
        "# Error messages",
        "",
        "What a user can get wrong is told in one line, with exit code 2, or 1 for what went wrong while running, 75",
        "for what passes by itself ([when something goes wrong](faults.md)). An example of each, with the test whose",
        "input makes it; `make errors` writes this page, by `tests/error_list.py`.",
        f"{total - len(untested)} of the {total} places in the source that make such a line were come to.",
    ]
    rest = ["", "## Not come to by the fast tests", "", *untested] if untested else []
    GUIDE.write_text("\n".join([*head, *lines, *rest]) + "\n", encoding="utf-8")
