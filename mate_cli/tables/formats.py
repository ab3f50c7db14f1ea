"""The data formats by name (``task.format``)."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

from mate_cli.config.choices import one_for_each
from mate_cli.config.task import FORMATS as FORMAT_NAMES
from mate_cli.config.task import TaskConfig
from mate_cli.system.errors import UserError
from mate_cli.tables import hybridqa, sqa, tabfact, wtq
from mate_cli.tables.download import release_folder
from mate_cli.tables.own import OwnFormat
from mate_cli.tables.queries import folder as queries
from mate_cli.tables.releases import RELEASES
from mate_cli.tables.split import ReleaseLayout, Split
from mate_cli.tables.statements import everyday
from mate_cli.tables.statements.splits import StatementFormat


class Format(Protocol):
    """A data format: a module, or an object, that reads a benchmark; ``split`` is "train", "dev" or "test"."""

    @property
    def LAYOUT(self) -> ReleaseLayout: ...

    def split_files(self, data_dir: Path, split: str) -> list[Path]:
        """Return the files that decide the examples of a split; some may not exist."""
        ...

    def read_split(self, data_dir: Path, split: str) -> Split:
        """Read the split; examples about one table share its ``Table`` object."""
        ...


FORMATS: dict[str, Format] = one_for_each(
    (name for name in FORMAT_NAMES if name != "corpus"),
    {
        "sample": hybridqa,  # generated in HybridQA's layout
        "hybridqa": hybridqa,
        "sqa": sqa,
        "wtq": wtq,
        "tabfact": tabfact,
        "own": OwnFormat(alternatives=True),
        "own_qa": OwnFormat(alternatives=False),
        "queries": queries,
        "synthetic": StatementFormat(("synthetic",)),
        "synthetic_opposite": StatementFormat(("synthetic_opposite",)),
        "counterfactual": StatementFormat(("counterfactual",)),
        "cs": StatementFormat(("counterfactual", "synthetic")),
        "everyday": everyday,
    },
)

FROM_MADE_QUESTIONS = ("queries", "everyday")
"""Formats that read the questions that ``mate prepare`` makes, or make them first."""


def expands_cells(task: TaskConfig) -> bool:
    """Return whether ``task.expansion`` changes what a model of the task sees."""
    uses = task.traits.uses
    has_links = FORMATS.get(task.format) is hybridqa
    return has_links and task.input != "table" and (uses is None or "task.expansion" in uses)


def data_problem(task: TaskConfig, data_dir: str | None, cache: Path) -> str | None:
    """Return an error line if a task has no data, given, generated or fetched before, or is given some in vain."""
    if task.format == "sample":
        if not data_dir:  # an empty value has a line of its own
            return None
        return (
            f"task={task.name} generates its data and reads no data_dir; leave it out, or train on your own questions: "
            f"task=own data_dir={data_dir}"
        )
    if data_dir is not None:
        return None
    is_released = task.format in RELEASES
    if is_released and release_folder(task.format, cache).is_dir():
        return None
    if task.format in FROM_MADE_QUESTIONS and fetched_folders(cache):
        return None
    if task.format not in FORMATS:
        return (
            f"task={task.name} needs data_dir=FOLDER with tables (JSON of Wikipedia, JSON lines, CSV, Parquet, HTML), "
            "or with the shards that mate prepare made of them; an address like s3://bucket/tables will do"
        )
    fetch = f"mate prepare task={task.name} fetches it; " if is_released else ""
    return (
        f"task={task.name} needs data_dir=DIR, a folder with {FORMATS[task.format].LAYOUT.content}; "
        f"{fetch}to try mate without data: task=sample"
    )


def fetched_folders(cache: Path) -> list[Path]:
    """Return the folders of the data sets that ``mate prepare`` fetched."""
    return [folder for name in RELEASES if (folder := release_folder(name, cache)).is_dir()]


def split_of(questions: Path) -> tuple[str, Path, str]:
    """Return the format, the data folder and the split of a file of questions, by its place in a release.

    A generated sample is in HybridQA's layout, and counts as HybridQA.

    Raises:
        UserError: it is not a file of questions in any layout.
    """
    path = questions.expanduser().resolve()
    for name, data_format in FORMATS.items():
        if name == "sample":
            continue
        for split, files in data_format.LAYOUT.questions.items():
            for file in files:
                folder = Path(*path.parts[: -len(file.parts)])
                if folder / file == path and data_format.LAYOUT.is_whole(folder):
                    return name, folder, split
    raise UserError(f"{questions} is not the file of a split's questions in the folder of a release; see mate prepare")
