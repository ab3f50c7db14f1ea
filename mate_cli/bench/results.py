"""The folder of a bench: what was measured, written after every point.

::

    results.json   machine, versions, command, configuration, a record per point and model, what they say together
    report.md      the same as tables
    figure*.png    the paper's figures 4, 5 and 6
"""

from __future__ import annotations

import platform
import sys
import time
from pathlib import Path
from typing import Any

import torch

from mate_cli.bench.findings import findings
from mate_cli.bench.goals import judged
from mate_cli.bench.measure import Record
from mate_cli.config import to_plain
from mate_cli.config_bench import BenchConfig
from mate_cli.errors import UserError
from mate_cli.training.run_folder import environment, write_json


class Results:
    """Records of a bench, and their file."""

    def __init__(self, config: BenchConfig, device: str) -> None:
        self.folder = Path(config.to)
        self.records: list[Record] = []
        self._facts = {
            "finished": False,
            "command": sys.argv[1:],
            "started": time.strftime("%Y-%m-%dT%H:%M:%S%z"),
            "environment": environment(["mate", *sys.argv[1:]]),
            "device": device_facts(device),
            "configuration": to_plain(config),
        }

    def claim(self, overwrite: bool) -> None:
        """Make the folder.

        Raises:
            UserError: it holds results, or cannot be written.
        """
        file = self.folder / "results.json"
        if file.exists() and not overwrite:
            raise UserError(f"{file} exists: take another folder with to=FOLDER, or replace it with overwrite=true")
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            if file.exists():
                for figure in self.folder.glob("figure[456]-*.png"):
                    figure.unlink()
            self._write()
        except OSError as error:
            raise UserError(f"cannot write {file}: {error.strerror}; take another folder with to=FOLDER") from error

    def add(self, records: list[Record]) -> None:
        self.records += records
        self._write()

    def finish(self) -> None:
        """Say in the file that nothing is missing."""
        self._facts["finished"] = True
        self._write()

    def plain(self) -> dict[str, Any]:
        """Everything as plain data."""
        return {
            **self._facts,
            "goals": judged(self.records),
            "findings": findings(self.records),
            "records": self.records,
        }

    def _write(self) -> None:
        write_json(self.folder / "results.json", self.plain())


def device_facts(device: str) -> dict[str, Any]:
    """What the numbers depend on besides versions."""
    facts = {"device": device, "threads": torch.get_num_threads(), "cpu": _cpu_name()}
    capability = torch.backends.cpu.get_cpu_capability()
    if device == "cuda":
        return {**facts, "instructions": capability, "gpu": torch.cuda.get_device_name()}
    return {**facts, "instructions": capability}


def _cpu_name() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor() or platform.machine()
