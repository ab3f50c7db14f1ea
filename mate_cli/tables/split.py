"""Splits of a data set, and the layout of the folder that they are read from."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from mate_cli.system.errors import UserError, shown
from mate_cli.tables.table import Example


@dataclass(frozen=True, slots=True)
class Split:
    """The questions of one split, in the order of the file.

    Attributes:
        examples: questions about one table share its ``Table`` and its passages.
        missing_tables: number of questions left out because a file of their table is missing.
        questions: number of all questions of the split, including those left out.
        unsupervised: example id -> why its known answer gives neither cells nor a number (WTQ).
    """

    examples: tuple[Example, ...]
    missing_tables: int
    questions: int
    unsupervised: Mapping[str, str] = field(default_factory=dict)


_MAX_NAME = 255  # bytes; the limit of most file systems


def file_below(folder: Path, name: str, where: str) -> Path:
    """Return the path of a file that the data names; it may not exist.

    Args:
        where: place of the name, for errors.

    Raises:
        UserError: the name leads out of the folder, or is not a valid file name.
    """
    parts = PurePosixPath(name).parts
    leaves = name.startswith("/") or ".." in parts
    if leaves or not (parts and name.isprintable() and len(name.encode()) <= _MAX_NAME):
        problem = "leads out of the data folder" if leaves else "is not a valid file name"
        raise UserError(f"{where}: {shown(name)} {problem}; correct it, or fetch the data again")
    return folder / name


def table_files(data_dir: Path, records: Iterable[tuple[str, Mapping[str, str]]], column: str) -> dict[str, Path]:
    """Return the files of the tables that records name in ``column``, by name, sorted; they may not exist.

    Args:
        records: places, for errors, and fields (``text_files.read_records``).

    Raises:
        UserError: a name leads out of the folder, or is not a valid file name.
    """
    places: dict[str, str] = {}
    for where, record in records:
        places.setdefault(record[column], f"{where}, column {column!r}")
    return {name: file_below(data_dir, name, places[name]) for name in sorted(places)}


@dataclass(frozen=True, slots=True)
class ReleaseLayout:
    """The layout of ``data_dir``.

    Attributes:
        content: required content and its source, in words that follow "put" and "a folder with".
        folders: folders that every split needs.
        questions: split -> possible files of its questions; the first that exists is read.
    """

    content: str
    folders: tuple[Path, ...]
    questions: Mapping[str, tuple[Path, ...]]

    def question_file(self, data_dir: Path, split: str) -> Path:
        """Return the file of the questions of ``split``.

        Raises:
            UserError: a folder of the release is missing, or there is no such split.
        """
        self._check_folders(data_dir)
        for file in self.questions[split]:
            if (data_dir / file).is_file():
                return data_dir / file
        splits = ", ".join(self._present(data_dir)) or "none"
        names = " or ".join(map(str, self.questions[split]))
        raise UserError(f"data_dir={data_dir}: no {names} (splits found: {splits}); {self._remedy()}")

    def present_splits(self, data_dir: Path) -> list[str]:
        """Return the splits that have a file of questions.

        Raises:
            UserError: there are none, or a folder of the release is missing.
        """
        self._check_folders(data_dir)
        if splits := self._present(data_dir):
            return splits
        files = ", ".join(str(paths[-1]) for paths in self.questions.values())
        raise UserError(f"data_dir={data_dir}: no questions, none of {files}; {self._remedy()}")

    def _present(self, data_dir: Path) -> list[str]:
        return [name for name, files in self.questions.items() if any((data_dir / file).is_file() for file in files)]

    def _check_folders(self, data_dir: Path) -> None:
        for folder in self.folders:
            if (data_dir / folder).is_dir():
                continue
            if not data_dir.is_dir():
                raise UserError(f"data_dir={data_dir}: no such folder; {self._remedy()}")
            inside = [child for child in sorted(data_dir.iterdir()) if self.is_whole(child)]
            remedy = f"did you mean data_dir={inside[0]}?" if inside else self._remedy()
            raise UserError(f"data_dir={data_dir}: {folder}/ is missing; {remedy}")

    def is_whole(self, folder: Path) -> bool:
        """Return whether a folder has all folders that every split needs."""
        return all((folder / part).is_dir() for part in self.folders)

    def _remedy(self) -> str:
        return f"put {self.content} directly into data_dir"
