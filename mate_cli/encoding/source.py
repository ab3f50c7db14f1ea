"""Where the examples of a split come from, and a hash of everything that decides them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from mate_cli.errors import UserError
from mate_cli.tables.hybridqa import Split, question_file, read_split, table_files
from mate_cli.tables.reading import TrainingCells, reading_examples, training_examples
from mate_cli.tables.table import Example, Input


class Questions(Protocol):
    """A split as read: its examples, and how many questions it has with those whose table is missing."""

    @property
    def examples(self) -> Sequence[Example]: ...
    @property
    def missing_tables(self) -> int: ...
    @property
    def questions(self) -> int: ...


class ExampleSource(Protocol):
    """Reads the examples of a split, and names the files that decide them."""

    def files(self) -> Iterable[Path]:
        """The files; some may not exist."""
        ...

    def read(self) -> Questions:
        """The examples; those about one table share its ``Table`` object."""
        ...


class SplitSource(ExampleSource, Protocol):
    """The examples of a named split."""

    @property
    def split(self) -> str: ...


@dataclass(frozen=True)
class HybridQASource:
    """A split in HybridQA's official layout (the sample has it too)."""

    data_dir: Path
    split: str

    def files(self) -> list[Path]:
        """The question file, then the two files of each table that it names."""
        questions = question_file(self.data_dir, self.split)
        tables = [file for name in _table_ids(questions) for file in table_files(self.data_dir, name)]
        return [questions, *tables]

    def read(self) -> Split:
        """The split.

        Raises:
            UserError: the files are not there or are broken.
        """
        return read_split(self.data_dir, self.split)


@dataclass(frozen=True)
class ReadingQuestions:
    """Reading examples, and what they were made of is missing."""

    examples: tuple[Example, ...]
    missing_tables: int

    @property
    def questions(self) -> int:
        """Reading examples, and a question for each missing table."""
        return len(self.examples) + self.missing_tables


@dataclass(frozen=True)
class ReadingSource:
    """The reading examples of a split: those of ``cells`` to learn from, or where None every candidate cell alone."""

    base: SplitSource
    input: Input
    cells: TrainingCells | None

    @property
    def split(self) -> str:
        return self.base.split

    def files(self) -> list[Path]:
        """Those of the split, and a name that no file bears, so that the cache tells one choice from another."""
        return [*self.base.files(), Path(f"read {self.input}, {self.cells}")]

    def read(self) -> ReadingQuestions:
        """The reading examples, by question.

        Raises:
            UserError: the files are not there or are broken.
        """
        questions = self.base.read()
        examples = (example for question in questions.examples for example in self._examples(question))
        return ReadingQuestions(tuple(examples), questions.missing_tables)

    def _examples(self, question: Example) -> list[Example]:
        if self.cells is None:
            return reading_examples(question, self.input)
        return training_examples(question, self.cells, self.input)


def content_hash(files: Iterable[Path]) -> str:
    """A hash of the names and bytes of files; a file that is missing counts as missing.

    Raises:
        UserError: a file cannot be read.
    """
    digest = hashlib.blake2b(digest_size=20)
    for file in files:
        try:
            content = file.read_bytes() if file.is_file() else None
        except OSError as error:
            raise UserError(f"cannot read {file}: {error.strerror}") from error
        size = "missing" if content is None else len(content)
        digest.update(f"{file.name}\0{size}\0".encode())
        digest.update(content or b"")
    return digest.hexdigest()


def _table_ids(questions: Path) -> list[str]:
    """The tables of a question file; a broken file has none here, and ``read`` says what is wrong with it."""
    try:
        entries = json.loads(questions.read_bytes())
        return sorted({entry["table_id"] for entry in entries})
    except (OSError, ValueError, TypeError, KeyError):
        return []
