"""Numbers and dates in texts, beside a slow search that asks ``float`` and ``strptime`` about every run of words."""

from __future__ import annotations

import re
from datetime import datetime
from decimal import Decimal

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from mate_cli.tables.text import normalize_for_match
from mate_cli.tables.values import Date, Value, find_spans, find_values

FORMATS = {
    **dict.fromkeys(("%B", "%b %d", "%B %d", "%d %b", "%d %B", "%A, %b %d", "%A, %B %d"), "month"),
    **dict.fromkeys(("%Y", "%Ys", "%b %Y", "%B %Y", "%b %d, %Y", "%B %d, %Y", "%d %b %Y", "%d %B %Y"), "year"),
    **dict.fromkeys(("%m-%d-%Y", "%Y-%m-%d", "%Y-%m", "%d.%m.%Y"), "year"),
}
WORDS = (
    *("5", "07", "31", "29", "0", "1999", "2017", "1700", "2000", "1,200", "1.5", ".5", "3rd", "1e5", "1990s", "٣"),
    *("may", "feb", "sep", "sept", "december", "friday", "seven", "tenth", "fifth", "inf", "nan", "red", "mayor", "a5"),
)
TEXTS = st.lists(
    st.tuples(st.sampled_from(WORDS), st.sampled_from([" ", " ", ", ", "-", " -", ".", "/", "", " ("]))
).map(lambda parts: normalize_for_match("".join(word + mark for word, mark in parts)))


def a_date(text: str) -> Date | None:
    text = re.sub(r"\bsept\b", "sep", text)
    for form in FORMATS:
        # strptime is lenient: it takes blanks for zeros, and names without their blanks.
        if [c for c in text if not c.isalnum()] != [c for c in re.sub(r"%\w", "x", form) if not c.isalnum()]:
            continue
        try:
            found = datetime.strptime(text, form)
        except ValueError:
            continue
        year = found.year if "Y" in form else None
        if year is not None and not 1700 <= year <= 2016:
            continue
        month = found.month if any(field in form for field in ("%b", "%B", "%m")) else None
        return Date(year, month, found.day if "%d" in form else None)
    return None


def slow_dates(text: str) -> dict[tuple[int, int], Date]:
    """All dates, also those within others."""
    words = [match.span() for match in re.finditer(r"[^\W_]+", text)]
    spans = [(begin, words[j][1]) for i, (begin, _) in enumerate(words) for j in range(i, min(i + 5, len(words)))]
    found = {(begin, end): a_date(text[begin:end]) for begin, end in spans}
    return {span: day for span, day in found.items() if day is not None}


@given(TEXTS)
@example("sept 5, 2005")
@example("friday, may 5 may 31 may 1999-07-05")
@example("may 29, 2017")
@example("٣ may, 1٣ may")  # of digits in other scripts strptime takes the second one alone
def test_dates_are_those_that_strptime_reads(text: str) -> None:
    slow = slow_dates(text)
    longest = {
        (begin, end): day
        for (begin, end), day in slow.items()
        if not any((b, e) != (begin, end) and b <= begin and end <= e for b, e in slow)
    }
    ours = {
        (span.begin, span.end): value for span in find_spans(text) for value in span.values if isinstance(value, Date)
    }
    # A number may hold a date: in "1999.5" the year is a part of it.
    numbers = [(span.begin, span.end) for span in find_spans(text) if isinstance(span.values[0], float)]
    hidden = {s for s in longest if any(n != s and n[0] <= s[0] and s[1] <= n[1] for n in numbers)}
    assert ours == {span: day for span, day in longest.items() if span not in hidden}


@given(TEXTS)
def test_spans_are_in_order_and_none_is_within_another(text: str) -> None:
    spans = find_spans(text)
    assert spans == sorted(spans)
    for one in spans:
        assert 0 <= one.begin < one.end <= len(text)
        assert not any(one != other and other.begin <= one.begin and one.end <= other.end for other in spans)


@given(st.decimals(0, 10**30, places=4))
def test_any_number_is_found(number: Decimal) -> None:
    for text in (f"{number:f}", f"{number:,f}", f"about {number:f} km", f"${number:,f}"):
        assert find_values(text) == (np.float32(number),)


@given(st.text())
def test_any_text_has_finite_years_or_numbers(text: str) -> None:
    for value in find_values(text):
        assert any(field is not None for field in value) if isinstance(value, Date) else value == value


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("", ()),
        ("no value here", ()),
        ("$1,250.50", (1250.5,)),
        ("12.5 %", (12.5,)),
        ("from -3 to +4", (-3, 4)),
        ("10–15", (10, 15)),
        ("$-2", (2,)),
        ("1/2", (1, 2)),
        ("Third", (3,)),
        ("FIFTH place", (5,)),
        ("2nd of 1e3", (2, 1000)),
        ("fifthly", ()),
        ("season 2004", (2004, Date(2004))),
        ("2020", (2020,)),
        ("the 1960s", (Date(1960),)),
        ("Sept 5", (Date(None, 9, 5),)),
        ("SEPT 2001", (Date(2001, 9),)),
        ("Sunday, Oct 3", (Date(None, 10, 3),)),
        ("31.12.1999", (Date(1999, 12, 31),)),
        ("12-31-1999", (Date(1999, 12, 31),)),
        ("1999-12", (Date(1999, 12),)),
        ("May\u00a05,\n2005", (Date(2005, 5, 5),)),
        ("feb 29, 2001", (29, 2001, Date(2001))),
        ("9" * 60, (np.inf,)),  # beyond float32
        ("9" * 400, ()),  # beyond float64
    ],
)
def test_values(text: str, values: tuple[Value, ...]) -> None:
    assert find_values(text) == values
