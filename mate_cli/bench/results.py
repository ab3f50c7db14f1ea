"""The folder of a bench, written after every point.

::

    results.json   machine, versions, command, configuration, a record per point and model, conclusions
    report.md      tables of the results
    figure*.png    the paper's figures 4, 5 and 6
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from mate_cli.bench import auto
from mate_cli.bench.findings import findings, point_of
from mate_cli.bench.goals import judged
from mate_cli.bench.measure import Record
from mate_cli.bench.point import Point
from mate_cli.config.bench import BenchConfig
from mate_cli.config.plain import to_plain
from mate_cli.runs.provenance import code_version, environment
from mate_cli.system.errors import UserError, disk_reason
from mate_cli.system.files import hold, write_json
from mate_cli.system.processor import processor_name
from mate_cli.system.products import processor_instructions

if TYPE_CHECKING:
    from filelock import BaseFileLock

_MEASURED = {"seconds", "peak_bytes", "largest_batch"}
"""What a record has beside the counted FLOPs, where it was measured."""


class Results:
    """The records of a bench and their file."""

    def __init__(self, config: BenchConfig, device: str) -> None:
        self.folder = Path(config.to)
        self.records: list[Record] = []
        self._lock: BaseFileLock | None = None
        self._facts: dict[str, Any] = {
            "finished": False,
            "command": sys.argv[1:],
            "sittings": [time.strftime("%Y-%m-%dT%H:%M:%S%z")],
            "environment": environment(["mate", *sys.argv[1:]]),
            "device": device_facts(device),
            "configuration": to_plain(config),
        }

    def claim(self, overwrite: bool, resume: bool) -> None:
        """Create the folder, or continue in it; lock it until ``release``.

        Raises:
            UserError: it has results and neither ``overwrite`` nor ``resume`` is set, ``resume`` cannot continue them,
                another process uses it, or it cannot be written.
        """
        file = self.folder / "results.json"
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            self._lock = hold(self.folder)
            self._begin(file, overwrite, resume)
        except OSError as error:
            self.release()
            raise UserError(f"cannot write {file}: {disk_reason(error)}; take another folder with to=FOLDER") from error
        except BaseException:
            self.release()
            raise

    def release(self) -> None:
        """Unlock the folder."""
        if self._lock is not None:
            self._lock.release()
            self._lock = None

    def _begin(self, file: Path, overwrite: bool, resume: bool) -> None:
        if file.exists() and resume:
            self._take_over(file)
        elif file.exists() and not overwrite:
            raise UserError(
                f"{file} exists: take another folder with to=FOLDER, replace it with overwrite=true, or measure "
                "what is missing with resume=true"
            )
        for figure in self.folder.glob("figure[456]-*.png"):
            figure.unlink()
        self._write()

    def _take_over(self, file: Path) -> None:
        """Take the records and start times of earlier sittings: same settings, same versions, on the same machine."""
        try:
            earlier = json.loads(file.read_text(encoding="utf-8"))
            records, sittings = list(earlier["records"]), list(earlier["sittings"])
            known = _comparable(earlier["configuration"], earlier["device"])
            known_versions = _versions(earlier["environment"])
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise UserError(f"{file} is no result of mate bench; take another folder with to=FOLDER") from error
        current = _comparable(self._facts["configuration"], self._facts["device"])
        differing = sorted(name for name in current if current[name] != known.get(name))
        if differing:
            raise UserError(
                f"cannot resume {self.folder}: it was measured with another {', '.join(differing)}; "
                "repeat its settings, or take another folder with to=FOLDER"
            )
        versions = _versions(self._facts["environment"]).items()
        others = [f"{name} {known_versions[name]} (now {now})" for name, now in versions if known_versions[name] != now]
        if others:
            raise UserError(
                f"cannot resume {self.folder}: it was measured with {', '.join(others)}, and times of several "
                "versions do not compare; take another folder with to=FOLDER, or replace it with overwrite=true"
            )
        self.records = records
        self._facts["sittings"] = sittings + self._facts["sittings"]

    def has(self, point: Point) -> bool:
        """Return True if the point has been measured."""
        return any(point_of(record) == point for record in self.records)

    def add(self, records: list[Record]) -> None:
        self.records += records
        self._write()

    def finish(self) -> None:
        """Mark the file as complete."""
        self._facts["finished"] = True
        self._write()

    def check_measured(self) -> None:
        """
        Raises:
            UserError: there is no figure at all; it names the first reason.
        """
        if any(_MEASURED & record.keys() or "counted" in record.get("flops", {}) for record in self.records):
            return
        reasons = [reason for record in self.records for reason in record["left_out"].values()]
        more = f": {reasons[0]}" if reasons else ""
        raise UserError(f"nothing was measured{more}; {self.folder}/report.md has every reason", exit_code=1)

    def plain(self) -> dict[str, Any]:
        """Return everything as plain data."""
        return {
            **self._facts,
            "goals": judged(self.records, self._facts["device"]["threads"]),
            "findings": findings(self.records),
            "auto": auto.summary(self.records),
            "records": self.records,
        }

    def _write(self) -> None:
        write_json(self.folder / "results.json", self.plain())


def _comparable(configuration: dict[str, Any], device: dict[str, Any]) -> dict[str, Any]:
    """Return the settings that must be equal for two sittings to be one bench."""
    free = ("to", "overwrite", "resume")
    return {name: value for name, value in {**configuration, **device}.items() if name not in free}


def _versions(environment: dict[str, Any]) -> dict[str, str | None]:
    """Return the versions that change times, of the code as ``code_version`` has it; None: it is not installed."""
    packages = environment["packages"]
    timed = {name: packages.get(name) for name in ("torch", "transformers")}  # the second for hf_tapas
    return {"Python": environment["python"], "code": code_version(environment), **timed}


def device_facts(device: str) -> dict[str, Any]:
    """Return what the numbers depend on besides versions: threads, processor, its instructions, GPU."""
    return {
        "device": device,
        "threads": torch.get_num_threads(),
        "cpu": processor_name(),
        "instructions": processor_instructions(),
    } | ({"gpu": torch.cuda.get_device_name()} if device == "cuda" else {})
