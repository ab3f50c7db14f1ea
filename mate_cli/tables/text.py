"""Texts of cells and answers in the normal forms in which they are compared (spec 6.3).

Each task compares texts in its own way; those of the release and of WikiTableQuestions are here, so that reading,
encoding and scoring mean the same. HybridQA's is beside its search, in ``answer_match``.
"""

from __future__ import annotations

import re
import unicodedata

EMPTY = "EMPTY"
"""What ``format_text`` makes of a text that says nothing."""

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
    """Whether a text says nothing: it has no letter and no digit, or is "n/a" or "?"."""
    return _find_word_character(text) is None or text.strip().lower() in _PLACEHOLDERS


def format_text(text: str) -> str:
    """The words in lower case with one space between them; ``EMPTY`` where ``is_empty``."""
    return EMPTY if is_empty(text) else _NO_WORD.sub(" ", text.lower()).strip()


def normalize_for_match(text: str) -> str:
    """Lower case, every run of blanks one space, none at the ends: the form in which values are looked for."""
    return " ".join(text.lower().split())


def words_and_marks(text: str) -> list[str]:
    """The runs of word characters and the runs of other marks in the lower-cased text, in order."""
    return _WORD_OR_MARKS.findall(text.lower())


def wtq_normalize(text: str) -> str:
    """The release's normal form of WikiTableQuestions' cells and answers: the official one without HTML tags."""
    return _TAG.sub("", wtq_official_form(text))


def wtq_official_form(text: str) -> str:
    """The normal form in which WikiTableQuestions' official evaluator compares answers.

    Accents go, quotes and dashes become plain; then what Wikipedia adds goes from the end, again and again: footnote
    marks, remarks in brackets, a pair of quotes around all. At last go one final full stop, capitals and runs of
    blanks.
    """
    decomposed = unicodedata.normalize("NFKD", text)
    text = "".join(mark for mark in decomposed if unicodedata.category(mark) != "Mn").translate(_PLAIN)
    while (shorter := _without_additions(text)) != text:
        text = shorter
    return normalize_for_match(text.removesuffix("."))


def convert_to_float(text: str) -> float:
    """The number that a text is, its commas and dots understood as the release does.

    Beside a dot, commas part thousands. So they do alone if any part has three digits ("100,00" is 10000), or if there
    are several; one comma else is the decimal one. Several dots are all left out. What Python's ``float`` reads is a
    number, "nan" and "inf" too.

    Raises:
        ValueError: it is no number.
    """
    parts = text.split(",")
    if "." not in text and len(parts) == 2 and all(len(part) != 3 for part in parts):
        return float(".".join(parts))
    if len(parts) == 1 and text.count(".") > 1:
        return float(text.replace(".", ""))
    return float("".join(parts))


def _without_additions(text: str) -> str:
    text = _without_remarks(_without_footnotes(text.strip()).strip()).strip()
    return text[1:-1] if _IN_QUOTES.fullmatch(text) else text


# From the end, a mark at a time: a regular expression that ends in "$" looks on from each mark of a long text to its
# end, and takes minutes for 100 kB of "[a]".


def _without_footnotes(text: str) -> str:
    """The text without marks and "[...]" at its end; such brackets are not all of the text, but for a number's."""
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
    """The text, which does not begin with a blank, without " (...)" at its end."""
    end = len(text)
    while (start := _opening(text, " (", ")", end)) >= 0:
        end = start
    return text[:end]


def _opening(text: str, opening: str, closing: str, end: int) -> int:
    """Where the brackets begin that end at ``end``, as early as no other ones end between; -1 where there are none."""
    if not text.endswith(closing, 0, end):
        return -1
    return text.find(opening, text.rfind(closing, 0, end - 1) + 1, end - 1)
