"""A split as read, and the layout of a release that it is read from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from mate_cli.system.errors import UserError, shown
from mate_cli.tables.table import Example


@dataclass(frozen=True, slots=True)
class Split:
    """The questions of one split, in the order of the file.

    Attributes:
        examples: questions of one table share its ``Table`` and its passages.
        missing_tables: questions left out because a file of their table is not there.
        questions: all questions of the split, with the ones left out.
        unsupervised: id -> why, of the examples whose answer is known, but neither as cells nor as a number (WTQ).
    """

    examples: tuple[Example, ...]
    missing_tables: int
    questions: int
    unsupervised: Mapping[str, str] = field(default_factory=dict)


_LONGEST_NAME = 255  # bytes; what most file systems take


def file_below(folder: Path, name: str, where: str) -> Path:
    """The file that data names, which may not be there.

    Args:
        where: the name stands, for messages.

    Raises:
        UserError: it leads out of the folder, or no file can be called so.
    """
    parts = PurePosixPath(name).parts
    leaves = name.startswith("/") or ".." in parts
    if leaves or not (parts and name.isprintable() and len(name.encode()) <= _LONGEST_NAME):
        trouble = "leads out of the folder of the data" if leaves else "is the name of no file"
        raise UserError(f"{where}: {shown(name)} {trouble}; correct it, or fetch the data again")
    return folder / name


@dataclass(frozen=True, slots=True)
class ReleaseLayout:
    """Where in ``data_dir`` a release keeps what.

    Attributes:
        content: what ``data_dir`` must hold and whence, in words that follow "put" and "a folder with".
        folders: what every split needs.
        questions: split -> the files that may hold its questions; the first that is there does.
    """

    content: str
    folders: tuple[Path, ...]
    questions: Mapping[str, tuple[Path, ...]]

    def question_file(self, data_dir: Path, split: str) -> Path:
        """The file that holds the questions of ``split``.

        Raises:
            UserError: a folder of the release is not there, or there is no such split.
        """
        self._check_folders(data_dir)
        for file in self.questions[split]:
            if (data_dir / file).is_file():
                return data_dir / file
        found = ", ".join(self._found(data_dir)) or "none"
        names = [str(file) for file in self.questions[split]]
        lacking = f"neither {' nor '.join(names)} is" if len(names) > 1 else f"{names[0]} is not"
        raise UserError(f"data_dir={data_dir}: {lacking} there (splits found: {found}); {self._way_out()}")

    def present_splits(self, data_dir: Path) -> list[str]:
        """The splits that are there.

        Raises:
            UserError: there is none, or a folder of the release is not there.
        """
        self._check_folders(data_dir)
        if found := self._found(data_dir):
            return found
        files = ", ".join(str(own[-1]) for own in self.questions.values())
        raise UserError(f"data_dir={data_dir}: there are no questions, none of {files}; {self._way_out()}")

    def _found(self, data_dir: Path) -> list[str]:
        return [name for name, files in self.questions.items() if any((data_dir / file).is_file() for file in files)]

    def _check_folders(self, data_dir: Path) -> None:
        for folder in self.folders:
            if (data_dir / folder).is_dir():
                continue
            if not data_dir.is_dir():
                raise UserError(f"data_dir={data_dir}: there is no such folder; {self._way_out()}")
            inside = [child for child in sorted(data_dir.iterdir()) if self.is_whole(child)]
            way_out = f"did you mean data_dir={inside[0]}?" if inside else self._way_out()
            raise UserError(f"data_dir={data_dir}: {folder}/ is missing; {way_out}")

    def is_whole(self, folder: Path) -> bool:
        """Whether a folder has all that every split needs."""
        return all((folder / part).is_dir() for part in self.folders)

    def _way_out(self) -> str:
        return f"put {self.content} directly into data_dir"
