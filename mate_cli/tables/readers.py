"""The data formats that can be read, by their names (``task.reader``)."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

from mate_cli.system.errors import UserError
from mate_cli.tables import hybridqa, sqa, tabfact, wtq
from mate_cli.tables.own import OwnReader
from mate_cli.tables.split import Layout, Split
from mate_cli.tables.statements.reader import StatementReader


class Reader(Protocol):
    """What a module that reads a benchmark offers; ``split`` is "train", "dev" or "test"."""

    @property
    def LAYOUT(self) -> Layout: ...

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
    "own": OwnReader(alternatives=True),
    "own_qa": OwnReader(alternatives=False),
    "synthetic": StatementReader(("synthetic",)),
    "synthetic_opposite": StatementReader(("synthetic_opposite",)),
    "counterfactual": StatementReader(("counterfactual",)),
    "cs": StatementReader(("counterfactual", "synthetic")),
}


def split_of(questions: Path) -> tuple[str, Path, str]:
    """The reader, the data folder and the split of a file of questions, by where it stands in a release.

    Raises:
        UserError: no release has it there.
    """
    path = questions.expanduser().resolve()
    for name, reader in READERS.items():
        for split, files in reader.LAYOUT.questions.items():
            for file in files:
                folder = Path(*path.parts[: -len(file.parts)])
                if folder / file == path and reader.LAYOUT.is_whole(folder):
                    return name, folder, split
    raise UserError(f"{questions} is not the file of a split's questions in the folder of a release; see mate prepare")
