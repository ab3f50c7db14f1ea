"""Where things are written: a group of keys that most commands have."""

from __future__ import annotations

from dataclasses import dataclass

from mate_cli.config_rules import key


@dataclass
class PathsConfig:
    """Where things are written."""

    runs: str = key("./runs", "folder that holds the run folders", text=True)
    cache: str | None = key(None, "folder for prepared data; null: $MATE_CACHE, else ~/.cache/mate", text=True)

    def problems(self) -> list[str]:
        """Folders are of a file system: runs are renamed into place, caches are mapped into memory."""
        named = {"runs": self.runs, "cache": self.cache}
        return [
            f"{name}={value} is an address, not a folder; mount the bucket and name the mount (docs/tpu.md)"
            for name, value in named.items()
            if value is not None and "://" in value
        ]
