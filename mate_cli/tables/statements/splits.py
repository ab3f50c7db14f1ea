"""The data format of generated statements: train and dev splits from the tables of any folder."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from random import Random
from typing import NamedTuple

import numpy as np

from mate_cli.system.errors import UserError
from mate_cli.tables.corpus import Broken, Corpus, CorpusTable, are_held_out, page_hashes
from mate_cli.tables.reading import release_seed
from mate_cli.tables.split import ReleaseLayout, Split
from mate_cli.tables.statements.counterfactual import counterfactuals
from mate_cli.tables.statements.synthesis import Synthesizer
from mate_cli.tables.table import Cell, Example, Table

SPLITS = ("train", "dev")
SHARE_HELD_OUT = 100
_MAX_CELLS = 50
_MIN_SIDE = 2  # rows, columns

Group = tuple[Example, ...]
"""A true statement and a false one."""

_SUFFIXES = {1: "pos", 0: "neg"}


class Part(NamedTuple):
    """A part of a table that is small enough for statements, with and without links, and the whole table."""

    linked: Table
    plain: Table
    whole: CorpusTable


class _TableStatements(NamedTuple):
    """The page of a table, and the statements about it by kind."""

    page: str
    groups: Mapping[str, list[Group]]


class _TableFolder(ReleaseLayout):
    """The layout of any folder with tables."""

    def present_splits(self, data_dir: Path) -> list[str]:
        Corpus(str(data_dir))
        return list(SPLITS)


@dataclass(frozen=True)
class StatementFormat:
    """Statements of the given kinds, equally many of each, from a folder of tables (``tables.corpus``).

    The same tables always give the same statements. All tables are in memory at once.
    """

    kinds: tuple[str, ...]

    @property
    def LAYOUT(self) -> ReleaseLayout:
        return _TableFolder("tables (CSV, Parquet, HTML or JSON files, those of Wikipedia with their passages)", (), {})

    def split_files(self, data_dir: Path, split: str) -> list[Path]:
        """Return all files of the folder, and a name that identifies the split and the kinds."""
        files = (file for file in data_dir.rglob("*") if not file.name.startswith(".") and file.is_file())
        return [*sorted(files), Path(f"{split} of {', '.join(self.kinds)} statements")]

    def read_split(self, data_dir: Path, split: str) -> Split:
        """Generate the statements about the training tables or the held-out ones; broken tables count as missing.

        Raises:
            UserError: another split, no tables, or no statements about them.
        """
        if split not in SPLITS:
            raise UserError(f"split={split}: generated statements have the splits {' and '.join(SPLITS)}")
        tables, broken = _generate(self.kinds, str(data_dir), Corpus(str(data_dir)).fingerprint)
        held_out = held_out_pages(Counter(table.page for table in tables))
        chosen = [table for table in tables if (table.page in held_out) == (split == "dev")]
        by_kind = {kind: [group for table in chosen for group in table.groups[kind]] for kind in self.kinds}
        for kind in (kind for kind, groups in by_kind.items() if not groups):
            first = f"; {broken[0].reason}" if broken else ""
            raise UserError(
                f"data_dir={data_dir}: no {kind} statements for {split} in its {len(tables)} tables of two rows and "
                f"two to 25 columns; they need two tables with different titles, {_NEEDS[kind]}{first}"
            )
        missing = len(broken) if split == "train" else 0
        examples = tuple(example for group in _balance([*by_kind.values()]) for example in group)
        return Split(examples, missing, len(examples) + missing)


def held_out_pages(tables: Mapping[str, int]) -> set[str]:
    """Return the pages to validate with: one table in 100, more of a few tables (``corpus.are_held_out``).

    Args:
        tables: page -> number of its tables.
    """
    pages = [page for page, count in tables.items() for _ in range(count)]
    chosen = are_held_out(page_hashes(pages), len(pages) // SHARE_HELD_OUT)
    return {page for page, is_held_out in zip(pages, chosen, strict=True) if is_held_out}


def shards(table: Table) -> list[Table]:
    """Halve a table by its rows until each part has at most 50 cells; parts get numbered ids.

    Parts with fewer than two rows are dropped; a table with fewer than two columns, or more than 25, has no parts.
    """
    if table.num_columns < _MIN_SIDE:
        return []
    parts = list(_halves(table))
    return parts if len(parts) == 1 else [replace(part, id=f"{table.id}-{n}") for n, part in enumerate(parts)]


def _halves(table: Table) -> Iterator[Table]:
    if table.num_rows < _MIN_SIDE:
        return
    if table.num_rows <= _MAX_CELLS // table.num_columns:
        yield table
        return
    middle = table.num_rows // 2
    for rows in (table.rows[:middle], table.rows[middle:]):
        yield from _halves(replace(table, rows=rows))


@lru_cache(maxsize=1)
def _generate(kinds: tuple[str, ...], url: str, fingerprint: str) -> tuple[list[_TableStatements], list[Broken]]:
    """Generate the statements about each table of a corpus that is large enough, and list the broken tables.

    Cached, because one pass generates both splits; the fingerprint tells whether the corpus has changed.
    """
    corpus = Corpus(url)
    entries = [entry for portion in corpus.portions() for entry in corpus.read(portion)]
    statements = []
    for entry in entries:
        if isinstance(entry, CorpusTable) and (parts := _parts(entry)):
            groups = {kind: [group for part in parts for group in _GENERATORS[kind](part)] for kind in kinds}
            statements.append(_TableStatements(entry.table.title or entry.table.id, groups))
    return statements, [entry for entry in entries if isinstance(entry, Broken)]


def _parts(whole: CorpusTable) -> list[Part]:
    parts = []
    for linked in shards(whole.table):
        header, *rows = (tuple(Cell(cell.text) for cell in row) for row in (linked.header, *linked.rows))
        parts.append(Part(linked, replace(linked, header=header, rows=tuple(rows)), whole))
    return parts


def _synthetic(part: Part) -> list[Group]:
    """Generate a true and a false statement."""
    synthesizer, examples = _synthesizer(part), list[Example]()
    for label in (1, 0):
        if (statement := synthesizer.statement(bool(label))) is not None:
            examples.append(_example(part, "", str(statement), "synthetic", label))
    return [tuple(examples)] if len(examples) == 2 else []


def _with_opposites(part: Part) -> list[Group]:
    """Generate a true and a false statement, each also about a shuffled table that reverses its truth value."""
    synthesizer, groups = _synthesizer(part), list[Group]()
    for label in (1, 0):
        statement = synthesizer.statement(bool(label))
        table = statement and synthesizer.opposite(statement)
        if statement and table:
            example = _example(part, "", str(statement), "synthetic", label)
            name = f"{example.id}_opposite"
            groups.append((example, replace(example, id=name, table=replace(table, id=name), label=1 - label)))
    return groups


def _synthesizer(part: Part) -> Synthesizer:
    return Synthesizer(part.plain, np.random.RandomState(release_seed(part.plain.id)))


def _counterfactual(part: Part) -> list[Group]:
    texts = (*part.whole.texts, *part.whole.passages.values())
    pairs = counterfactuals(part.linked, texts, Random(release_seed(part.plain.id)))
    return [
        tuple(
            _example(part, f"counterfactual_{number}_", text, "counterfactual", label)
            for label, text in ((1, pair.sentence), (0, pair.twin))
        )
        for number, pair in enumerate(pairs)
    ]


def _example(part: Part, name: str, text: str, kind: str, label: int) -> Example:
    return Example(f"{part.plain.id}_{name}{_SUFFIXES[label]}", text, part.plain, groups=(kind,), label=label)


def _balance(by_kind: list[list[Group]]) -> list[Group]:
    """Draw as many groups of each kind as the rarest has, always the same ones, in their order."""
    count = min(map(len, by_kind))
    chosen = (sorted(Random(0).sample(range(len(groups)), count)) for groups in by_kind)
    return [groups[number] for groups, numbers in zip(by_kind, chosen, strict=True) for number in numbers]


_GENERATORS: dict[str, Callable[[Part], list[Group]]] = {
    "synthetic": _synthetic,
    "synthetic_opposite": _with_opposites,
    "counterfactual": _counterfactual,
}
_NEEDS = {
    "synthetic": "and columns with different names",
    "synthetic_opposite": "and columns with different names",
    "counterfactual": "links, and texts that mention two cells of a row; task=synthetic needs no texts",
}
