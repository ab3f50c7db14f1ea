"""Length classes of the examples of a run, for devices that compile a program for each shape of a batch.

A batch has examples of one class and the shape of that class: the tokens of an example and the windows of attention.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from mate_cli.attention import FixedShape, widest_shape
from mate_cli.attention.blocks import BLOCK, windows_needed
from mate_cli.attention.length_classes import cheapest_cuts
from mate_cli.attention.plan import run_starts
from mate_cli.encoding.batch import Batch, Collator, layout_of
from mate_cli.encoding.fixed import FixedCollator
from mate_cli.training.rows import Rows

MOST_CLASSES = 3
LENGTH_UNIT = 64
"""Borders of classes are multiples of it: TPUs compute in tiles of 8 times 128."""
COMPILATION = 50
"""Cost of one more program, in optimizer steps of the longest class: an estimate, because no TPU was available."""
_LAYOUT = ["input_ids", "row", "column", "segment"]
_AT_ONCE = 256


def class_borders(lengths: np.ndarray, longest: int, batch: int, steps: int) -> tuple[int, ...]:
    """Choose the classes, none without training examples, for which a run computes the fewest tokens and compilations.

    At each border between two classes a batch of examples is computed half in the longer class (``StepSampler``).

    Args:
        lengths: int ``[examples]``, tokens of the training examples; longest: most tokens of an example of the run.
        batch: examples of an optimizer step; steps: of the run.

    Returns:
        Most tokens of an example of each class, rising; the last is ``longest``.
    """
    lengths = np.minimum(rounded(np.sort(lengths)[::-1], LENGTH_UNIT), longest)
    first = run_starts(lengths)
    cost = lengths[first]
    cost[0] = longest
    passes = steps * batch / len(lengths)
    of_class = batch * longest * (0.5 + COMPILATION / passes)
    cuts = cheapest_cuts(np.r_[first, len(lengths)], cost, MOST_CLASSES, of_class)
    starts = [start for start, _ in reversed(cuts)]
    return tuple(cost[np.searchsorted(first, starts)].tolist())


@dataclass(frozen=True)
class LengthClasses:
    """
    Attributes:
        borders: most tokens of an example of each class, rising; without two, batches have examples of any length.
        shapes: of the micro-batches of each class; empty on devices that need none.
        tokens: of a pass over the training examples: ``needed``, ``computed`` and ``computed_with_one_shape``; empty
            where they are not known.
        column_pairs: pairs of tokens that a column head computes in it, without the question's, as a share of those
            with one shape, and so its FLOPs; None with one shape, or where it is not known.
    """

    borders: tuple[int, ...]
    shapes: tuple[FixedShape, ...] = ()
    tokens: Mapping[str, int] = field(default_factory=dict)
    column_pairs: float | None = None

    def facts(self) -> dict[str, Any]:
        """For ``status.json``."""
        shapes = [asdict(shape) for shape in self.shapes]
        facts = {"length_classes": list(self.borders), "shapes": shapes, "tokens_of_pass": dict(self.tokens)}
        return facts if self.column_pairs is None else facts | {"column_pairs": round(self.column_pairs, 4)}

    def describe(self) -> str:
        """One line for the user."""
        line = "batches of one shape: " if len(self.shapes) == 1 else "batches of one length class each: "
        line += ", ".join(f"{s.tokens} tokens (column window {min(s.column_window, s.tokens)})" for s in self.shapes)
        if self.tokens:
            line += f"; {self.tokens['computed'] / self.tokens['needed']:.2f} tokens computed for each one needed"
        if len(self.shapes) > 1:
            line += f", {self.tokens['computed_with_one_shape'] / self.tokens['needed']:.2f} with one shape"
        if self.column_pairs is not None:
            line += f"; column heads compute {self.column_pairs:.0%} of the pairs of one shape"
        return line


def fixed_classes(
    rows: Rows, batch: int, micro_batch: int, steps: int, max_tokens: int, borders: Sequence[int] | None = None
) -> LengthClasses:
    """Return the length classes of a run, and their shapes, each of which holds those before it.

    A stream, whose examples are not known in advance, has one class of the widest shape.

    Args:
        batch, steps: as in ``class_borders``; max_tokens: of an encoded example.
        borders: of a run that began before, empty if it had none; None to choose them.
    """
    if rows.is_stream:
        return LengthClasses((max_tokens,), (widest_shape(micro_batch, max_tokens),))
    of_train = needs_of(rows.train)
    needs, lengths = np.concatenate([of_train, needs_of(rows.dev)]), of_train[:, 0]
    longest = min(max_tokens, int(rounded(needs[:, 0].max(), BLOCK)))
    if borders is None:
        borders = class_borders(lengths, longest, batch, steps)
    borders, shapes = tuple(borders) or (longest,), []
    for border in borders:
        _, *others = rounded(needs[needs[:, 0] <= border].max(axis=0, initial=1), BLOCK).tolist()
        shapes.append(FixedShape(micro_batch, border, *others))
    computed, by_one = (tokens_computed(lengths, own, batch) for own in (borders, borders[-1:]))
    tokens = {"needed": int(lengths.sum()), "computed": computed, "computed_with_one_shape": by_one}
    return LengthClasses(borders, tuple(shapes), tokens, _column_pairs(of_train, shapes))


def _column_pairs(needs: np.ndarray, shapes: Sequence[FixedShape]) -> float | None:
    """The pairs of a column head, as a share of those with the last shape for all; None if that is not less."""
    pairs = np.array([shape.tokens * min(shape.column_window, shape.tokens) for shape in shapes])
    if len(shapes) < 2 or not len(needs) or not pairs[-1]:
        return None
    return float(pairs[shape_numbers(needs, shapes)].mean() / pairs[-1])


def needs_of(rows: Any) -> np.ndarray:
    """Return the tokens, question tokens, row window and column window of each encoded row, int64 ``[rows, 4]``."""
    return np.concatenate([np.zeros((0, 4), int), *map(_needs, _chunks(rows))])


def _chunks(rows: Any) -> Iterator[list[Mapping[str, Any]]]:
    if hasattr(rows, "select_columns"):  # much faster than row by row
        for values in rows.select_columns(_LAYOUT).iter(_AT_ONCE):
            yield [dict(zip(values, row, strict=True)) for row in zip(*values.values(), strict=True)]
    else:
        for start in range(0, len(rows), _AT_ONCE):
            yield [rows[number] for number in range(start, min(start + _AT_ONCE, len(rows)))]


def _needs(rows: Sequence[Mapping[str, Any]]) -> np.ndarray:
    layout = layout_of(rows)
    lengths, questions = (np.bincount(layout.document[chosen]) for chosen in (slice(None), layout.segment == 0))
    return np.stack([lengths, questions, *(windows_needed(kind, layout) for kind in ("row", "column"))], axis=1)


def shape_numbers(needs: np.ndarray, shapes: Sequence[FixedShape]) -> np.ndarray:
    """Return the number of the first shape that holds each row (``needs_of``), int64 ``[rows]``; else of the last."""
    sizes = np.array([[s.tokens, s.question, s.row_window, s.column_window] for s in shapes])
    holds = np.all(needs[:, None] <= sizes[:-1], axis=2)
    return np.where(holds.any(axis=1), holds.argmax(axis=1), len(sizes) - 1)


def tokens_computed(lengths: np.ndarray, borders: Sequence[int], batch: int) -> int:
    """Count the tokens of a pass over the training examples, filler included, with batches of one class each."""
    padded = np.sort(np.asarray(borders)[np.searchsorted(borders, lengths)])
    ends = np.minimum(np.arange(0, len(lengths), batch) + batch, len(lengths))
    return int(np.diff(ends, prepend=0) @ padded[ends - 1])


def rounded(tokens: Any, unit: int) -> Any:
    """Round up to a multiple of ``unit``."""
    return -(-tokens // unit) * unit


@dataclass(frozen=True)
class ShapedRows:
    """Encoded rows, asked for by their number and that of the shape of their batch, which becomes their ``shape``."""

    rows: Any

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, drawn: tuple[int, int]) -> dict[str, Any]:
        number, shape = drawn
        return {**self.rows[number], "shape": shape}


class ShapesCollator(Collator):
    """A ``Collator`` with a few shapes: that of the rows (``ShapedRows``), or the last one.

    Args:
        collators: one for each shape.
    """

    def __init__(self, collators: Iterable[FixedCollator]) -> None:
        self.collators = tuple(collators)
        super().__init__(self.collators[-1].planner)

    def __call__(self, rows: Sequence[Mapping[str, Any]]) -> Batch:
        return self.collators[rows[0].get("shape", -1)](rows)
