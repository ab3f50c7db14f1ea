"""The data formats that can be read, by their names (``task.reader``)."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

from mate_cli.tables import hybridqa, sqa, tabfact, wtq
from mate_cli.tables.split import Layout, Split


class Reader(Protocol):
    """What a module that reads a benchmark offers; ``split`` is "train", "dev" or "test"."""

    LAYOUT: Layout

    def split_files(self, data_dir: Path, split: str) -> list[Path]:
        """The files that decide the examples of a split; some may not exist."""
        ...

    def read_split(self, data_dir: Path, split: str) -> Split:
        """The split; examples about one table share its ``Table`` object."""
        ...


READERS: dict[str, Reader] = {
    "sample": hybridqa,  # is generated in HybridQA's layout
    "hybridqa": hybridqa,
    "sqa": sqa,
    "wtq": wtq,
    "tabfact": tabfact,
}
