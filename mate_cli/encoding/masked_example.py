"""An example of masked language modelling: a span of the texts around a table, and as much of it as fits (spec 5.1).

All that is random comes from one ``random.Random``, drawn from in the order of the TAPAS release.
"""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass
from random import Random
from typing import Any

import numpy as np

from mate_cli.encoding.features import ARRAYS
from mate_cli.encoding.linearize import token_positions
from mate_cli.encoding.table_pieces import TablePieces
from mate_cli.encoding.tokenizer import CellTokenizer

_GROWS, _BECOMES_MASK, _STAYS = 0.5, 0.8, 0.5


@dataclass(frozen=True, slots=True)
class MaskingOptions:
    """How examples are made of tables.

    Attributes:
        max_tokens: limit of one example, [CLS] and [SEP] included.
        share: of the tokens, how many are predicted.
        whole_cells: whether the pieces of a cell are predicted together; else those of a word are.
        joined_texts: whether the text is a span of all texts, in random order; else the first of them, in random
            order, that is neither too short nor too long.
        min_text, max_text: pieces of the text; a span is made whole words at both ends. Where all texts together have
            fewer, the example takes them as they are (the release leaves the table out).
        reset_positions, max_positions: as in ``EncodingOptions``.
    """

    max_tokens: int = 128
    share: float = 0.15
    whole_cells: bool = True
    joined_texts: bool = True
    min_text: int = 8
    max_text: int = 32
    reset_positions: bool = True
    max_positions: int = 512


def generator(table: str, seed: int, max_tokens: int, number: int = 0) -> Random:
    """What an example is drawn with: a function of all that tells it from others.

    Args:
        table: id of the table; number: of the example among those of the table.
    """
    digest = hashlib.sha256(f"{table}_{seed}_{max_tokens}_{number}".encode()).digest()
    return Random(int.from_bytes(digest, "big"))


def masked_row(
    pieces: TablePieces, tokenizer: CellTokenizer, options: MaskingOptions, random: Random
) -> dict[str, Any]:
    """An example as ``Collator`` takes it: ``masked`` says which tokens are to be predicted, ``target`` what they were.

    A table of which no word fits beside the text is left away.
    """
    text = _text(pieces, tokenizer, options, random)
    head = len(text) + 2
    source, cell = _Size(pieces, tokenizer, options.max_tokens - head).grown(random)
    ids = np.concatenate([[tokenizer.cls], text, [tokenizer.sep], pieces.cell_ids[source]]).astype(np.int32)
    arrays = _arrays(head, cell, pieces, options)
    units = _units(tokenizer.is_continuation(ids), cell, head, options.whole_cells)
    masked = _chosen(units, max(1, round(options.share * len(ids))), random)
    arrays["input_ids"] = _replaced(ids, masked, tokenizer, random)
    order = np.sort(np.array(masked, dtype=np.int32))
    cells = len(np.unique(cell[cell >= pieces.columns]))
    return arrays | {
        "id": pieces.id,
        "masked": order,
        "target": ids[order],
        "label": -1,
        "answer_value": math.nan,
        "cell_value": np.full(cells, np.nan, dtype=np.float32),
    }


def _text(pieces: TablePieces, tokenizer: CellTokenizer, options: MaskingOptions, random: Random) -> np.ndarray:
    """The ids of the example's text, with room for [CLS] and [SEP]."""
    texts = pieces.texts
    random.shuffle(texts)
    joined = np.concatenate([np.zeros(0, dtype=np.int32), *texts])
    if len(joined) <= options.min_text:
        found = joined
    elif options.joined_texts:
        found = _span(joined, tokenizer.is_continuation(joined), options, random)
    else:
        fitting = (text for text in texts if options.min_text <= len(text) <= options.max_text)
        found = next(fitting, joined[: _whole_words(tokenizer.is_continuation(joined), options.max_text)])
    return found[: _whole_words(tokenizer.is_continuation(found), options.max_tokens - 2)]


def _whole_words(continues: np.ndarray, limit: int) -> int:
    """How many pieces of a text fit ``limit``, as whole words; the limit where not even one word does."""
    end = min(limit, len(continues))
    while 0 < end < len(continues) and continues[end]:
        end -= 1
    return end or limit


def _span(ids: np.ndarray, continues: np.ndarray, options: MaskingOptions, random: Random) -> np.ndarray:
    """A span at random whose ends lie between words."""
    start = random.randint(0, len(ids) - options.min_text)
    while continues[start]:
        start -= 1
    end = random.randint(start + options.min_text, min(len(ids), start + options.max_text))
    while end < len(ids) and continues[end]:
        end += 1
    return ids[start:end]


class _Size:
    """How many columns and rows of a table, and how many pieces of a cell, an example has; they grow within a budget.

    A piece is kept where its word starts before piece ``words`` of the cell, so words stay whole (spec 1.3).
    """

    def __init__(self, pieces: TablePieces, tokenizer: CellTokenizer, budget: int) -> None:
        self.budget = budget
        ends = pieces.cell_ends[: (budget + 1) * pieces.columns]  # a row has at least one piece
        lengths = np.diff(ends, prepend=0)
        # As in the release the header counts as a row here, so the last growth in rows adds none.
        self.limits = (pieces.columns, len(ends) // pieces.columns, int(lengths.max()))
        self.cell = np.repeat(np.arange(len(ends)), lengths)
        self.row, self.column = np.divmod(self.cell, pieces.columns)
        place = np.arange(len(self.cell))
        continues = tokenizer.is_continuation(pieces.cell_ids[: len(place)])
        self.word_start = np.maximum.accumulate(np.where(continues, 0, place)) - (ends - lengths)[self.cell]

    def grown(self, random: Random) -> tuple[np.ndarray, np.ndarray]:
        """The pieces that are kept and their cells, int64 ``[kept]``; none where not even one word a cell fits."""
        size = [1, 1, 1]
        found = self._kept(*size)
        if len(found) > self.budget:
            return found[:0], found[:0]
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
                    return found, self.cell[found]
                found = more
        return found, self.cell[found]

    def _kept(self, columns: int, rows: int, words: int) -> np.ndarray:
        return np.flatnonzero((self.row <= rows) & (self.column < columns) & (self.word_start < words))


def _arrays(head: int, cell: np.ndarray, pieces: TablePieces, options: MaskingOptions) -> dict[str, np.ndarray]:
    """The arrays of ``Features`` but the ids, given the length of the text part and the cell of each table token."""
    arrays = {name: np.zeros(head + len(cell), dtype=np.int32) for name in ARRAYS}
    arrays["row"][head:], arrays["column"][head:] = cell // pieces.columns, cell % pieces.columns + 1
    arrays["segment"][head:] = 1
    for name in ("column_rank", "inv_column_rank"):
        arrays[name][head:] = getattr(pieces, name)[cell]
    arrays["position"] = token_positions(head, cell, options.reset_positions, options.max_positions)
    return arrays


def _units(continues: np.ndarray, cell: np.ndarray, head: int, whole_cells: bool) -> list[range]:
    """The tokens that are predicted together: words, or in the table whole cells; [CLS] and [SEP] are in none."""
    goes_on = continues.copy()
    if whole_cells:
        goes_on[head:] |= np.diff(cell, prepend=-1) == 0
    goes_on[[0, head - 1]] = False
    starts = np.flatnonzero(~goes_on).tolist()
    spans = zip(starts, [*starts[1:], len(goes_on)], strict=True)
    return [range(*span) for span in spans if span[0] not in (0, head - 1)]


def _chosen(units: list[range], target: int, random: Random) -> list[int]:
    """Tokens of whole units in random order, at most ``target``; a unit that would be too many is passed over."""
    random.shuffle(units)
    chosen: list[int] = []
    for unit in units:
        if len(chosen) + len(unit) <= target:
            chosen += unit
    return chosen


def _replaced(ids: np.ndarray, masked: list[int], tokenizer: CellTokenizer, random: Random) -> np.ndarray:
    """The ids with [MASK] at most of the masked tokens, a tenth as they are, and a tenth any piece at all."""
    replaced = ids.copy()
    for place in masked:
        if random.random() < _BECOMES_MASK:
            replaced[place] = tokenizer.mask
        elif random.random() >= _STAYS:
            replaced[place] = random.randint(0, len(tokenizer.vocabulary) - 1)
    return replaced
