"""Make examples of masked language modelling: a span of the texts around a table, and as much of the table as fits.

docs/notes.md, note 20. All random choices come from one ``random.Random``, in the order of the release.
"""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass
from random import Random
from typing import Any

import numpy as np

from mate_cli.config.model import Positions
from mate_cli.encoding.features import ARRAYS
from mate_cli.encoding.linearize import token_positions
from mate_cli.encoding.table_pieces import TablePieces
from mate_cli.encoding.tokenizer import CellTokenizer

_GROWS, _BECOMES_MASK, _STAYS = 0.5, 0.8, 0.5


@dataclass(frozen=True, slots=True)
class MaskingOptions:
    """Options of examples.

    Attributes:
        max_tokens: limit of one example, including [CLS] and [SEP].
        share: share of the tokens to predict.
        whole_cells: predict the pieces of a cell together; otherwise those of a word.
        joined_texts: take a span of all texts in random order; otherwise the first text of fitting length.
        min_text, max_text: limits of the text in pieces; a span is extended to whole words. If all texts together are
            shorter, the example has all of them.
        positions, max_positions: as in ``EncodingOptions``.
    """

    max_tokens: int = 128
    share: float = 0.15
    whole_cells: bool = True
    joined_texts: bool = True
    min_text: int = 8
    max_text: int = 32
    positions: Positions = "cell"
    max_positions: int = 512


def generator(table: str, seed: int, max_tokens: int, number: int = 0) -> Random:
    """Return the random generator of an example, a function of everything that identifies the example.

    Args:
        table: id of the table; number: number of the example among those of the table.
    """
    digest = hashlib.sha256(f"{table}_{seed}_{max_tokens}_{number}".encode()).digest()
    return Random(int.from_bytes(digest, "big"))


def masked_row(
    pieces: TablePieces, tokenizer: CellTokenizer, options: MaskingOptions, random: Random
) -> dict[str, Any]:
    """Return a row for ``Collator``, with the tokens to predict in ``masked`` and their ids in ``target``.

    If not even one word per cell fits beside the text, the example has no table.
    """
    text = _text(pieces, tokenizer, options, random)
    head = len(text) + 2
    source, cell = _TableGrowth(pieces, tokenizer, options.max_tokens - head).grow(random)
    ids = np.concatenate([[tokenizer.cls], text, [tokenizer.sep], pieces.cell_ids[source]]).astype(np.int32)
    arrays = _arrays(head, cell, pieces, options)
    units = _units(tokenizer.is_continuation(ids), cell, head, options.whole_cells)
    masked = _choose(units, max(1, round(options.share * len(ids))), random)
    arrays["input_ids"] = _replace(ids, masked, tokenizer, random)
    order = np.sort(np.array(masked, dtype=np.int32))
    cells = len(np.unique(cell[cell >= pieces.columns]))
    return arrays | {
        "id": pieces.id,
        "masked": order,
        "target": ids[order],
        "label": -1,
        "operator": -1,
        "answer_value": math.nan,
        "cell_value": np.full(cells, np.nan, dtype=np.float32),
    }


def _text(pieces: TablePieces, tokenizer: CellTokenizer, options: MaskingOptions, random: Random) -> np.ndarray:
    """Choose the ids of the example's text, with room for [CLS] and [SEP]."""
    texts = pieces.texts
    random.shuffle(texts)
    joined = np.concatenate([np.zeros(0, dtype=np.int32), *texts])
    if len(joined) <= options.min_text:
        text = joined
    elif options.joined_texts:
        text = _span(joined, tokenizer.is_continuation(joined), options, random)
    else:
        fitting = (text for text in texts if options.min_text <= len(text) <= options.max_text)
        text = next(fitting, joined[: _whole_words(tokenizer.is_continuation(joined), options.max_text)])
    return text[: _whole_words(tokenizer.is_continuation(text), options.max_tokens - 2)]


def _whole_words(continues: np.ndarray, limit: int) -> int:
    """Return how many pieces of a text fit ``limit`` as whole words; the limit if not even one word fits."""
    end = min(limit, len(continues))
    while 0 < end < len(continues) and continues[end]:
        end -= 1
    return end or limit


def _span(ids: np.ndarray, continues: np.ndarray, options: MaskingOptions, random: Random) -> np.ndarray:
    """Draw a span of whole words."""
    start = random.randint(0, len(ids) - options.min_text)
    while continues[start]:
        start -= 1
    end = random.randint(start + options.min_text, min(len(ids), start + options.max_text))
    while end < len(ids) and continues[end]:
        end += 1
    return ids[start:end]


class _TableGrowth:
    """Grows the numbers of columns, rows and pieces per cell of an example within a budget of pieces.

    A cell keeps the words that start before piece ``words`` of it (docs/notes.md, note 3).
    """

    def __init__(self, pieces: TablePieces, tokenizer: CellTokenizer, budget: int) -> None:
        self.budget = budget
        ends = pieces.cell_ends[: (budget + 1) * pieces.columns]  # a row has at least one piece
        lengths = np.diff(ends, prepend=0)
        # As in the release the header counts as a row here, so the last growth in rows adds nothing.
        self.limits = (pieces.columns, len(ends) // pieces.columns, int(lengths.max()))
        self.cell = np.repeat(np.arange(len(ends)), lengths)
        self.row, self.column = np.divmod(self.cell, pieces.columns)
        place = np.arange(len(self.cell))
        continues = tokenizer.is_continuation(pieces.cell_ids[: len(place)])
        self.word_start = np.maximum.accumulate(np.where(continues, 0, place)) - (ends - lengths)[self.cell]

    def grow(self, random: Random) -> tuple[np.ndarray, np.ndarray]:
        """Return the kept pieces and their cells, int64 ``[kept]``; none if not even one word per cell fits."""
        size = [1, 1, 1]
        kept = self._kept(*size)
        if len(kept) > self.budget:
            return kept[:0], kept[:0]
        while True:
            growing = [axis for axis in range(3) if size[axis] < self.limits[axis]]
            if not growing:
                break
            for axis in growing:
                if random.random() >= _GROWS:
                    continue
                size[axis] += 1
                more = self._kept(*size)
                if len(more) > self.budget:
                    return kept, self.cell[kept]
                kept = more
        return kept, self.cell[kept]

    def _kept(self, columns: int, rows: int, words: int) -> np.ndarray:
        return np.flatnonzero((self.row <= rows) & (self.column < columns) & (self.word_start < words))


def _arrays(head: int, cell: np.ndarray, pieces: TablePieces, options: MaskingOptions) -> dict[str, np.ndarray]:
    """Build all arrays of ``Features`` but ids from the length of the text part and the cell of each table token."""
    arrays = {name: np.zeros(head + len(cell), dtype=np.int32) for name in ARRAYS}
    arrays["row"][head:], arrays["column"][head:] = cell // pieces.columns, cell % pieces.columns + 1
    arrays["segment"][head:] = 1
    for name in ("column_rank", "inv_column_rank"):
        arrays[name][head:] = getattr(pieces, name)[cell]
    arrays["position"] = token_positions(head, cell, pieces.columns, options.positions, options.max_positions)
    return arrays


def _units(continues: np.ndarray, cell: np.ndarray, head: int, whole_cells: bool) -> list[range]:
    """Return the tokens to predict together: words, or in the table whole cells; without [CLS] and [SEP]."""
    goes_on = continues.copy()
    if whole_cells:
        goes_on[head:] |= np.diff(cell, prepend=-1) == 0
    goes_on[[0, head - 1]] = False
    starts = np.flatnonzero(~goes_on).tolist()
    spans = zip(starts, [*starts[1:], len(goes_on)], strict=True)
    return [range(*span) for span in spans if span[0] not in (0, head - 1)]


def _choose(units: list[range], target: int, random: Random) -> list[int]:
    """Choose tokens of whole units in random order, at most ``target``; skip a unit that is too large."""
    random.shuffle(units)
    chosen: list[int] = []
    for unit in units:
        if len(chosen) + len(unit) <= target:
            chosen += unit
    return chosen


def _replace(ids: np.ndarray, masked: list[int], tokenizer: CellTokenizer, random: Random) -> np.ndarray:
    """Replace 80% of the masked tokens by [MASK] and 10% by any piece; 10% stay."""
    replaced = ids.copy()
    for place in masked:
        if random.random() < _BECOMES_MASK:
            replaced[place] = tokenizer.mask
        elif random.random() >= _STAYS:
            replaced[place] = random.randint(0, len(tokenizer.vocabulary) - 1)
    return replaced
