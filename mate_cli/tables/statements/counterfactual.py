"""Sentences that speak of a table, each beside the same with a value exchanged for another of its column (spec 5.3)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from random import Random

from mate_cli.tables.statements.references import Mention, Mentions, Reference, references_of, tokens_of
from mate_cli.tables.table import Coordinate, Table
from mate_cli.tables.text import split_sentences

_FEWEST_UNCHANGED = 4


@dataclass(frozen=True, slots=True)
class Counterfactual:
    """A sentence and its false twin.

    Attributes:
        sentence: says something of the cell ``focus``, by one of its names; twin: the same by ``negative``.
        negative: the text of a cell of that column that the text around the sentence does not mention.
        supports: cells of the focus's row that the sentence mentions too.
    """

    sentence: str
    twin: str
    focus: Coordinate
    negative: str
    supports: tuple[Coordinate, ...]


def counterfactuals(
    table: Table, texts: Iterable[str], random: Random, drop_without_support: float = 1.0
) -> list[Counterfactual]:
    """The sentences of some texts that mention the table, with their twins, no twin twice.

    Where it differs from the release: entities are found in the texts by the names that the table has for them, as
    texts come without links; and a negative whose row has all the supports as well, of which the twin may be as true,
    is not taken.

    Args:
        table: with links; cells without one, that are no number and no date, are not spoken of.
        drop_without_support: how likely a sentence is left out that mentions nothing else of the focus's row.
    """
    references = references_of(table)
    writer = _Writer(references, Mentions(references), random, drop_without_support)
    found: dict[str, Counterfactual] = {}
    for text in texts:
        for own in writer.of_text(text):
            found.setdefault(own.twin, own)
    return list(found.values())


@dataclass(frozen=True, slots=True)
class _Writer:
    references: list[Reference]
    mentions: Mentions
    random: Random
    drop_without_support: float

    def of_text(self, text: str) -> Iterator[Counterfactual]:
        hinted = self.mentions.hinted(text)
        rows = Counter(row for reference in hinted for row in reference.rows)
        if max(rows.values(), default=0) < 1 + (self.drop_without_support == 1):  # no focus has a support
            return
        for paragraph in text.split("\n"):
            for sentence in split_sentences(paragraph):
                yield from self._of_sentence(sentence, hinted)

    def _of_sentence(self, sentence: str, hinted: set[Reference]) -> Iterator[Counterfactual]:
        mentions = self.mentions.find(sentence)
        for focus in dict.fromkeys(mention.reference for mention in mentions):
            own = [mention for mention in mentions if mention.reference == focus]
            if _unchanged(sentence, own) < _FEWEST_UNCHANGED:
                continue
            for row in sorted(focus.rows):
                supports = [m.reference for m in mentions if m.reference != focus and row in m.reference.rows]
                negatives = self._negatives(focus, supports, hinted)
                if negatives and (supports or self.random.random() >= self.drop_without_support):
                    yield self._written(sentence, own, focus, row, supports, negatives)

    def _negatives(self, focus: Reference, supports: list[Reference], hinted: set[Reference]) -> list[str]:
        """The texts that may stand in the place of the focus, sorted."""
        also = frozenset.intersection(*(support.rows for support in supports)) if supports else frozenset[int]()
        return sorted(
            name
            for other in self.references
            if (other.kind, other.column) == (focus.kind, focus.column) and other != focus and other not in hinted
            for name in other.names
            if not other.rows & also and name not in focus.names
        )

    def _written(
        self,
        sentence: str,
        own: list[Mention],
        focus: Reference,
        row: int,
        supports: list[Reference],
        negatives: list[str],
    ) -> Counterfactual:
        negative, positive = self.random.choice(negatives), self.random.choice(focus.names)
        return Counterfactual(
            _replaced(sentence, own, positive),
            _replaced(sentence, own, negative),
            (row, focus.column),
            negative,
            tuple(sorted({(row, support.column) for support in supports})),
        )


def _unchanged(sentence: str, replaced: list[Mention]) -> int:
    """How many different tokens stand outside of some mentions."""
    kept = (
        token.text
        for token in tokens_of(sentence)
        if not any(mention.begin <= token.begin < mention.end for mention in replaced)
    )
    return len(set(kept))


def _replaced(sentence: str, mentions: list[Mention], text: str) -> str:
    """The sentence with a text in the place of some mentions, which come left to right."""
    for mention in reversed(mentions):
        sentence = sentence[: mention.begin] + text + sentence[mention.end :]
    return sentence
