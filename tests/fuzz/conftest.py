"""The table of what was fuzzed, below the summary of the tests."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tabulate import tabulate

_HEADER = ("format, file", "inputs", "results", "clear errors", "crashes")


def pytest_terminal_summary(terminalreporter: Any, config: pytest.Config) -> None:
    """Print the inputs of each target of ``make test-fuzz`` and what came of them; into ``FUZZ_TABLE`` too."""
    rows = sorted(_rows(terminalreporter))
    if not rows or "not fuzz" in config.option.markexpr:
        return
    sums = [sum(column) for column in zip(*(row[1:] for row in rows), strict=True)]
    terminalreporter.section("fuzzed")
    table = tabulate([*rows, ["all", *sums]], _HEADER, tablefmt="github", intfmt=",")
    terminalreporter.write_line(table)
    if "FUZZ_TABLE" in os.environ:
        Path(os.environ["FUZZ_TABLE"]).write_text(f"{table}\n\n`make test-fuzz`\n", encoding="utf-8")


def _rows(terminalreporter: Any) -> Iterator[list[Any]]:
    for report in (*terminalreporter.getreports("passed"), *terminalreporter.getreports("failed")):
        for name, (target, inputs, results, errors) in report.user_properties:
            if name == "fuzz":
                yield [target, inputs, results, errors, inputs - results - errors]
