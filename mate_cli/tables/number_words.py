"""Words for numbers and months, as texts spell them."""

from __future__ import annotations

import re

MONTHS = (
    *("january", "february", "march", "april", "may", "june"),
    *("july", "august", "september", "october", "november", "december"),
)
MONTH_NUMBERS = {name: number for number, name in enumerate(MONTHS, start=1)}
MONTH_NUMBERS |= {name[:3]: number for name, number in MONTH_NUMBERS.items()} | {"sept": 9}

_TO_NINETEEN = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen "
    "seventeen eighteen nineteen"
)
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety"
_IRREGULAR = {
    "one": "first",
    "two": "second",
    "three": "third",
    "five": "fifth",
    "eight": "eighth",
    "nine": "ninth",
    "twelve": "twelfth",
}
SCALES = {"hundred": 2, "thousand": 3, "million": 6, "billion": 9, "trillion": 12}
"""Words that multiply a number, with their powers of ten."""

CARDINALS = {word: number for number, word in enumerate(_TO_NINETEEN.split())}
CARDINALS |= {word: 10 * number for number, word in enumerate(_TENS.split(), start=2)}
ORDINALS = {_IRREGULAR.get(word, re.sub("y$", "ie", word) + "th"): number for word, number in CARDINALS.items()}
