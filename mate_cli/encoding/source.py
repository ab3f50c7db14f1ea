"""Sources of examples, with a hash of everything that decides them."""

from __future__ import annotations

import hashlib
import random
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

from mate_cli.config.task import Input
from mate_cli.system.errors import UserError
from mate_cli.system.files import content_hash
from mate_cli.tables.answer_rows import without_answer
from mate_cli.tables.formats import FORMATS
from mate_cli.tables.perturb import Perturbation, arrangements
from mate_cli.tables.queries.sources import are_copies, benchmark_of
from mate_cli.tables.reading import TrainingCells, reading_examples, training_examples
from mate_cli.tables.split import Split
from mate_cli.tables.table import Example, Table


class SplitSource(Protocol):
    """Reads the examples of a named split, and identifies them."""

    @property
    def split(self) -> str: ...

    def fingerprint(self) -> str:
        """Return a hash of everything that decides the examples: the files, and what is made of their content."""
        ...

    def read(self) -> Split:
        """Read the examples; those about one table share its ``Table`` object."""
        ...


@dataclass(frozen=True)
class DataSource:
    """A split of a data folder, in one of the formats of ``tables.formats``."""

    format: str
    data_dir: Path
    split: str

    def fingerprint(self) -> str:
        """Hash the names and bytes of the files of the questions, then of each table that they name.

        Raises:
            UserError: the files of the questions are missing or broken.
        """
        return content_hash(FORMATS[self.format].split_files(self.data_dir, self.split))

    def read(self) -> Split:
        """Read the split.

        Raises:
            UserError: the files are missing or broken.
        """
        return FORMATS[self.format].read_split(self.data_dir, self.split)


@dataclass(frozen=True)
class MadeSource(ABC):
    """Examples derived from a split."""

    base: SplitSource

    @property
    def split(self) -> str:
        return self.base.split

    @property
    @abstractmethod
    def how(self) -> str:
        """A description that identifies the derivation."""

    @abstractmethod
    def read(self) -> Split: ...

    def fingerprint(self) -> str:
        """Hash the fingerprint of the split with the description of the derivation."""
        return hashlib.sha256(f"{self.base.fingerprint()}\0{self.how}".encode()).hexdigest()


@dataclass(frozen=True)
class BlankedSource(MadeSource):
    """A split without its questions, to measure what can be guessed from tables alone."""

    @property
    def how(self) -> str:
        return "questions taken away"

    def read(self) -> Split:
        split = self.base.read()
        return replace(split, examples=tuple(replace(example, question="", earlier=()) for example in split.examples))


@dataclass(frozen=True)
class DrawnSource(MadeSource):
    """A random sample of ``limit`` questions of a split, always the same ones, in their order."""

    limit: int

    @property
    def how(self) -> str:
        return f"{self.limit} questions drawn"

    def read(self) -> Split:
        split = self.base.read()
        places = random.Random(0).sample(range(len(split.examples)), min(self.limit, len(split.examples)))
        return _part(split, [split.examples[place] for place in sorted(places)])


@dataclass(frozen=True)
class PartSource(MadeSource):
    """The questions about a random ``share`` of a split's tables, always the same ones, or about all other tables.

    Attributes:
        held_out: take the share; False: take the other tables.
    """

    share: float
    held_out: bool

    @property
    def how(self) -> str:
        return f"tables {'of' if self.held_out else 'without'} a share of {self.share}"

    def read(self) -> Split:
        """Read the part.

        Raises:
            UserError: the files are missing or broken, or the part is empty.
        """
        split = self.base.read()
        examples = [e for e in split.examples if (_fraction(e.table.id) < self.share) == self.held_out]
        if not examples:
            part = f"holds out {'no table' if self.held_out else 'all tables'}"
            raise UserError(f"held_out={self.share} {part} of {self.split}; choose another share, or 0")
        return _part(split, examples)


@dataclass(frozen=True)
class UnseenSource(MadeSource):
    """The questions of a split about tables that are no copies of tables of other sources.

    Attributes:
        seen: the other sources.
    """

    seen: tuple[SplitSource, ...]

    @property
    def how(self) -> str:
        return f"no copies of tables of {', '.join(source.fingerprint() for source in self.seen)}"

    def read(self) -> Split:
        """Read the part.

        Raises:
            UserError: the files are missing or broken, or the part is empty.
        """
        split = self.base.read()
        tables, seen = _tables(split), [table for source in self.seen for table in _tables(source.read())]
        new = {table.id for table, is_copy in zip(tables, are_copies(tables, seen), strict=True) if not is_copy}
        if not new:
            raise UserError(f"every table of {self.split} is a copy of one that was seen or held out")
        return _part(split, [example for example in split.examples if example.table.id in new])


@dataclass(frozen=True)
class AnswerlessSource(MadeSource):
    """The questions of a split that cells answer, each about its table without the rows of the answer.

    Attributes:
        removed: take the rows away; False: the same questions about the whole tables.
    """

    removed: bool

    @property
    def how(self) -> str:
        return f"answered in cells, their rows {'removed' if self.removed else 'kept'}"

    def read(self) -> Split:
        """Read the part.

        Raises:
            UserError: the files are missing or broken, or the part is empty.
        """
        split = self.base.read()
        pairs = [(example, without_answer(example)) for example in split.examples]
        examples = [made if self.removed else example for example, made in pairs if made is not None]
        if not examples:
            raise UserError(f"unanswerable: no question of {self.split} has an answer in cells and other rows")
        return _part(split, examples)


@dataclass(frozen=True)
class PerturbedSource(MadeSource):
    """A split with perturbed tables (``tables.perturb``)."""

    perturbation: Perturbation

    @property
    def how(self) -> str:
        return str(self.perturbation)

    def read(self) -> Split:
        before = self.base.read()
        tables = arrangements(before.examples, self.perturbation)
        examples = tuple(tables[example.table.id].applied(example) for example in before.examples)
        return replace(before, examples=examples)


@dataclass(frozen=True)
class ReadingSource(MadeSource):
    """The reading examples of a split: chosen by ``cells`` for training, or each candidate cell alone (None)."""

    input: Input
    cells: TrainingCells | None

    @property
    def how(self) -> str:
        return f"read {self.input}, {self.cells}"

    def read(self) -> Split:
        """Read the reading examples, by question; each missing table counts as one.

        Raises:
            UserError: the files are missing or broken.
        """
        questions = self.base.read()
        examples = tuple(example for question in questions.examples for example in self._examples(question))
        return Split(examples, questions.missing_tables, len(examples) + questions.missing_tables)

    def _examples(self, question: Example) -> list[Example]:
        if self.cells is None:
            return reading_examples(question, self.input)
        return training_examples(question, self.cells, self.input)


def training_split(folder: Path) -> DataSource:
    """Return the training split of the benchmark in a folder.

    Raises:
        UserError: there is none.
    """
    if not (name := benchmark_of(folder)):
        raise UserError(f"seen={folder}: this is no folder of SQA, WikiTableQuestions, TabFact or HybridQA")
    return DataSource(name, folder, "train")


def _tables(split: Split) -> list[Table]:
    return list({id(example.table): example.table for example in split.examples}.values())


def _part(split: Split, examples: Sequence[Example]) -> Split:
    """Return some examples of a split as a split; missing tables are not counted."""
    unsupervised = {e.id: split.unsupervised[e.id] for e in examples if e.id in split.unsupervised}
    return Split(tuple(examples), missing_tables=0, questions=len(examples), unsupervised=unsupervised)


def _fraction(name: str) -> float:
    """Return a number between 0 and 1 that a name decides."""
    return int.from_bytes(hashlib.sha256(name.encode()).digest()[:4]) / 2**32
