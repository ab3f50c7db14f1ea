"""Made tables of any number of rows, drawn with a fixed seed, and questions whose answers follow from their values."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from itertools import cycle
from random import Random
from string import ascii_uppercase
from typing import NamedTuple

import pandas as pd

FIRST = (
    *("Ann", "Bob", "Cid", "Dora", "Eve", "Fay", "Gil", "Hans"),
    *("Ida", "Jan", "Kim", "Lea", "Max", "Nora", "Olaf", "Pia"),
)
LAST = (
    *("Adler", "Brandt", "Conti", "Duval", "Ekman", "Ferri", "Girma", "Horn"),
    *("Ito", "Jensen", "Koros", "Lind", "Moreau", "Novak", "Ortiz", "Perl"),
)
ENTAILED, REFUTED = "entailed", "refuted"


class Asked(NamedTuple):
    """A question or statement of a kind with its right answer."""

    kind: str
    question: str
    answer: str


class Subject(NamedTuple):
    """
    Attributes:
        draw: makes a table of so many rows.
        key: column that names a row; words: how questions name a row with that key, and each column they ask for; says:
            how statements do, with a value of the column.
        ends, than, above: how statements say that a row has the highest and the lowest number, more than another row,
            and more than a number.
        reworded: from the key of a row to other words for it.
        number: column of distinct numbers; most, least: questions for their ends.
        group: column of repeated values; rare: a value of few rows; count: the question for the number of rows of one.
        size, total, mean: questions for the number of rows, and for the sum and mean of the column ``added``.
        total_of: the question for its sum of a group; above_in, above_of: for how many rows, of all and of a group, it
            is more than a number.
    """

    draw: Callable[[Random, int], dict[str, list[str]]]
    key: str
    reworded: Callable[[str], str]
    words: dict[str, str]
    says: dict[str, str]
    ends: tuple[str, str]
    than: str
    above: str
    number: str
    most: str
    least: str
    group: str
    rare: str
    count: str
    size: str
    added: str
    total: str
    mean: str
    total_of: str
    above_in: str
    above_of: str


def orders(r: Random, rows: int) -> dict[str, list[str]]:
    prices = r.sample(range(1000, 100_000), rows)
    return {
        "order": [f"A{number}" for number in range(1000, 1000 + rows)],
        "customer": [f"{r.choice(FIRST)} {r.choice(LAST)}" for _ in range(rows)],
        "country": _with_rare(r, rows, ["France", "Spain", "Italy", "Peru", "Japan"], "Kenya"),
        "product": [r.choice(["lamp", "chair", "desk", "shelf", "sofa"]) for _ in range(rows)],
        "quantity": [str(r.randint(1, 40)) for _ in range(rows)],
        "price": [f"${price / 100:.2f}" for price in prices],
    }


def staff(r: Random, rows: int) -> dict[str, list[str]]:
    names = r.sample(
        [f"{first} {middle}. {last}" for first in FIRST for last in LAST for middle in ascii_uppercase], rows
    )
    return {
        "name": names,
        "role": [r.choice(["engineer", "designer", "accountant", "nurse", "driver"]) for _ in range(rows)],
        "office": _with_rare(r, rows, ["Graz", "Bonn", "Turin", "Malmo"], "Nice"),
        "phone": [str(r.randint(1000, 9999)) for _ in range(rows)],
        "salary": [str(salary) for salary in r.sample(range(21_000, 99_000), rows)],
        "since": [str(r.randint(1985, 2024)) for _ in range(rows)],
    }


def stations(r: Random, rows: int) -> dict[str, list[str]]:
    heads = ["Ash", "Birch", "Cold", "Deer", "Elm", "Fern", "Gold", "Hare", "Iron", "Kings"]
    tails = ["brook", "dale", "field", "gate", "ham", "ley", "mere"]
    names = [f"{head}{tail} {part}" for head in heads for tail in tails for part in [*"NESW", *map(str, range(1, 80))]]
    return {
        "station": r.sample(names, rows),
        "line": [r.choice(["red", "blue", "green", "yellow"]) for _ in range(rows)],
        "operator": _with_rare(r, rows, ["Metro", "Tram", "Regio"], "Ferry"),
        "opened": [str(r.randint(1890, 2020)) for _ in range(rows)],
        "platforms": [str(r.randint(1, 12)) for _ in range(rows)],
        "passengers": [f"{number:,}" for number in r.sample(range(200, 90_000), rows)],
    }


SUBJECTS = (
    Subject(
        orders,
        "order",
        lambda key: f"number {key[1:]}",
        {
            "customer": "Who is the customer of order {}?",
            "price": "What is the price of order {}?",
            "product": "Which product was bought in order {}?",
        },
        {
            "customer": "The customer of order {} is {}.",
            "price": "The price of order {} is {}.",
            "product": "Order {} is a {}.",
        },
        ("Order {} has the highest price.", "Order {} has the lowest price."),
        "Order {} has a higher price than order {}.",
        "The price of order {} is more than {}.",
        "price",
        "Which order has the highest price?",
        "Which order has the lowest price?",
        "country",
        "Kenya",
        "How many orders are from {}?",
        "How many orders are there?",
        "quantity",
        "What is the total quantity?",
        "What is the average quantity?",
        "What is the total quantity of the orders from {}?",
        "How many orders have a quantity of more than {}?",
        "How many orders from {} have a quantity of more than {}?",
    ),
    Subject(
        staff,
        "name",
        lambda key: f"{key.split()[-1]}, {key.rsplit(maxsplit=1)[0]}",
        {
            "office": "In which office does {} work?",
            "phone": "What is the phone number of {}?",
            "salary": "How much does {} earn?",
        },
        {"office": "{} works in {}.", "phone": "The phone number of {} is {}.", "salary": "{} earns {}."},
        ("{} has the highest salary.", "{} earns the least."),
        "{} earns more than {}.",
        "{} earns more than {}.",
        "salary",
        "Who has the highest salary?",
        "Who has the lowest salary?",
        "office",
        "Nice",
        "How many people work in {}?",
        "How many people are there?",
        "salary",
        "What is the total salary?",
        "What is the average salary?",
        "What is the total salary of the people in {}?",
        "How many people have a salary of more than {}?",
        "How many people in {} have a salary of more than {}?",
    ),
    Subject(
        stations,
        "station",
        lambda key: " part ".join(key.split()),
        {
            "opened": "In which year was {} opened?",
            "platforms": "How many platforms does {} have?",
            "line": "On which line is {}?",
        },
        {"opened": "{} was opened in {}.", "platforms": "{} has {} platforms.", "line": "{} is on the {} line."},
        ("{} has the most passengers.", "{} has the fewest passengers."),
        "{} has more passengers than {}.",
        "{} has more than {} passengers.",
        "passengers",
        "Which station has the most passengers?",
        "Which station has the fewest passengers?",
        "operator",
        "Ferry",
        "How many stations does {} operate?",
        "How many stations are there?",
        "platforms",
        "How many platforms are there in total?",
        "What is the average number of platforms?",
        "How many platforms do the stations of {} have in total?",
        "How many stations have more than {} platforms?",
        "How many stations of {} have more than {} platforms?",
    ),
)


def _with_rare(r: Random, rows: int, common: Sequence[str], rare: str) -> list[str]:
    """Draw values, of which two to five are ``rare``."""
    values = [r.choice(common) for _ in range(rows)]
    for row in r.sample(range(rows), r.randint(2, 5)):
        values[row] = rare
    return values


def misspelt(name: str) -> str:
    """Return a name with the second and third letter of its longest word swapped; a code remains as it is."""
    word = max(re.findall("[A-Za-z]+", name), key=len)
    return name.replace(word, word[0] + word[2] + word[1] + word[3:]) if len(word) > 3 else name


def drawn(rows: int, tables: int) -> Iterator[tuple[pd.DataFrame, Asked]]:
    """Yield so many tables of each subject with that many rows, each with every question on it."""
    for subject, frame, r in _tables(rows, tables):
        for asked in questions(subject, frame, r):
            yield frame, asked


def _tables(rows: int, tables: int) -> Iterator[tuple[Subject, pd.DataFrame, Random]]:
    for subject in SUBJECTS:
        for number in range(tables):
            r = Random(f"{subject.key} {rows} {number}")
            yield subject, pd.DataFrame(subject.draw(r, rows)), r


def questions(subject: Subject, frame: pd.DataFrame, r: Random) -> Iterator[Asked]:
    """Yield two look-ups for each of three columns, both ends of the numbers, and what is computed."""
    for column, words in subject.words.items():
        row = frame.iloc[r.randrange(len(frame))]
        key = row[subject.key]
        yield Asked("look-up", words.format(key), row[column])
        yield Asked("look-up, reworded", words.format(subject.reworded(key)), row[column])
        if (wrong := misspelt(key)) != key:
            yield Asked("look-up, misspelt", words.format(wrong), row[column])
    numbers = _numbers(frame[subject.number])
    yield Asked("superlative", subject.most, frame[subject.key][numbers.idxmax()])
    yield Asked("superlative", subject.least, frame[subject.key][numbers.idxmin()])
    yield Asked(
        "count of 2 to 5", subject.count.format(subject.rare), str((frame[subject.group] == subject.rare).sum())
    )
    added = frame[subject.added].astype(float)
    yield Asked("of all rows", subject.size, str(len(frame)))
    yield Asked("of all rows", subject.total, f"{added.sum():.10g}")
    yield Asked("of all rows", subject.mean, f"{added.mean():.10g}")


def groups(rows: int, tables: int) -> Iterator[tuple[pd.DataFrame, Asked]]:
    """Yield questions about many rows of the tables of ``drawn``: those of the largest group and above a number."""
    for subject, frame, _ in _tables(rows, tables):
        value, added = frame[subject.group].mode()[0], frame[subject.added].astype(float)
        limit = int(added.quantile(0.6))
        of_group, above = frame[subject.group] == value, added > limit
        yield frame, Asked("count of many", subject.count.format(value), str(of_group.sum()))
        yield frame, Asked("sum of many", subject.total_of.format(value), f"{added[of_group].sum():.10g}")
        yield frame, Asked("count above a number", subject.above_in.format(limit), str(above.sum()))
        asked = subject.above_of.format(value, limit)
        yield frame, Asked("count of many above a number", asked, str((of_group & above).sum()))


def statements(rows: int, tables: int) -> Iterator[tuple[pd.DataFrame, Asked]]:
    """Yield statements about the tables of ``drawn``."""
    truths = cycle((True, False))
    for subject, frame, r in _tables(rows, tables):
        for asked in _of_cells(subject, frame, r, truths):
            yield frame, asked
        for asked in _of_numbers(subject, frame, Random(f"numbers of {subject.key} {rows} {r.random()}")):
            yield frame, asked


def _of_cells(subject: Subject, frame: pd.DataFrame, r: Random, truths: Iterator[bool]) -> Iterator[Asked]:
    """Yield a statement on each of three columns; every other one is true."""
    for (column, words), is_true in zip(subject.says.items(), truths, strict=False):
        row = frame.iloc[r.randrange(len(frame))]
        said = row[column] if is_true else r.choice([value for value in frame[column] if value != row[column]])
        yield _stated("cell", words.format(row[subject.key], said), is_true)


def _of_numbers(subject: Subject, frame: pd.DataFrame, r: Random) -> Iterator[Asked]:
    """Yield superlatives of the row at each end and of the next one to it, and comparisons of two rows drawn at random
    and of a row with four fifths and five fourths of its number; each is true, and false the other way round.
    """
    keys, numbers = frame[subject.key], _numbers(frame[subject.number])
    order = numbers.argsort()
    for words, (first, second) in zip(subject.ends, ((order.iloc[-1], order.iloc[-2]), order.iloc[:2]), strict=True):
        yield _stated("superlative", words.format(keys[first]), True)
        yield _stated("superlative", words.format(keys[second]), False)
    less, more = sorted(r.sample(range(len(frame)), 2), key=numbers.get)
    yield _stated("two rows", subject.than.format(keys[more], keys[less]), True)
    yield _stated("two rows", subject.than.format(keys[less], keys[more]), False)
    row = r.randrange(len(frame))
    yield _stated("number", subject.above.format(keys[row], round(numbers[row] * 4 / 5)), True)
    yield _stated("number", subject.above.format(keys[row], round(numbers[row] * 5 / 4)), False)


def _stated(kind: str, statement: str, is_true: bool) -> Asked:
    return Asked(f"statement, {kind}", statement, ENTAILED if is_true else REFUTED)


def _numbers(texts: pd.Series) -> pd.Series:
    return texts.str.replace(r"[$,]", "", regex=True).astype(float)
