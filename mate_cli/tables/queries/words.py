"""Words for columns and values: nouns made of headers, the roles of columns, shortened mentions of cells."""

from __future__ import annotations

import re
from dataclasses import dataclass
from random import Random

from mate_cli.tables.number_words import CARDINALS
from mate_cli.tables.queries.sheet import ColumnType, Sheet, TypedColumn
from mate_cli.tables.text import normalize_for_match

_REMARK = re.compile(r"\s*[(\[][^()\[\]]*[)\]]")
_UNIT = re.compile(r"(?<=\w) in (?!the\b)[^ ]{1,8}$")
_MARKS = re.compile(r"[/_|*#]+|\s+-+\s+")
_EXPANSIONS = {
    "no": "number",
    "no.": "number",
    "nr": "number",
    "pos": "position",
    "pos.": "position",
    "pts": "points",
    "pts.": "points",
    "pl": "games",
    "nat": "nationality",
    "dept": "department",
    "yr": "year",
    "yrs": "years",
    "pop": "population",
    "pop.": "population",
    "avg": "average",
    "min": "minutes",
    "comp": "competition",
    "div": "division",
    "const": "constructor",
}
_SYNONYMS = {
    "attendance": ("attendance", "crowd"),
    "crowd": ("crowd", "attendance"),
    "opponent": ("opponent", "opposing team"),
    "venue": ("venue", "place", "location"),
    "location": ("location", "place"),
    "nation": ("nation", "country"),
    "country": ("country", "nation"),
    "nationality": ("nationality", "country"),
    "club": ("club", "team"),
    "title": ("title", "name"),
    "built": ("year built",),
    "won": ("wins", "games won"),
    "lost": ("losses", "games lost"),
    "drawn": ("draws", "ties"),
    "played": ("games", "games played"),
    "gold": ("gold medals", "golds"),
    "silver": ("silver medals", "silvers"),
    "bronze": ("bronze medals", "bronzes"),
    "total": ("total", "overall total"),
    "athlete": ("athlete", "competitor"),
    "stadium": ("stadium", "arena"),
    "height": ("height",),
}


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_PEOPLE = _words(
    "player driver rider athlete coach director artist actor actress candidate author writer swimmer skater manager "
    "champion gymnast pilot president mayor composer singer cyclist golfer competitor contestant governor senator "
    "member incumbent winner wrestler fencer rower judge captain minister bishop king queen owner astronaut skipper "
    "jockey trainer presenter host producer goalkeeper quarterback runner-up swimmer shooter jumper representative"
)
_LOCATIONS = _words("location venue stadium ground site arena city town headquarters")
_AREAS = _words("country nation state county region province district continent city town")
_ORIGINS = _words("country nation nationality")
_AMOUNTS = _words("attendance crowd population capacity enrollment total gold silver bronze played won lost drawn")
_LABELS = _words(
    "rank position number place round week game seed lane heat grid pick id season code bib group overall year "
    "episode event match stage route"
)
_INVARIABLE = _words("series species people men women fish aircraft points")


@dataclass(frozen=True, slots=True)
class Noun:
    """A name for a column, in lower case: for one of its cells, and for several."""

    one: str
    many: str


def noun(column: TypedColumn, random: Random) -> Noun:
    """Name a column: without remarks in brackets and abbreviations, sometimes by a synonym."""
    words = _words_of(_REMARK.sub("", column.name)) or _words_of(column.name) or [column.name.lower()]
    text = " ".join(_EXPANSIONS.get(word, word) for word in words)
    text = _UNIT.sub("", text) if random.random() < 0.7 else text
    synonyms = _SYNONYMS.get(text, ())
    text = random.choice(synonyms) if synonyms and random.random() < 0.5 else text
    return Noun(text, text) if is_amount(column) else Noun(singular(text), plural(text))


def plural(text: str) -> str:
    """Return the plural of a noun phrase, which may be a plural already."""
    if text.rpartition(" ")[2] in _INVARIABLE or re.search("[^su]s$", text):
        return text
    if re.search("[^aeiou]y$", text):
        return text[:-1] + "ies"
    return text + ("es" if text.endswith(("s", "x", "ch", "sh")) else "s")


def singular(text: str) -> str:
    """Return the singular of a noun phrase, which may be a singular already."""
    if text.rpartition(" ")[2] in _INVARIABLE or not re.search("[^sui]s$", text):
        return text
    if text.endswith("ies"):
        return text[:-3] + "y"
    return text[:-2] if text.endswith(("xes", "ches", "shes", "sses")) else text[:-1]


def is_person(column: TypedColumn) -> bool:
    last = singular(head(column))
    return last in _PEOPLE or (last == "name" and column.is_among_persons)


def is_location(column: TypedColumn) -> bool:
    return column.kind is ColumnType.TEXT and head(column) in _LOCATIONS


def is_area(column: TypedColumn) -> bool:
    return column.kind is ColumnType.TEXT and head(column) in _AREAS


def is_origin(column: TypedColumn) -> bool:
    return column.kind is ColumnType.TEXT and head(column) in _ORIGINS


def is_place(column: TypedColumn) -> bool:
    return is_location(column) or is_area(column) or is_origin(column)


def is_time(column: TypedColumn) -> bool:
    return column.kind in (ColumnType.YEAR, ColumnType.DATE)


def is_amount(column: TypedColumn) -> bool:
    """Return whether a column of numbers counts things: "points", "attendance"."""
    if column.kind is not ColumnType.NUMBER or is_label(column):
        return False
    last = head(column)
    return last in _AMOUNTS or (
        last != "" and last == plural(last) and "(" not in column.name and "%" not in column.texts[0]
    )


def is_label(column: TypedColumn) -> bool:
    """Return whether the numbers of a column are names, whose sum and extremes mean nothing: ranks, weeks."""
    words = {_EXPANSIONS.get(word, word) for word in _words_of(column.name)}
    return column.kind is ColumnType.NUMBER and (bool(words & _LABELS) or "#" in column.name)


def head(column: TypedColumn) -> str:
    """Return the noun of a header, in lower case: "height" of "Height in cm (2020)"; "" if it has no words."""
    words = _words_of(_REMARK.sub("", column.name))
    unit = words.index("in") if "in" in words[1:] else len(words)
    return words[unit - 1] if words else ""


def _words_of(name: str) -> list[str]:
    return _MARKS.sub(" ", name).lower().split()


def mention(column: TypedColumn, row: int, sheet: Sheet, random: Random) -> str:
    """Return the text of a cell, sometimes as people shorten it, if no other cell of the table has the short form."""
    text = column.texts[row]
    if column.kind is ColumnType.NUMBER:
        return _number(text, random)
    if column.kind is not ColumnType.TEXT or random.random() < 0.6:
        return text.lower()
    short = normalize_for_match(_REMARK.sub("", text)).strip("\"'*† ")
    words = short.split()
    if is_person(column) and len(words) == 2 and random.random() < 0.3:
        short = words[1]
    full = normalize_for_match(text)
    is_clear = len(short) > 2 and not any(short in other for other in sheet.places if other != full)
    return short if is_clear else full


def _number(text: str, random: Random) -> str:
    words = {str(number): word for word, number in CARDINALS.items()}
    if text in words and int(text) <= 12 and random.random() < 0.3:
        return words[text]
    return text.replace(",", "") if random.random() < 0.3 else text.lower()
