"""The configuration of an analysis: which one, and how closely it looks."""

from __future__ import annotations

from dataclasses import dataclass

from omegaconf import MISSING

from mate_cli.config_rules import key

# Each analysis, and the key that says what it looks at.
SUBJECTS = {
    "coverage": None,
    "errors": "run",
    "compare": "runs",
    "approximation": None,
    "robustness": "run",
    "flow": "run",
}
# Those that read a task: coverage generates tables where none is named, flow takes a run's own.
TASK_READERS = ("coverage", "flow")

PERTURBATIONS = ("rows", "columns", "distractors")


@dataclass
class AnalysisConfig:
    """What is looked at, and how closely."""

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
