"""English sentences by Punkt, with the parameters that NLTK's ``punkt`` ships (spec 4.3)."""

from __future__ import annotations

from functools import cache

from punkt import PunktSentenceTokenizer, load_model


@cache
def _splitter() -> PunktSentenceTokenizer:
    return PunktSentenceTokenizer(load_model("english"))


def split_sentences(text: str) -> list[str]:
    """The sentences of a text, stripped, in order; none is empty."""
    stripped = (sentence.strip() for sentence in _splitter().tokenize(text))
    return [sentence for sentence in stripped if sentence]
