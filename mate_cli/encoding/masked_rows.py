"""Masked language modelling on a corpus: an endless stream of training examples, and the held-out tables.

The example at a place of the stream is a function of the seed and the place, so a run resumes anywhere. Each pass
visits the shards in another order, a few at a time, and the tables of these in random order.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from mate_cli.encoding.masked_example import MaskingOptions, generator, masked_row
from mate_cli.encoding.shards import Manifest, Shard, ShardFolder
from mate_cli.encoding.tokenizer import CellTokenizer
from mate_cli.system.errors import UserError

SHARDS_AT_ONCE = 16
"""Number of shards whose tables are mixed."""

_OPEN_SHARDS = 2 * SHARDS_AT_ONCE
HELD_OUT_SEED = 0
"""The examples of held-out tables are the same in every run."""


class ShardedCorpus:
    """The complete shards of a corpus; another process that gets it opens the files again.

    Args:
        cache: folder for copies of remote shards, with a folder per corpus.

    Raises:
        UserError: there are no shards, some are missing, or they have another vocabulary.
    """

    def __init__(self, url: str, tokenizer_folder: Path, cache: Path) -> None:
        self.folder, self.tokenizer_folder = ShardFolder(url), tokenizer_folder
        manifest = self.folder.manifest()
        if manifest is None:
            raise UserError(f"{url} has no shards of a corpus; make them with mate prepare task=mlm data_dir=TABLES")
        if not manifest.is_complete:
            raise UserError(f"{url} does not have all of its {manifest.shards} shards yet; run its mate prepare again")
        self.manifest: Manifest = manifest
        self.cache = cache / manifest.fingerprint[:32]
        if self.manifest.vocabulary != self.tokenizer.fingerprint:
            raise UserError(
                f"{url} was made with another vocabulary than the backbone's; set the backbone of mate prepare, or "
                "prepare the tables again"
            )

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name not in ("tokenizer", "shard")}

    @cached_property
    def tokenizer(self) -> CellTokenizer:
        return CellTokenizer(self.tokenizer_folder)

    @cached_property
    def shard(self) -> Any:
        """``shard(number)``; the last ones stay open."""

        @lru_cache(_OPEN_SHARDS)
        def opened(number: int) -> Shard:
            return self.folder.read(number, self.manifest.vocabulary, self.cache)

        return opened

    @cached_property
    def training_tables(self) -> tuple[int, ...]:
        """Number of training tables of each shard, ``[shards]``."""
        both = zip(self.manifest.tables, self.manifest.held_out, strict=True)
        return tuple(tables - len(held_out) for tables, held_out in both)

    def example(self, shard: int, row: int, options: MaskingOptions, seed: int, number: int) -> dict[str, Any]:
        """Return example ``number`` of a table as a row for ``Collator``."""
        pieces = self.shard(shard)[row]
        random = generator(pieces.id, seed, options.max_tokens, number)
        return masked_row(pieces, self.tokenizer, options, random)


@dataclass(frozen=True)
class MaskedStream:
    """Training examples by place in the stream; the length is that of one pass."""

    corpus: ShardedCorpus
    options: MaskingOptions
    seed: int

    def __len__(self) -> int:
        return sum(self.corpus.training_tables)

    def __getitem__(self, place: int) -> dict[str, Any]:
        number, offset = divmod(place, len(self))
        shard, table = _pass_order(self.corpus.training_tables, self.seed, number).table(offset)
        row = _kept_rows(self.corpus.manifest.tables[shard], self.corpus.manifest.held_out[shard])[table]
        return self.corpus.example(shard, int(row), self.options, self.seed, number)


@dataclass(frozen=True)
class HeldOut:
    """One example per held-out table.

    Args:
        limit: number of tables; None for all.
    """

    corpus: ShardedCorpus
    options: MaskingOptions
    limit: int | None = None

    @cached_property
    def _tables(self) -> list[tuple[int, int]]:
        tables = [(shard, row) for shard, rows in enumerate(self.corpus.manifest.held_out) for row in rows]
        chosen = np.random.default_rng(HELD_OUT_SEED).permutation(len(tables))[: self.limit]
        return [tables[number] for number in sorted(chosen.tolist())]

    def __len__(self) -> int:
        return len(self._tables)

    def __getitem__(self, number: int) -> dict[str, Any]:
        return self.corpus.example(*self._tables[number], self.options, HELD_OUT_SEED, 0)


class PassOrder:
    """The order in which a pass visits the tables of shards.

    Args:
        tables: number of tables of each shard.
    """

    def __init__(self, tables: Sequence[int], seed: int, number: int) -> None:
        self.tables, self.key = tables, (seed, number)
        order = np.random.default_rng(self.key).permutation(len(tables)).tolist()
        self._groups = [order[at : at + SHARDS_AT_ONCE] for at in range(0, len(order), SHARDS_AT_ONCE)]
        self._starts = np.cumsum([0, *(sum(tables[shard] for shard in group) for group in self._groups)]).tolist()

    def table(self, place: int) -> tuple[int, int]:
        """Return the shard and the number in it of the table at a place of the pass."""
        group = bisect_right(self._starts, place) - 1
        order = _group_order(self.key, group, self._starts[group + 1] - self._starts[group])
        number = int(order[place - self._starts[group]])
        for shard in self._groups[group]:
            if number < self.tables[shard]:
                return shard, number
            number -= self.tables[shard]
        raise AssertionError("a place beyond the pass")


_pass_order = lru_cache(maxsize=4)(PassOrder)


@lru_cache(maxsize=4)
def _group_order(key: tuple[int, int], group: int, tables: int) -> np.ndarray:
    return np.random.default_rng((*key, group)).permutation(tables)


@lru_cache(maxsize=_OPEN_SHARDS)
def _kept_rows(tables: int, held_out: tuple[int, ...]) -> np.ndarray:
    return np.setdiff1d(np.arange(tables), np.array(held_out, dtype=np.int64))
