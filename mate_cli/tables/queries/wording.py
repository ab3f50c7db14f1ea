"""Wording of conditions, superlatives and questions for a column, and the noise of typed questions."""

from __future__ import annotations

import re
from dataclasses import dataclass
from random import Random

from mate_cli.tables.queries.scales import began, more
from mate_cli.tables.queries.sheet import ColumnType, TypedColumn
from mate_cli.tables.queries.verbs import verb_of
from mate_cli.tables.queries.words import (
    Noun,
    head,
    is_amount,
    is_area,
    is_flag,
    is_location,
    is_origin,
    is_person,
    is_quality,
    is_time,
    is_who,
    is_yes,
    noun,
)

_ARTICLE = re.compile(r"\b(the|a|an) ")
# These headers take their values after them.
_BY = re.compile(r"\w{2,}(?:ed|ing|ten|ilt) (?:by|at|in|on|to|from|for)|from")
_WORD = re.compile(r"[a-z]{5,}")
_PERIOD = re.compile(r"\d{4}|[a-z]+(?: \d{4})?")  # a year or a month
_MORE = {">": ("more than", "over", "greater than"), ">=": ("at least",)}
_LESS = {"<": ("less than", "fewer than", "under"), "<=": ("at most", "no more than")}
_PLURALS = {"is": "are", "was": "were", "has": "have", "comes": "come"}
_LATEST, _EARLIEST = ("latest", "most recent"), ("earliest",)
_MOST = ("most", "most", "highest number of", "greatest number of", "highest amount of", "largest number of")
_FEWEST = ("least", "fewest", "fewest", "lowest number of", "smallest number of", "least amount of")
_HIGHEST, _LOWEST = ("highest", "largest", "greatest"), ("lowest", "smallest")
_EXTENTS = {"time", "duration", "runtime", "length", "distance"}  # long or short, where the higher need not be better
_WITHOUT_ARTICLE = {"money", "earnings", "winnings", "takings", "proceeds", "wages", "income"}
_WHO = 0.6
_NOISE = {"article": 0.04, "mark": 0.1, "typo": 0.02}


@dataclass(frozen=True, slots=True)
class Phrase:
    """A condition in words: "had 5 points", and "with 5 points"; or "is owned by ann", "owned by ann", and the end of a
    question alone, "does ann own".
    """

    verb: str
    attribute: str
    ending: str | None = None


def condition(
    column: TypedColumn, sign: str, value: str, named: bool, adjectives: tuple[str, str] | None, random: Random
) -> Phrase:
    """Word a comparison with a value.

    Args:
        sign: one of SQL's; named: name the column, as its values do not tell: "in a year after 1990", "after 1990".
        adjectives: those of a high and of a low value of the column, if it has some.
    """
    name = noun(column, random)
    if sign == "!=" and is_flag(column):
        return _flagged(column, name.one, not is_yes(value))
    if sign in ("=", "!="):
        phrase = _equal(column, name, value, named, random)
        if sign == "=":
            return phrase
        if _BY.fullmatch(by := column.name.lower()):
            return Phrase(f"was not {by} {value}", f"not {by} {value}")
        return Phrase(
            f"did not have {_a(name.one)} of {value}",
            f"with {_a(name.one)} other than {value}",
        )
    if is_time(column):
        word = {">": "after", "<": "before", ">=": "in or after", "<=": "in or before"}[sign]
        if (verb := began(column)) is not None and random.random() < 0.7:
            return Phrase(f"{verb} {word} {value}", f"that {verb} {word} {value}")
        if named:
            return Phrase(f"had {_a(name.one)} {word} {value}", f"with {_a(name.one)} {word} {value}")
        return Phrase(f"{random.choice(('was', 'came', 'is dated'))} {word} {value}", f"{word} {value}")
    if adjectives is not None and len(sign) == 1 and random.random() < 0.5:
        than = f"{more(adjectives[sign == '<'])} than {value}"
        return Phrase(f"{random.choice(('is', 'was'))} {than}", than)
    words = random.choice((_MORE | _LESS)[sign])
    if is_amount(column):
        amount = f"{words} {value} {name.many}"
        return Phrase(f"{random.choice(('had', 'has', 'have'))} {amount}", f"with {amount}")
    words = random.choice(("above", "over", "higher than")) if sign == ">" else words
    words = random.choice(("below", "under", "lower than")) if sign == "<" else words
    return Phrase(f"had {_a(name.one)} {_of(words)}{value}", f"with {_a(name.one)} {_of(words)}{value}")


def between(column: TypedColumn, low: str, high: str, named: bool, random: Random) -> Phrase:
    """Word that a cell is between two values, with both.

    Args:
        named: name the column of times, as another may be meant.
    """
    limits, name = f"between {low} and {high}", noun(column, random)
    if is_time(column) and not named:
        if (verb := began(column)) is not None:
            return Phrase(f"{verb} {limits}", f"that {verb} {limits}")
        return Phrase(f"{random.choice(('was', 'is'))} {limits}", limits)
    if is_amount(column):
        return Phrase(f"{random.choice(('had', 'has', 'have'))} {limits} {name.many}", f"with {limits} {name.many}")
    return Phrase(f"had {_a(name.one)} {limits}", f"with {_a(name.one)} {limits}")


def _of(words: str) -> str:
    return f"of {words} " if words.startswith(("at", "no")) else f"{words} "


def _equal(column: TypedColumn, name: Noun, value: str, named: bool, random: Random) -> Phrase:
    if is_amount(column):
        verb = random.choice(("had", "has", "have"))
        return Phrase(f"{verb} {value} {name.many}", f"with {value} {name.many}")
    if value.split()[:-1] == name.one.split():  # "round 11" says what it is
        return Phrase(f"is listed with {value}", f"with {value}")
    choices = [
        Phrase(f"had {_a(name.one)} of {value}", f"with {_a(name.one)} of {value}"),
        Phrase(f"has {value} as {_a(name.one)}", f"with {value} as the {name.one}"),
        Phrase(f"is listed with the {name.one} {value}", f"whose {name.one} is {value}"),
        Phrase(f"had the {name.one} {value}", f"with the {name.one} {value}"),
    ]
    if _BY.fullmatch(by := column.name.lower()):
        taken = [Phrase(f"was {by} {value}", f"{by} {value}")] * 4
        return random.choice(taken + choices if by.endswith(" by") and name.one != by else taken)
    if is_flag(column) and (is_yes(value) or None not in column.keys):  # an empty cell may be "without" it too
        return _flagged(column, name.one, is_yes(value))
    if (of_people := verb_of(column)) is not None:
        done, ending = f"{of_people.participle} by {value}", f"{of_people.auxiliary} {value} {of_people.base}"
        return random.choice([Phrase(f"{random.choice(('is', 'was'))} {done}", done, ending)] * 4 + choices)
    if named:
        if column.kind is ColumnType.DATE and _PERIOD.fullmatch(value):
            return Phrase(f"had {_a(name.one)} in {value}", f"with {_a(name.one)} in {value}")
        return random.choice(choices)
    if is_origin(column):
        choices = [
            Phrase(f"{random.choice(('is', 'was', 'came', 'comes'))} from {value}", f"from {value}")
        ] * 3 + choices[:1]
    elif is_time(column) or is_location(column) or is_area(column):
        word = "in" if column.kind is not ColumnType.DATE or _PERIOD.fullmatch(value) else "on"
        verb = random.choice(("was", "is") if is_time(column) else ("was", "is", "is located"))
        verb = began(column) or verb
        choices = [Phrase(f"{verb} {word} {value}", f"{word} {value}")] * 3 + choices[:2]
    elif _is_quality(column, value) and random.random() < 0.4:
        choices = [Phrase(f"{random.choice(('is', 'was'))} {value}", f"that {random.choice(('is', 'was'))} {value}")]
    return random.choice(choices)


def _flagged(column: TypedColumn, name: str, is_said: bool) -> Phrase:
    """Word that a row is, or has, what a column of yes and no says."""
    if is_quality(quality := column.name.lower()):
        verb = "is" if is_said else "is not"
        return Phrase(f"{verb} {quality}", f"that {verb} {quality}")
    return Phrase(f"has {_a(name)}", f"with {_a(name)}") if is_said else Phrase(f"has no {name}", f"without {_a(name)}")


def _is_quality(column: TypedColumn, value: str) -> bool:
    """Return whether a row may be said to *be* a value: one word that several rows share, as "professional"."""
    is_shared = sum(text.lower() == value for text in column.texts) > 1
    return column.kind is ColumnType.TEXT and is_shared and value.isalpha() and not is_person(column)


def asked(column: TypedColumn, random: Random) -> str:
    """Return what a question about one cell of a column begins with, before a verb: "who", "which team"."""
    name = noun(column, random).one
    choices = (
        [f"which {name}"] * 6 + [f"what {name}"] * 4 + [f"what is the {name} that", f"{tell(name)} the {name} that"]
    )
    return "who" if is_who(column) and random.random() < _WHO else random.choice(choices)


def tell(name: str) -> str:
    """Return a verb for "tell me": "name the team", but "give the name"."""
    return "give" if "name" in name else "name"


def superlative(column: TypedColumn, highest: bool, random: Random) -> str:
    """Word an extreme of a column, after "had": "the most points", "the earliest date"."""
    name = noun(column, random)
    if is_time(column):
        words = [*(_LATEST if highest else _EARLIEST)]
        if column.is_sorted:  # otherwise "first" and "last" would rather be the ends of the list
            words.append("last" if highest else "first")
        return f"the {random.choice(words)} {name.one}"
    if is_amount(column):
        return f"the {random.choice(_MOST if highest else _FEWEST)} {name.many}"
    if head(column) in _EXTENTS:
        return f"the {'longest' if highest else 'shortest'} {name.one}"
    return f"the {random.choice(_HIGHEST if highest else _LOWEST)} {name.one}"


def comparative(column: TypedColumn, highest: bool, random: Random) -> str:
    """Word a comparison of two rows by a column, after "had": "more points", "an earlier date"."""
    name = noun(column, random)
    if is_time(column):
        return _a(f"{random.choice(('later', 'more recent') if highest else ('earlier',))} {name.one}")
    if is_amount(column):
        return f"{random.choice(('more', 'a higher number of') if highest else ('fewer', 'fewer', 'less'))} {name.many}"
    if head(column) in _EXTENTS:
        return f"a {'longer' if highest else 'shorter'} {name.one}"
    return _a(f"{random.choice(('higher', 'larger', 'greater') if highest else ('lower', 'smaller'))} {name.one}")


def of_several(verb: str) -> str:
    """Return a phrase that begins with a verb, or with "that" and a verb, in the plural; others as they are."""
    first, _, rest = verb.partition(" ")
    if first == "that":
        return f"that {of_several(rest)}"
    return f"{_PLURALS.get(first, first)} {rest}".strip()


def noisy(question: str, random: Random) -> str:
    """Write a question as people type it: in lower case, now and then without an article or its mark, with a typo."""
    question = " ".join(question.lower().split())
    if random.random() < _NOISE["article"]:
        question = _ARTICLE.sub("", question, count=1)
    words = list(_WORD.finditer(question[: len(question) // 2]))  # the beginning seldom has a value of the table
    if words and random.random() < _NOISE["typo"]:
        place = random.choice(words).start() + 1
        swapped = question[place + 1] + question[place]
        question = (
            question[:place] + random.choice((swapped, question[place], question[place] * 3)) + question[place + 2 :]
        )
    return question if random.random() < _NOISE["mark"] else f"{question}?"


def _a(words: str) -> str:
    """Put an indefinite article before a noun phrase that can have one."""
    if words.rpartition(" ")[2] in _WITHOUT_ARTICLE:
        return words
    return f"{'an' if words[0] in 'aeiou' else 'a'} {words}"
