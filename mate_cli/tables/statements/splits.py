"""Statements that are made from the tables of a folder, as a data format that tasks read (spec 5.3)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
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
from mate_cli.tables.statements.grammar import Statement
from mate_cli.tables.statements.shards import shards
from mate_cli.tables.statements.synthesis import Synthesizer
from mate_cli.tables.table import Cell, Example, Table

SPLITS = ("train", "dev")
SHARE_HELD_OUT = 100

Group = tuple[Example, ...]
"""A true statement and a false one."""

_NAMES = {1: "pos", 0: "neg"}


class Part(NamedTuple):
    """A part of a table as small as statements are made of, as it is and without its links, and what it is part of."""

    linked: Table
    plain: Table
    whole: CorpusTable


class _Made(NamedTuple):
    """The statements about one table, by their kind; its page is that of which it is one of the tables."""

    page: str
    groups: Mapping[str, list[Group]]


class _Tables(ReleaseLayout):
    """Any folder with tables has statements to train on and statements to validate with."""

    def present_splits(self, data_dir: Path) -> list[str]:
        Corpus(str(data_dir))
        return list(SPLITS)


@dataclass(frozen=True)
class StatementFormat:
    """Makes statements of some kinds, as many of each, from a folder of tables (``tables.corpus``).

    Always the same from the same tables. All tables are read, and held, at once.
    """

    kinds: tuple[str, ...]

    @property
    def LAYOUT(self) -> ReleaseLayout:
        return _Tables("tables: CSV, Parquet, HTML or JSON files, those of Wikipedia with what links lead to", (), {})

    def split_files(self, data_dir: Path, split: str) -> list[Path]:
        """All files of the folder, and a name that no file bears."""
        files = (file for file in data_dir.rglob("*") if not file.name.startswith(".") and file.is_file())
        return [*sorted(files), Path(f"{split} of {', '.join(self.kinds)} statements")]

    def read_split(self, data_dir: Path, split: str) -> Split:
        """The statements about the tables of the training pages, or of those held out; broken tables count as missing.

        Raises:
            UserError: it is another split, there are no tables, or no statements can be made of them.
        """
        if split not in SPLITS:
            raise UserError(f"split={split}: statements that are made from tables have {' and '.join(SPLITS)}")
        made, broken = _made(self.kinds, str(data_dir), Corpus(str(data_dir)).fingerprint)
        held_out = held_out_pages(Counter(own.page for own in made))
        own = [table for table in made if (table.page in held_out) == (split == "dev")]
        by_kind = {kind: [group for table in own for group in table.groups[kind]] for kind in self.kinds}
        for kind in (kind for kind, groups in by_kind.items() if not groups):
            first = f"; {broken[0].reason}" if broken else ""
            raise UserError(
                f"data_dir={data_dir}: no {kind} statements for {split} in its {len(made)} tables of two rows and two "
                f"to 25 columns; they need two tables with different titles, {_NEEDS[kind]}{first}"
            )
        missing = len(broken) if split == "train" else 0
        examples = tuple(example for group in _as_many_of_each([*by_kind.values()]) for example in group)
        return Split(examples, missing, len(examples) + missing)


def held_out_pages(tables: Mapping[str, int]) -> set[str]:
    """The pages whose tables are validated with: one table in 100, of few tables more (``tables.held_out``).

    Args:
        tables: page -> how many tables it has.
    """
    pages = [page for page, count in tables.items() for _ in range(count)]
    chosen = are_held_out(page_hashes(pages), len(pages) // SHARE_HELD_OUT)
    return {page for page, is_held_out in zip(pages, chosen, strict=True) if is_held_out}


@lru_cache(maxsize=1)
def _made(kinds: tuple[str, ...], url: str, fingerprint: str) -> tuple[list[_Made], list[Broken]]:
    """The statements about each table of a corpus that is large enough, and the tables that are broken.

    Kept, for both splits are made at once; the fingerprint tells whether the corpus is still the same.
    """
    corpus = Corpus(url)
    found = [own for portion in corpus.portions() for own in corpus.read(portion)]
    tables = (own for own in found if isinstance(own, CorpusTable) and shards(own.table))
    return [_of_table(own, kinds) for own in tables], [own for own in found if isinstance(own, Broken)]


def _of_table(own: CorpusTable, kinds: tuple[str, ...]) -> _Made:
    parts = [Part(part, _without_links(part), own) for part in shards(own.table)]
    groups = {kind: [group for part in parts for group in _MAKERS[kind](part)] for kind in kinds}
    return _Made(own.table.title or own.table.id, groups)


def _synthetic(part: Part) -> list[Group]:
    """A true and a false statement."""
    synthesizer, found = _synthesizer(part), list[Example]()
    for label in (1, 0):
        if (statement := synthesizer.statement(bool(label))) is not None:
            found.append(_synthetic_example(part, statement, label))
    return [tuple(found)] if len(found) == 2 else []


def _with_opposites(part: Part) -> list[Group]:
    """A true and a false statement, each also about a shuffled table, of which the opposite is true."""
    synthesizer, found = _synthesizer(part), list[Group]()
    for label in (1, 0):
        statement = synthesizer.statement(bool(label))
        table = statement and synthesizer.opposite(statement)
        if statement and table:
            example = _synthetic_example(part, statement, label)
            name = f"{example.id}_opposite"
            found.append((example, replace(example, id=name, table=replace(table, id=name), label=1 - label)))
    return found


def _synthesizer(part: Part) -> Synthesizer:
    return Synthesizer(part.plain, np.random.RandomState(release_seed(part.plain.id)))


def _synthetic_example(part: Part, statement: Statement, label: int) -> Example:
    name = f"{part.plain.id}_{_NAMES[label]}"
    return Example(name, str(statement), part.plain, groups=("synthetic",), label=label)


def _counterfactual(part: Part) -> list[Group]:
    texts = (*part.whole.texts, *part.whole.passages.values())
    found = counterfactuals(part.linked, texts, Random(release_seed(part.plain.id)))
    return [
        tuple(
            Example(f"{name}_{_NAMES[label]}", text, part.plain, groups=("counterfactual",), label=label)
            for label, text in ((1, own.sentence), (0, own.twin))
        )
        for name, own in ((f"{part.plain.id}_counterfactual_{number}", own) for number, own in enumerate(found))
    ]


def _as_many_of_each(by_kind: list[list[Group]]) -> list[Group]:
    """As many groups of each kind as there are of the rarest, drawn at random, always the same ones, in their order."""
    fewest = min(map(len, by_kind))
    places = (sorted(Random(0).sample(range(len(groups)), fewest)) for groups in by_kind)
    return [groups[place] for groups, own in zip(by_kind, places, strict=True) for place in own]


def _without_links(table: Table) -> Table:
    """The texts of a table: what its cells link to is not read with it."""
    header, *rows = (tuple(Cell(cell.text) for cell in row) for row in (table.header, *table.rows))
    return replace(table, header=header, rows=tuple(rows))


_MAKERS: dict[str, Callable[[Part], list[Group]]] = {
    "synthetic": _synthetic,
    "synthetic_opposite": _with_opposites,
    "counterfactual": _counterfactual,
}
_NEEDS = {
    "synthetic": "and columns whose heads differ",
    "synthetic_opposite": "and columns whose heads differ",
    "counterfactual": "links, and texts that mention two cells of a row; task=synthetic needs no texts",
}
