"""The configuration of an analysis: which one, and how closely it looks."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, get_args

from omegaconf import MISSING

from mate_cli.config.hardware import HardwareConfig
from mate_cli.config.model import BackboneConfig, ModelConfig, bench_only_problems
from mate_cli.config.paths import PathsConfig
from mate_cli.config.rules import key
from mate_cli.config.task import LEAST_TOKENS, SPLITS, TaskConfig, schedule_problems

# Each analysis, and the key that says what it looks at.
SUBJECTS = {
    "coverage": None,
    "errors": "run",
    "breakdown": "run",
    "compare": "runs",
    "claims": "claims",
    "approximation": None,
    "robustness": "run",
    "flow": "run",
    "retrieval": "task",
}
# Those that encode a task: coverage generates tables where none is named, flow takes a run's own.
TASK_ANALYSES = ("coverage", "flow")

PerturbationKind = Literal["rows", "columns", "distractors"]
PERTURBATIONS: tuple[str, ...] = get_args(PerturbationKind)


@dataclass
class AnalysisConfig:
    """The analysis, and how closely it looks."""

    name: str = key(MISSING, "name of the option", choices=tuple(SUBJECTS))
    global_sizes: list[int] = key([116, 256], "coverage: G, the tokens that see and are seen by all", low=1)
    radii: list[int] = key([42, 84, 168, 336], "coverage: R, the tokens of a bucket", low=1)
    depths: list[int] = key([1, 2, 4, 8], "approximation: layers of the networks", low=1)
    maps: int = key(2, "approximation: random maps that each depth is trained on", low=1)
    sample: int = key(100, "errors: how many wrong answers are drawn", low=1)
    seed: int = key(0, "errors, robustness: of what is drawn; flow: of random weights", low=0)
    perturbations: list[str] = key(
        list(PERTURBATIONS),
        "robustness: rows and columns are shuffled, distractors are rows of other tables",
        choices=PERTURBATIONS,
    )
    distractors: list[float] = key([0.5], "robustness: rows added, as shares of the table's own; at least one", above=0)
    baseline_only: bool = key(False, "flow: uniform attention alone, which needs a task and no weights")


@dataclass
class AnalyzeConfig:
    """Analyse generated tables, the data of a task, or what runs answered."""

    analysis: AnalysisConfig = field(default_factory=AnalysisConfig)
    run: str | None = key(
        None,
        "errors, breakdown: run folder, of a reader the folder of a pipeline's answers; robustness, flow: run folder",
        text=True,
        reads="run",
    )
    runs: list[str] | None = key(
        None, "compare: folders like that, the first of which the others are held against", reads="run"
    )
    claims: str | None = key(
        None,
        "claims: file of claims, each with the comparison that it rests on (docs/analysis.md)",
        text=True,
        reads="file",
    )
    task: TaskConfig | None = None
    model: ModelConfig = field(default_factory=ModelConfig)
    backbone: BackboneConfig = field(default_factory=BackboneConfig)
    hardware: HardwareConfig = field(default_factory=HardwareConfig)
    paths: PathsConfig = field(default_factory=PathsConfig)
    schedule: str | None = key(None, "coverage, flow: schedule whose max_tokens counts; null: the task's default")
    data_dir: str | None = key(
        None, "folder of the unpacked data; null: as in training (sample needs none)", text=True, reads="folder"
    )
    split: str = key("dev", "which part of the data", choices=SPLITS)
    max_tokens: int | None = key(
        None,
        "robustness: tokens per example, null: as in training; coverage, flow: null: as the schedule in use says",
        low=LEAST_TOKENS,
    )
    to: str = key("./analysis", "folder for what is written", text=True, writes="folder")

    def missing(self) -> list[str]:
        """A line where it is not said what to look at."""
        subject = SUBJECTS.get(self.analysis.name)
        if subject is None or getattr(self, subject) is not None:
            return []
        if self.analysis.name != "flow":
            return [f"{subject} is missing: write {subject}=..."]
        return [] if self.task is not None else ["run is missing: write run=..., or task=NAME with backbone=..."]

    def problems(self) -> list[str]:
        """Return a line for each key that does not belong to the analysis, and for a schedule that does not exist."""
        given = [name for name in ("run", "runs", "claims") if getattr(self, name) is not None]
        problems = [
            f"{name} belongs to analysis={' or '.join(other for other, subject in SUBJECTS.items() if subject == name)}"
            for name in given
            if SUBJECTS.get(self.analysis.name) != name
        ]
        if self.runs is not None and len(self.runs) == 1:
            problems.append(f"runs=[{self.runs[0]}]: nothing to compare it with")
        if self.analysis.name == "flow" and self.run is None:
            problems += bench_only_problems(self.model)
        if self.analysis.baseline_only and self.run is not None:
            problems.append("analysis.baseline_only looks at no run: leave out run, and add task=NAME")
        names = " or ".join(TASK_ANALYSES)
        if self.analysis.name not in ("robustness", *TASK_ANALYSES) and self.max_tokens is not None:
            problems.append(f"max_tokens belongs to analysis=robustness or {names}")
        if self.analysis.name in TASK_ANALYSES:
            return problems + self._task_problems()
        task = None if self.analysis.name == "retrieval" else self.task
        alone = {"task": task, "schedule": self.schedule}
        return problems + [f"{name} belongs to analysis={names}" for name, value in alone.items() if value is not None]

    def _task_problems(self) -> list[str]:
        if self.task is not None:
            return schedule_problems(self)
        data_dir = self.data_dir if self.run is None else None
        alone = {"data_dir": data_dir, "schedule": self.schedule, "max_tokens": self.max_tokens}
        return [f"{name} says how to read a task: add task=NAME" for name, value in alone.items() if value is not None]
