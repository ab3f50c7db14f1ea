"""The commands that no Hydra composes: they take words, and no keys."""

from __future__ import annotations

from dataclasses import dataclass, field

from mate_cli.config_paths import PathsConfig


@dataclass
class LsConfig:
    """What `mate ls` lists."""

    what: str = "all"


@dataclass
class DoctorConfig:
    """What `mate doctor` looks at."""

    paths: PathsConfig = field(default_factory=PathsConfig)


@dataclass
class CompletionConfig:
    """What `mate completion` prints: the script of a ``shell``; for ``query`` what could continue ``line``."""

    shell: str = "bash"
    line: str = ""


# The commands that no Hydra composes: each takes a word per field of its class, at most as many as are named here.
PLAIN: dict[str, tuple[type, int]] = {
    "ls": (LsConfig, 1),
    "doctor": (DoctorConfig, 0),
    "completion": (CompletionConfig, 2),
}
