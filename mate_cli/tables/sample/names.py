"""Generate names and numbers for the sample; names are made of syllables and never repeat."""

from __future__ import annotations

from collections.abc import Callable
from random import Random

_ONSETS = (*"bcdfghjklmnprstvwz", "br", "dr", "gr", "kr", "pr", "st", "tr")
_VOWELS = tuple("aeiou")
_MIDDLES = (*"lrnmvdkbz", "nd", "rt", "lm", "st", "ll", "rr")
_ENDS = (*"nrlskmx", "th")

# fmt: off
_FIRST_NAMES = (
    "Adele", "Albert", "Anna", "Arthur", "Beatrice", "Bruno", "Carla", "Clara", "Daniel", "David", "Edith",
    "Emil", "Erik", "Esther", "Felix", "Flora", "Frank", "George", "Hanna", "Helen", "Henry", "Hugo", "Ida",
    "Irene", "Ivan", "Jacob", "Julia", "Karl", "Laura", "Leo", "Louise", "Lucas", "Maria", "Martin", "Max",
    "Nina", "Nora", "Oscar", "Otto", "Paul", "Peter", "Robert", "Rosa", "Ruth", "Sara", "Simon", "Sofia",
    "Stella", "Thomas", "Victor", "Walter",
)
# fmt: on

_SHAPES: dict[str, tuple[str, ...]] = {
    "place": ("{}ford", "{}by", "{}mouth", "{}wick", "{}stad", "{}ville", "{}burg"),
    "mountain": ("Mount {}", "{} Peak", "{} Horn", "{} Dome"),
    "range": ("{} Hills", "{} Range", "{} Alps"),
    "festival": ("{} Fair", "{} Festival", "{} Parade"),
    "title": ("The House of {}", "Goodbye {}", "{} in Winter", "The Last {}", "Letters to {}", "{} at Night"),
    "society": ("{} Circle", "{} Society", "{} Academy"),
}

_WORDS: dict[str, tuple[str, ...]] = {
    "rock": ("granite", "basalt", "limestone", "slate", "gneiss"),
    "film_genre": ("drama", "comedy", "western", "thriller", "musical"),
    "instrument": ("violin", "piano", "flute", "cello", "organ"),
}

_NUMBERS: dict[str, Callable[[Random], int]] = {
    "year": lambda random: random.randint(1790, 1929),
    "film_year": lambda random: random.randint(1910, 1999),
    "height": lambda random: random.randint(1010, 6990),
}


class Names:
    """Generates values by kind; no name repeats, in any table or split."""

    def __init__(self, random: Random) -> None:
        self._random = random
        self._used: set[str] = set()

    def column(self, kind: str, rows: int) -> list[str]:
        """Generate the values of a column: words occur about twice each, other values once."""
        if kind not in _WORDS:
            return [str(value) for value in self._distinct(kind, rows)]
        words = self._random.sample(_WORDS[kind], min((rows + 1) // 2, len(_WORDS[kind])))
        values = [words[row % len(words)] for row in range(rows)]
        self._random.shuffle(values)
        return values

    def one(self, kind: str) -> str:
        """Generate a value of a kind that is not a list of words."""
        if kind in _NUMBERS:
            return str(_NUMBERS[kind](self._random))
        if kind == "person":
            return f"{self._random.choice(_FIRST_NAMES)} {self._stem()}"
        return self._random.choice(_SHAPES[kind]).format(self._stem())

    def _distinct(self, kind: str, count: int) -> list[str]:
        values: dict[str, None] = {}
        while len(values) < count:
            values[self.one(kind)] = None
        return list(values)

    def _stem(self) -> str:
        while True:
            parts = (_ONSETS, _VOWELS, _MIDDLES, _VOWELS, _ENDS)
            stem = "".join(self._random.choice(part) for part in parts).capitalize()
            if stem not in self._used:
                self._used.add(stem)
                return stem


def is_word(kind: str) -> bool:
    """Return whether values of this kind repeat within a column, and so cannot identify a row."""
    return kind in _WORDS
