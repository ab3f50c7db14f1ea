"""Make false twins of sentences about a table by exchanging a value for another of its column (docs/notes.md, 22)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from random import Random

from mate_cli.tables.statements.references import Mention, Mentions, Reference, references_of, tokens_of
from mate_cli.tables.table import Coordinate, Table
from mate_cli.tables.text import split_sentences

_MIN_UNCHANGED = 4


@dataclass(frozen=True, slots=True)
class Counterfactual:
    """A sentence and its false twin.

    Attributes:
        sentence: mentions the cell ``focus`` by one of its names; twin: the same sentence with ``negative``.
        negative: text of another cell of that column, not mentioned in the text around the sentence.
        supports: other cells of the focus's row that the sentence mentions.
    """

    sentence: str
    twin: str
    focus: Coordinate
    negative: str
    supports: tuple[Coordinate, ...]


def counterfactuals(table: Table, texts: Iterable[str], random: Random) -> list[Counterfactual]:
    """Return the sentences that mention two cells of a row, with their twins, no twin twice.

    Unlike the release, it finds entities by the names that the table has for them, because texts have no links, and it
    takes no negative whose row has all the supports too, because the twin may be true.

    Args:
        table: with links; a cell needs one, or a number or a date, to be mentioned.
    """
    references = references_of(table)
    writer = _Writer(references, Mentions(references), random)
    by_twin: dict[str, Counterfactual] = {}
    for text in texts:
        for pair in writer.of_text(text):
            by_twin.setdefault(pair.twin, pair)
    return list(by_twin.values())


@dataclass(frozen=True, slots=True)
class _Writer:
    references: list[Reference]
    mentions: Mentions
    random: Random

    def of_text(self, text: str) -> Iterator[Counterfactual]:
        hinted = self.mentions.hinted(text)
        rows = Counter(row for reference in hinted for row in reference.rows)
        if max(rows.values(), default=0) < 2:  # no focus has a support
            return
        for paragraph in text.split("\n"):
            for sentence in split_sentences(paragraph):
                yield from self._of_sentence(sentence, hinted)

    def _of_sentence(self, sentence: str, hinted: set[Reference]) -> Iterator[Counterfactual]:
        mentions = self.mentions.find(sentence)
        for focus in dict.fromkeys(mention.reference for mention in mentions):
            replaced = [mention for mention in mentions if mention.reference == focus]
            if _unchanged(sentence, replaced) < _MIN_UNCHANGED:
                continue
            for row in sorted(focus.rows):
                supports = [m.reference for m in mentions if m.reference != focus and row in m.reference.rows]
                if supports and (negatives := self._negatives(focus, supports, hinted)):
                    yield self._pair(sentence, replaced, focus, row, supports, negatives)

    def _negatives(self, focus: Reference, supports: list[Reference], hinted: set[Reference]) -> list[str]:
        """Return the texts that may replace the focus, sorted."""
        supported = frozenset.intersection(*(support.rows for support in supports))
        return sorted(
            name
            for other in self.references
            if (other.kind, other.column) == (focus.kind, focus.column) and other != focus and other not in hinted
            for name in other.names
            if not other.rows & supported and name not in focus.names
        )

    def _pair(
        self,
        sentence: str,
        replaced: list[Mention],
        focus: Reference,
        row: int,
        supports: list[Reference],
        negatives: list[str],
    ) -> Counterfactual:
        negative, positive = self.random.choice(negatives), self.random.choice(focus.names)
        return Counterfactual(
            _replace(sentence, replaced, positive),
            _replace(sentence, replaced, negative),
            (row, focus.column),
            negative,
            tuple(sorted({(row, support.column) for support in supports})),
        )


def _unchanged(sentence: str, replaced: list[Mention]) -> int:
    """Count the distinct tokens outside the mentions to replace."""
    kept = (
        token.text
        for token in tokens_of(sentence)
        if not any(mention.begin <= token.begin < mention.end for mention in replaced)
    )
    return len(set(kept))


def _replace(sentence: str, mentions: list[Mention], text: str) -> str:
    """Replace mentions, given left to right, by a text."""
    for mention in reversed(mentions):
        sentence = sentence[: mention.begin] + text + sentence[mention.end :]
    return sentence
