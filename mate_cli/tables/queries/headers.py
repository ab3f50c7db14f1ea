"""Headers as words: their nouns, abbreviations and plurals."""

from __future__ import annotations

import re
from functools import lru_cache

from mate_cli.tables.queries.agents import AGENTS

REMARK = re.compile(r"\s*[(\[][^()\[\]]*[)\]]")
_PER = re.compile(r"\s(?:per|/) .*", re.IGNORECASE)  # "points per game" are points
_MARKS = re.compile(r"[/_|*#]+|\s+-+\s+|\s[.,:]+(?=\s|$)")
EXPANSIONS = {
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
    "res": "result",
    "res.": "result",
    "agg": "aggregate",
    "diff": "difference",
    "rd": "round",
    "rnd": "round",
}
# Under these headers 1150 is a code or an amount, unless a word of time is beside: "season number", "last win against".
_NO_YEARS = {
    *("#", "number", "numbers", "code", "codes", "id", "tag", "key", "zip", "serial", "ref", "mintage"),
    *("freq", "frequency"),
    *("points", "score", "scores", "rating", "against", "goals", "wins", "runs", "yards", "votes", "total", "average"),
    *("attendance", "enrollment", "enrolment", "population", "capacity", "price", "cost", "salary", "speed"),
    *("height", "depth", "elevation", "altitude", "length", "width", "distance", "weight"),
    *("ft", "yds", "km", "mi", "mm", "cm", "kg", "lb", "lbs", "kw", "mw", "mwe", "hp", "cc", "mah"),
    *("khz", "mhz", "ghz", "kb", "mb", "gb"),
}
_TIMES = {"year", "years", "season", "seasons", "date", "dates", "edition", "first", "last", "since"}
_WORD = re.compile(r"[^\W_]+|#")
_INVARIABLE = {"series", "species", "people", "men", "women", "fish", "aircraft", "points"}


def words_of(header: str) -> list[str]:
    """Return the words of a header in lower case, without marks; "director" for "directed by"."""
    words = _MARKS.sub(" ", header).lower().split()
    if words[-1:] == ["by"] and (agent := AGENTS.get("".join(words[-2:-1]))):
        return [*words[:-2], agent]
    return words


@lru_cache(maxsize=1 << 12)  # each question about a table asks for those of its columns
def head_of(header: str) -> str:
    """Return the noun of a header, in lower case: "height" of "Height in cm (2020)"; "" if it has no words."""
    words = words_of(what_of(REMARK.sub("", header)))
    unit = words.index("in") if "in" in words[1:] else len(words)
    return words[unit - 1] if words else ""


def names_no_years(header: str) -> bool:
    """Return whether a header tells that whole numbers from 1000 to 2100 are no years: "Zip code", "Battery (mAh)"."""
    words = {EXPANSIONS.get(word, word) for word in _WORD.findall(what_of(header).lower())}
    return bool(words & _NO_YEARS) and not words & _TIMES


def what_of(header: str) -> str:
    """Return a header without that of which there is one each: "points" of "points per game"."""
    return _PER.sub("", header)


def plural(text: str) -> str:
    """Return the plural of a noun phrase, which may be a plural already or end in a number."""
    if text[-1:].isdecimal():
        return text
    if text.rpartition(" ")[2] in _INVARIABLE or re.search("[^su]s$|smen$", text):
        return text
    if re.search("[^aeiou]y$", text):
        return text[:-1] + "ies"
    return text + ("es" if text.endswith(("s", "x", "ch", "sh")) else "s")


def singular(text: str) -> str:
    """Return the singular of a noun phrase, which may be a singular already."""
    if text.rpartition(" ")[2] in _INVARIABLE or not re.search("[^sui']s$", text):
        return text
    if text.endswith("ies"):
        return text[:-3] + "y"
    return text[:-2] if text.endswith(("xes", "ches", "shes", "sses")) else text[:-1]


def is_plural(word: str) -> bool:
    """Return whether a single word is a plural, or the same in the plural."""
    return word.isalpha() and word == plural(word)
