"""The configuration of ``mate report``."""

from __future__ import annotations

from dataclasses import dataclass, field

from mate_cli.config.paths import PathsConfig
from mate_cli.config.rules import key


@dataclass
class ReportConfig:
    """One HTML page of all that has been run."""

    paths: PathsConfig = field(default_factory=PathsConfig)
    where: str | None = key(None, "only runs with these values, as mate runs takes them", text=True)
    tables: list[str] | None = key(
        None,
        "folders with what reproduce, bench and analyze wrote: their Markdown, with its pictures; null: ./reproduced, "
        "where there is one",
        reads="folder",
    )
    to: str = key("./report.html", "file to write", text=True)
