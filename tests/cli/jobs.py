"""A stand-in for the commands, which records the configuration and the command line of each job."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any


@dataclass
class Jobs:
    """What the stand-in for a command saw, job by job; ``act`` is called inside each job."""

    configs: list[Any] = field(default_factory=list)
    argv: list[list[str]] = field(default_factory=list)
    act: Callable[[Any], None] = lambda config: None

    def run(self, config: Any) -> None:
        self.configs.append(config)
        self.argv.append(sys.argv)
        self.act(config)
