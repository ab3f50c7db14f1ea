"""Accuracy by group of questions: by table size, length of the question, place in its conversation, kind of answer."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from mate_cli.analysis.outcomes import Outcomes
from mate_cli.kinds.entailment import LABELS
from mate_cli.metrics.statistics import Interval, mean_interval
from mate_cli.tables.aggregation import NONE
from mate_cli.tables.table import Example

Place = tuple[int, str]
"""The place of a group among those beside it, and its name."""


@dataclass(frozen=True)
class QuestionGroup:
    """
    Attributes:
        by: what the questions are grouped by.
        name: which of them these are.
        accuracy: between 0 and 1, with a 95% interval; questions of a conversation are drawn together.
    """

    by: str
    name: str
    questions: int
    accuracy: Interval


@dataclass(frozen=True)
class Breakdown:
    """
    Attributes:
        measure: name of the measure that ``accuracy`` is; a question that did not fit counts as wrong.
        groups: all questions first; nothing where all questions would be in one group. Questions with certain words can
            be in several groups, or in none.
    """

    measure: str
    groups: tuple[QuestionGroup, ...]


def break_down(outcomes: Outcomes) -> Breakdown:
    """Measure each group of questions by the first measure of the answers."""
    name, values = next(iter(outcomes.measures().items()))
    drawn = outcomes.groups().get(name)

    def group(by: str, name: str, chosen: Sequence[int]) -> QuestionGroup:
        interval = mean_interval(values[chosen], None if drawn is None else drawn[chosen])
        return QuestionGroup(by, name, len(chosen), interval)

    numbers = range(len(outcomes.examples))
    groups = [group(by, name, chosen) for by, name, chosen in _groups(outcomes)]
    return Breakdown(name, (group("all", "", numbers), *groups))


def _groups(outcomes: Outcomes) -> Iterator[tuple[str, str, list[int]]]:
    """Yield what the questions are grouped by, the name of a group, and the numbers of its questions."""
    for by, place in _PLACES.items():
        places = [place(example) for example in outcomes.examples]
        yield from _by_place(by, places)
    chosen = [outcomes.records.get(example.id, {}).get("aggregation") for example in outcomes.examples]
    yield from _by_place("operator chosen", [None if name is None else (0, name) for name in chosen])
    for words, pattern in _ASKED.items():
        numbers = [number for number, example in enumerate(outcomes.examples) if pattern.search(example.question)]
        if numbers:
            yield "words in the question", words, numbers


def _by_place(by: str, places: Sequence[Place | None]) -> Iterator[tuple[str, str, list[int]]]:
    known = sorted({place for place in places if place is not None})
    if len(known) > 1:
        for wanted in known:
            yield by, wanted[1], [number for number, place in enumerate(places) if place == wanted]


def _binned(value: int, ends: Sequence[int]) -> Place:
    """The bin of a count; each bin ends at, and includes, one of ``ends``."""
    number = bisect_left(ends, value)
    if number == len(ends):
        return number, f"over {ends[-1]}"
    start = ends[number - 1] + 1 if number else min(1, value)
    return number, f"{start} to {ends[number]}"


def _turn(example: Example) -> Place | None:
    return (example.position, str(example.position + 1)) if example.conversation else None


def _answer(example: Example) -> Place:
    if example.label is not None:
        return 0, LABELS[example.label]
    if example.operator not in (None, NONE.name):
        return 3, f"{example.operator} of cells"
    if not example.candidates:
        return 2, "in no cell, or not known where"
    return (0, "in one cell") if len(example.candidates) == 1 else (1, "in several cells")


def _named(name: Callable[[Example], str]) -> Callable[[Example], Place | None]:
    return lambda example: (0, name(example)) if name(example) else None


_PLACES: Mapping[str, Callable[[Example], Place | None]] = {
    "question of the conversation": _turn,
    "answer": _answer,
    "official class": _named(lambda example: example.subset or ", ".join(example.groups)),
    "kind of question": _named(lambda example: example.reasoning),
    "rows of the table": lambda example: _binned(example.table.num_rows, (5, 10, 20, 50)),
    "columns of the table": lambda example: _binned(example.table.num_columns, (4, 6, 8, 12)),
    "words of the question": lambda example: _binned(len(example.question.split()), (5, 10, 15, 20)),
}

# Words by which people ask for what data sets without kinds of questions do not name.
_ASKED = {
    words: re.compile(rf"\b({pattern})\b", re.IGNORECASE)
    for words, pattern in {
        "before, after, next, above, below": "before|after|next|previous|prior|following|above|below",
        "first, last, most, least, -est": "first|last|most|least|fewest|top|"
        "(high|low|larg|small|long|short|old|young|tall)est",
        "how many": "how many|number of",
        "total, average, combined": "total|average|combined|altogether|in all",
        "difference, how much more": "difference|how (many|much) (more|less|fewer|longer|higher|larger|taller|older)",
        "more than, less than, at least": "(more|less|fewer|greater) than|at least|at most|over|under",
        "same": "same",
        "or": "or",
        "is, was, did at the start": "^(is|are|was|were|did|does|do|has|have)",
    }.items()
}
