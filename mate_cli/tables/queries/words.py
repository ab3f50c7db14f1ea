"""Words for columns and values: nouns made of headers, the roles of columns, shortened mentions of cells."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from random import Random

from mate_cli.tables.flagged_rows import FLAGS
from mate_cli.tables.number_words import CARDINALS, MONTH_NUMBERS
from mate_cli.tables.queries.headers import EXPANSIONS, REMARK, head_of, is_plural, plural, singular, what_of, words_of
from mate_cli.tables.queries.sheet import ColumnType, Key, Sheet, TypedColumn
from mate_cli.tables.text import normalize_for_match

_UNIT = re.compile(r"(?<=\w) in (?!the\b)[^ ]{1,8}$")
_SCALE = re.compile(r"[(\[](?:in )?(thousand|million|billion)s?[)\]]", re.IGNORECASE)
_BRACKET = re.compile(r"(?<=\w)(?=\s*[(\[]|\W*$)")  # or other marks at the end
_BOUNDS = {"from": "start", "since": "start", "to": "end", "until": "end"}
_RUNNER_UP = re.compile(r"\brunners?\b.*\bup\b", re.IGNORECASE)
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
    "won": ("wins", "games won"),
    "lost": ("losses", "games lost"),
    "drawn": ("draws", "ties"),
    "played": ("games", "games played"),
    "gold": ("gold medals", "golds"),
    "silver": ("silver medals", "silvers"),
    "bronze": ("bronze medals", "bronzes"),
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
    "jockey trainer presenter host producer goalkeeper quarterback runner-up swimmer shooter jumper representative "
    "mechanic teacher lecturer inspector designer editor organizer architect founder librarian customer client buyer "
    "seller tenant borrower"
)
_LOCATIONS = _words("location venue stadium ground site arena city town headquarters address street building")
_AREAS = _words("country nation state county region province district continent city town")
_ORIGINS = _words("country nation nationality")
_COUNTED = _words("gold silver bronze played won lost drawn")
_MONEY = _words("money earnings winnings income revenue salary pay purse prize takings proceeds wages")
_MASS = _MONEY | _words("attendance crowd population capacity enrollment turnout")
_LABELS = _words(
    "rank position number place round week game seed lane heat grid pick id season code bib group overall year "
    "episode event match stage route"
)
_LABEL_HEADS = _words(  # that are no labels before another noun: "division titles"
    "draw start finish issue edition roll car jersey shirt channel decile division tier class track order peak chart "
    "ranking volume chapter zip ref tag key sno rnd rd lvl level choice entered exited eliminated finished premiere "
    "finale series reign district ward day date opponents standings placings code type model"
) | frozenset(MONTH_NUMBERS)
QUALITIES = (
    *("waterproof", "organic", "vegetarian", "insured", "paid", "accessible", "available", "certified", "refundable"),
    *("active", "electric", "heated", "licensed", "public", "private", "free", "sold out", "full time", "retired"),
    *("open on sunday", "open at night", "open in winter", "for sale", "for rent", "on leave", "in stock"),
    *("registered", "employed", "married", "protected", "listed", "restored", "cancelled", "approved"),
    *("urgent", "remote", "wireless", "handmade", "fragile", "confirmed", "answered", "translated", "seasonal"),
    *("optional", "mandatory", "renewable", "recyclable", "furnished", "tax free", "sugar free", "dog friendly"),
)
"""Headers of columns of yes and no that say what a row is: it "is for sale"."""

POSSESSIONS = (
    *("pool", "garden", "lift", "balcony", "museum", "website", "warranty", "car park", "café", "roof", "sponsor"),
    *("restaurant", "harbour", "car", "passport", "driving licence", "pet", "contract", "shop", "library", "gym"),
)
"""Headers of such columns that say what a row has."""

KINDS = ("category", "type", "kind")
"""Headers of columns that say what kind of thing a row is."""

_KIND_HEADS = {*KINDS, "genre", "profession", "occupation", "job", "species", "discipline"}
_QUALITY = re.compile(r"(?:open|closed|for|in|on) .+|\w{3,}(?:able|ible|proof)")
_HAPPENED = re.compile(r"\w{2,}ed|built|born|begun|sold|won|lost|bought")


@dataclass(frozen=True, slots=True)
class Noun:
    """A name for a column, in lower case: for one of its cells, and for several."""

    one: str
    many: str


def noun(column: TypedColumn, random: Random) -> Noun:
    """Name a column: without remarks in brackets and abbreviations, sometimes by a synonym.

    What may name another column of the table too is avoided: "weight in kg" beside "weight in lb".
    """
    taken, amount = _taken(column.others), is_amount(column)
    text, short = _names(column.name)
    text = short if random.random() < 0.7 and singular(short) not in taken else text
    if singular(text) in taken:
        name = column.name.lower()
        bracket = _BRACKET.search(name)
        text, remark = (name, "") if bracket is None else (name[: bracket.start()], name[bracket.start() :])
        return Noun(name, (text if amount else plural(text)) + remark)
    synonyms = [word for word in _SYNONYMS.get(text, ()) if singular(word) not in taken]
    is_named = random.random() < 0.5 or (amount and text in _COUNTED)
    text = random.choice(synonyms) if synonyms and is_named else text
    if is_time(column) and not {"year", "date"} & {*text.split()}:
        unit = "year" if column.kind is ColumnType.YEAR else "date"
        if bound := _BOUNDS.get(text):
            return Noun(f"{bound} {unit}", f"{bound} {unit}s")
        if _HAPPENED.fullmatch(head(column)):
            return Noun(f"{unit} {text}", f"{unit}s {text}")
    if amount and (power := _SCALE.search(column.name)):
        text = f"{text} in {power[1].lower()}s"
    one = text if amount or is_mass(column) else singular(text)  # "earnings" are no earning
    return Noun(one, text if amount else plural(text))


@lru_cache(maxsize=1 << 12)
def _names(name: str) -> tuple[str, str]:
    """Return a header without remarks and abbreviations, and also without its unit."""
    words = words_of(REMARK.sub("", name)) or words_of(name) or [name.lower()]
    text = " ".join(EXPANSIONS.get(word, word) for word in words)
    return text, _UNIT.sub("", text)


@lru_cache(maxsize=1 << 12)
def _taken(headers: tuple[str, ...]) -> frozenset[str]:
    """Return the singulars that may name columns with these headers."""
    names = {name for header in headers for name in _names(header)}
    return frozenset(map(singular, names.union(*(_SYNONYMS.get(name, ()) for name in names))))


def is_person(column: TypedColumn) -> bool:
    return _names_person(column.name, column.is_among_persons)


def is_named(column: TypedColumn) -> bool:
    """Return whether the cells of a column are names, as far as they tell: most have no digit, and few are the same."""
    without = sum(not any(map(str.isdecimal, text)) for text in column.texts)
    return column.kind is ColumnType.TEXT and without > len(column.texts) / 2 and column.distinct > 1 / 2


def is_who(column: TypedColumn) -> bool:
    """Return whether "who" can only mean a column: it has people, and no other column of the table does."""
    return is_person(column) and not any(_names_person(other, column.is_among_persons) for other in column.others)


def _names_person(header: str, is_among_persons: bool) -> bool:
    last = singular(head_of(header))
    is_person_too = last == "name" and is_among_persons
    return last in _PEOPLE or is_person_too or _RUNNER_UP.search(header) is not None


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
    """Return whether a column of numbers counts things, of which there are many or few: points, but no attendance."""
    if column.kind is not ColumnType.NUMBER or is_label(column):
        return False
    has_unit = "(" in _SCALE.sub("", column.name) or any(mark in text for mark in "%$€£" for text in column.texts)
    return head(column) in _COUNTED or (is_plural(head(column)) and head(column) not in _MASS and not has_unit)


def is_mass(column: TypedColumn) -> bool:
    """Return whether a column of numbers measures what is added up, but not counted: attendance, money."""
    return column.kind is ColumnType.NUMBER and head(column) in _MASS and not is_label(column)


def is_money(column: TypedColumn) -> bool:
    """Return whether people ask how much of it somebody has."""
    return is_mass(column) and head(column) in _MONEY


def is_flag(column: TypedColumn) -> bool:
    """Return whether a column has yes and no, or other marks for them, and nothing else."""
    keys = {*column.keys}
    return any(keys == {*marks} or keys - {None} == {*marks} for marks in FLAGS)


def is_yes(value: Key | None) -> bool:
    """Return whether the key of a cell of a column of yes and no says yes."""
    return any(value == yes for yes, _ in FLAGS)


def is_kind(column: TypedColumn) -> bool:
    """Return whether a column says what kind of thing a row is."""
    return column.kind is ColumnType.TEXT and head(column) in _KIND_HEADS


def is_quality(header: str) -> bool:
    """Return whether a header, in lower case, says what a row may be, and not what it may have."""
    return header in QUALITIES or _QUALITY.fullmatch(header) is not None


def is_label(column: TypedColumn) -> bool:
    """Return whether the numbers of a column are names, whose sum and extremes mean nothing: ranks, weeks, days.

    That the numbers have no gap tells so too, unless the header is a plural, as of things counted.
    """
    if column.kind is not ColumnType.NUMBER:
        return False
    of_what = words_of(what_of(column.name))
    words, last = {EXPANSIONS.get(word, word) for word in of_what}, head(column)
    is_named = bool(words & _LABELS) or last in _LABEL_HEADS or "#" in column.name
    return is_named or (column.is_numbering and not is_plural(last) and last not in _COUNTED)


def head(column: TypedColumn) -> str:
    """Return the noun of a header, in lower case: "height" of "Height in cm (2020)"; "" if it has no words."""
    return head_of(column.name)


def mention(column: TypedColumn, row: int, sheet: Sheet, random: Random) -> str:
    """Return the text of a cell, sometimes as people shorten it, if no other cell of the table has the short form."""
    text = column.texts[row]
    if column.kind is ColumnType.NUMBER:
        return _number(text, random)
    if column.kind is not ColumnType.TEXT or random.random() < 0.6:
        return text.lower()
    short = normalize_for_match(REMARK.sub("", text)).strip("\"'*† ")
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
