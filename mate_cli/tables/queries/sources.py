"""The tables to ask about: those of training splits and of other folders, without any that a benchmark is scored on.

A table is left out if it is a *copy* of one in a dev or test split of SQA, WikiTableQuestions, TabFact or HybridQA, by
its content and not by its name (``are_copies``). The dev and test tables of a benchmark are known only if its folder is
there.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

import numpy as np
from scipy.sparse import csr_matrix

from mate_cli.system.errors import UserError
from mate_cli.tables import hybridqa, sqa, tabfact, wtq
from mate_cli.tables.corpus import Corpus, CorpusTable, are_held_out, page_hashes
from mate_cli.tables.queries.sheet import Sheet, with_things_only
from mate_cli.tables.table import Table
from mate_cli.tables.text import wtq_official_form

BENCHMARKS = {"wtq": wtq, "sqa": sqa, "tabfact": tabfact, "hybridqa": hybridqa}
_SHARE_HELD_OUT = 50  # one table in 50
_MIN_SHARED = 0.5
_MIN_ROW = 3  # different texts, for a row to be known again
_AT_ONCE = 512
_NEITHER = re.compile(r"[\W_]+")

Features = Callable[[Table], frozenset[str]]


@dataclass(frozen=True)
class Sources:
    """Tables to make questions of, with ids ``SOURCE/ID``.

    Attributes:
        train, dev: tables to train on, and those held out of them, of things alone.
        left_out: reason -> ids of the tables that are left out.
        missing: benchmarks whose folder is not there, so that copies of its tables are not known.
    """

    train: tuple[Table, ...]
    dev: tuple[Table, ...]
    left_out: dict[str, list[str]]
    missing: tuple[str, ...]


def read_sources(folders: Sequence[Path]) -> Sources:
    """Read the tables of benchmarks and of other folders with tables, and choose those to ask about.

    Args:
        folders: each a benchmark in its official layout, or a folder of tables (``tables.corpus``).

    Raises:
        UserError: a file is broken, or no table is left.
    """
    benchmarks = {name: folder for folder in folders if (name := benchmark_of(folder))}
    candidates, reserved = _read_benchmarks(benchmarks)
    candidates += [table for folder in folders if not benchmark_of(folder) for table in _tables_of_corpus(folder)]
    left_out: dict[str, list[str]] = {}
    usable = _without(candidates, [Sheet(with_things_only(table)).problem for table in candidates], left_out)
    usable = _without(usable, _repeats(usable), left_out)
    usable = _without_copies(usable, reserved, "copy of a table of a dev or test split", left_out)
    is_held_out = are_held_out(page_hashes(table.id for table in usable), len(usable) // _SHARE_HELD_OUT)
    dev = [table for table, held_out in zip(usable, is_held_out, strict=True) if held_out]
    rest = [table for table, held_out in zip(usable, is_held_out, strict=True) if not held_out]
    train = _without_copies(rest, dev, "copy of a held-out table", left_out)
    if not (train and dev):
        reasons = ", ".join(f"{reason} ({len(ids):,})" for reason, ids in left_out.items()) or "none"
        raise UserError(
            f"data_dir={folders[0]}: two tables that can be asked about are needed; "
            f"of {len(candidates):,}, left out: {reasons}"
        )
    asked, held_out = (tuple(map(with_things_only, split)) for split in (train, dev))
    return Sources(asked, held_out, left_out, tuple(sorted({*BENCHMARKS} - {*benchmarks})))


def benchmark_of(folder: Path) -> str:
    """Return the name of the benchmark whose layout a folder has; "" if it has none."""
    return next((name for name, module in BENCHMARKS.items() if module.LAYOUT.is_whole(folder)), "")


def tables_of(name: str, folder: Path, split: str) -> list[Table]:
    """Return the tables of a split of a benchmark, with ids ``BENCHMARK/ID``."""
    examples = BENCHMARKS[name].read_split(folder, split).examples
    tables = {id(example.table): example.table for example in examples}
    return [replace(table, id=f"{name}/{table.id}") for table in tables.values()]


def are_copies(tables: Sequence[Table], reserved: Sequence[Table]) -> np.ndarray:
    """Mark the tables that are copies of a reserved one, bool ``[tables]``.

    A copy shares at least half of the distinct texts of both tables together, or half of the rows of the smaller
    one: also with rows or columns added, removed or in another order. Texts are compared without case, accents, blanks,
    marks and footnotes; rows without regard to the order of their cells, if they have three different texts.
    """
    if not (tables and reserved):
        return np.zeros(len(tables), dtype=bool)
    by_text = _most_shared(tables, reserved, texts_of, lambda shared, first, second: shared / (first + second - shared))
    by_row = _most_shared(tables, reserved, rows_of, lambda shared, first, second: shared / np.minimum(first, second))
    return (by_text >= _MIN_SHARED) | (by_row >= _MIN_SHARED)


def texts_of(table: Table) -> frozenset[str]:
    """Return the distinct texts of a table's body in normal form."""
    return frozenset(text for row in _normal_rows(table) for text in row)


def rows_of(table: Table) -> frozenset[str]:
    """Return the rows of a table, each as its distinct texts in normal form, sorted."""
    return frozenset("\n".join(sorted(row)) for row in _normal_rows(table) if len(row) >= _MIN_ROW)


def _normal_rows(table: Table) -> Iterator[set[str]]:
    for row in table.rows:
        yield {_normal_form(cell.text) for cell in row} - {""}


@lru_cache(maxsize=1 << 18)
def _normal_form(text: str) -> str:
    """Return the letters and digits alone: one data set writes "19,020" and "italy/ austria", another "19020"."""
    return _NEITHER.sub("", wtq_official_form(text))


def _most_shared(
    tables: Sequence[Table],
    reserved: Sequence[Table],
    features: Features,
    share: Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray],
) -> np.ndarray:
    """Return the greatest share of features that each table has in common with a reserved one, ``[tables]``."""
    numbers: dict[str, int] = {}
    theirs, ours = (_matrix(map(features, group), numbers) for group in (reserved, tables))
    theirs.resize(len(reserved), len(numbers))
    their_sizes, our_sizes = (np.asarray(matrix.sum(axis=1)).ravel() for matrix in (theirs, ours))
    transposed, most = theirs.T.tocsr(), np.zeros(len(tables))
    for start in range(0, len(tables), _AT_ONCE):
        shared = (ours[start : start + _AT_ONCE] @ transposed).tocoo()
        shares = share(shared.data, our_sizes[start + shared.row], their_sizes[shared.col])
        np.maximum.at(most, start + shared.row, shares)
    return most


def _matrix(sets: Iterable[frozenset[str]], numbers: dict[str, int]) -> csr_matrix:
    """Return a row of ones at the numbers of each set's features; new features get the next numbers."""
    indices, ends = list[int](), [0]
    for features in sets:
        indices += [numbers.setdefault(feature, len(numbers)) for feature in features]
        ends.append(len(indices))
    return csr_matrix((np.ones(len(indices), dtype=np.int32), indices, ends), (len(ends) - 1, len(numbers)))


def _read_benchmarks(folders: Mapping[str, Path]) -> tuple[list[Table], list[Table]]:
    """Return the tables of the training splits, in the order of ``BENCHMARKS``, and those of dev and test splits."""
    training, reserved = list[Table](), list[Table]()
    for name in (name for name in BENCHMARKS if name in folders):
        for split in BENCHMARKS[name].LAYOUT.present_splits(folders[name]):
            (training if split == "train" else reserved).extend(tables_of(name, folders[name], split))
    return training, reserved


def _tables_of_corpus(folder: Path) -> list[Table]:
    corpus = Corpus(str(folder))
    entries = (entry for portion in corpus.portions() for entry in corpus.read(portion))
    tables = (entry.table for entry in entries if isinstance(entry, CorpusTable))
    return [replace(table, id=f"{folder.name}/{table.id}") for table in tables]


def _without_copies(
    tables: list[Table], reserved: list[Table], reason: str, left_out: dict[str, list[str]]
) -> list[Table]:
    reasons = [reason if is_copy else "" for is_copy in are_copies(tables, reserved)]
    return _without(tables, reasons, left_out)


def _without(tables: list[Table], reasons: Sequence[str], left_out: dict[str, list[str]]) -> list[Table]:
    """Return the tables without a reason to leave them out; note the others."""
    for table, reason in zip(tables, reasons, strict=True):
        if reason:
            left_out.setdefault(reason, []).append(table.id)
    return [table for table, reason in zip(tables, reasons, strict=True) if not reason]


def _repeats(tables: Sequence[Table]) -> list[str]:
    """Return a reason for each table with the same rows as an earlier one, in any order; "" for the others."""
    seen = Counter[frozenset[frozenset[str]]]()
    reasons = []
    for table in tables:
        content = frozenset(map(frozenset, _normal_rows(table)))
        seen[content] += 1
        reasons.append("same rows as another table" if seen[content] > 1 else "")
    return reasons
