"""The configuration of ``mate runs``."""

from __future__ import annotations

from dataclasses import dataclass, field

from mate_cli.config.paths import PathsConfig
from mate_cli.config.rules import key

OUTPUTS = ("rich", "json")


@dataclass
class RunsConfig:
    """List, compare or remove runs."""

    paths: PathsConfig = field(default_factory=PathsConfig)
    where: str | None = key(
        None,
        "only runs with these values, as task=hybridqa,state=done: name, task, model, ablation, backbone, schedule, "
        "seed, state, code, or any key of their configuration; * stands for any letters",
        text=True,
    )
    compare: list[str] | None = key(
        None, "these runs side by side: what differs in configuration and scores", reads="listed run"
    )
    remove: list[str] | None = key(
        None, "the runs to remove, inside paths.runs; shown, and removed with confirm=true", reads="listed run"
    )
    confirm: bool = key(False, "remove: yes, for good")
    output: str = key("rich", "tables, or JSON: one record a line", choices=OUTPUTS)

    def problems(self) -> list[str]:
        """One thing at a time."""
        given = [name for name in ("where", "compare", "remove") if getattr(self, name) is not None]
        problems = [f"{' and '.join(given)} given: list some, compare some, or remove some"] if len(given) > 1 else []
        if self.compare is not None and len(self.compare) == 1:
            problems.append(f"compare=[{self.compare[0]}]: nothing to compare it with")
        if self.confirm and self.remove is None:
            problems.append("confirm belongs to remove")
        if self.output == "json" and self.remove is not None:
            problems.append("output=json belongs to listing and comparing")
        return problems
