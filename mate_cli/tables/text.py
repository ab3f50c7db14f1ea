"""Normal forms in which texts of cells and answers are compared (docs/notes.md, note 7), and sentences.

The forms of the release and of WikiTableQuestions are here, so that reading, encoding and scoring agree. HybridQA's
two forms are in ``answer_match`` and ``metrics.hybridqa``.
"""

from __future__ import annotations

import re
import unicodedata
from functools import cache, lru_cache
from typing import Any

EMPTY = "EMPTY"
"""Result of ``format_text`` for an empty text."""

_PLACEHOLDERS = ("n/a", "?")
_find_word_character = re.compile(r"[^\W_]").search
_NO_WORD = re.compile(r"[\W_]+")
_WORD_OR_MARKS = re.compile(r"\w+|[^\w\s]+")

_PLAIN = str.maketrans(dict.fromkeys("‘’´`", "'") | dict.fromkeys("“”", '"') | dict.fromkeys("‐‑‒–—−", "-"))
_FOOTNOTE_MARKS = "•♦†‡*#+"
_NUMBERED = re.compile(r"\[\d+\]")
_IN_QUOTES = re.compile(r'"[^"]*"')
_TAG = re.compile(r"<[^<>]+>")


def is_empty(text: str) -> bool:
    """Return whether a text has no letter and no digit, or is "n/a" or "?"."""
    return _find_word_character(text) is None or text.strip().lower() in _PLACEHOLDERS


def format_text(text: str) -> str:
    """Return the words in lower case with one space between them; ``EMPTY`` if ``is_empty``."""
    return EMPTY if is_empty(text) else _NO_WORD.sub(" ", text.lower()).strip()


def format_names(text: str) -> str:
    """Return ``format_text`` without accents: names are compared in this form."""
    return format_text(without_accents(text))


def normalize_for_match(text: str) -> str:
    """Lower the case and collapse white space; values are searched in this form."""
    return " ".join(text.lower().split())


def words_and_marks(text: str) -> list[str]:
    """Split the lower-cased text into runs of word characters and runs of other marks."""
    return _WORD_OR_MARKS.findall(text.lower())


def wtq_normalize(text: str) -> str:
    """Normalize a cell or answer of WikiTableQuestions as the release does: the official form without HTML tags."""
    return _TAG.sub("", wtq_official_form(text))


def wtq_official_form(text: str) -> str:
    """Normalize a text as WikiTableQuestions' official evaluator does before it compares answers.

    Remove accents and make quotes and dashes plain; then remove from the end, repeatedly, what Wikipedia adds:
    footnote marks, remarks in brackets, a pair of quotes around the text. Last, remove one final full stop, lower the
    case and collapse white space.
    """
    text = without_accents(text).translate(_PLAIN)
    while (shorter := _without_additions(text)) != text:
        text = shorter
    return normalize_for_match(text.removesuffix("."))


def without_accents(text: str) -> str:
    """Return the letters without their marks; characters that stand for others, like "ﬁ", become those (NFKD)."""
    if text.isascii():
        return text
    decomposed = unicodedata.normalize("NFKD", text)
    return "".join(mark for mark in decomposed if unicodedata.category(mark) != "Mn")


def convert_to_float(text: str) -> float:
    """Convert a text to a number and read its commas and dots as the release does.

    Commas separate thousands next to a dot, if a part has three digits ("100,00" is 10000), or if there are several;
    otherwise a single comma is the decimal one. Several dots are all dropped. Any text that Python's ``float`` reads is
    a number, "nan" and "inf" included.

    Raises:
        ValueError: the text is not a number.
    """
    parts = text.split(",")
    if "." not in text and len(parts) == 2 and all(len(part) != 3 for part in parts):
        return float(".".join(parts))
    if len(parts) == 1 and text.count(".") > 1:
        return float(text.replace(".", ""))
    return float("".join(parts))


def split_sentences(text: str) -> list[str]:
    """Split an English text by Punkt with NLTK's parameters into stripped sentences, none of them empty."""
    stripped = (sentence.strip() for sentence in _punkt().tokenize(text))
    return [sentence for sentence in stripped if sentence]


@cache
def _punkt() -> Any:
    from punkt import PunktSentenceTokenizer, load_model

    return PunktSentenceTokenizer(load_model("english"))


@lru_cache(maxsize=1 << 18)
def stem(word: str) -> str:
    """Return the stem of an English word in lower case by Porter's algorithm, as in the release."""
    return str(_stemmer().stem(word))


@cache
def _stemmer() -> Any:
    from nltk.stem.porter import PorterStemmer  # imports much

    return PorterStemmer()


def _without_additions(text: str) -> str:
    text = _without_remarks(_without_footnotes(text.strip()).strip()).strip()
    return text[1:-1] if _IN_QUOTES.fullmatch(text) else text


# Brackets are removed one at a time from the end: a regular expression that ends in "$" searches from each bracket to
# the end of the text, and takes minutes for 100 kB of "[a]".


def _without_footnotes(text: str) -> str:
    """Remove marks and "[...]" from the end; brackets around the whole text stay unless they hold a number."""
    end = len(text)
    while end:
        if text[end - 1] in _FOOTNOTE_MARKS:
            end -= 1
            continue
        start = _opening(text, "[", "]", end)
        if start == 0 and not _NUMBERED.fullmatch(text, 0, end):
            start = text.find("[", 1, end)
        if start < 0:
            break
        end = start
    return text[:end]


def _without_remarks(text: str) -> str:
    """Remove " (...)" from the end of a text that does not begin with a blank."""
    end = len(text)
    while (start := _opening(text, " (", ")", end)) >= 0:
        end = start
    return text[:end]


def _opening(text: str, opening: str, closing: str, end: int) -> int:
    """Return the start of the bracket that closes at ``end``, after the last closing one before; -1 if none."""
    if not text.endswith(closing, 0, end):
        return -1
    return text.find(opening, text.rfind(closing, 0, end - 1) + 1, end - 1)
