"""Ask the released model questions on made tables of 30 to 5,000 rows and write the score: `make large-tables`.

The tables are drawn with a fixed seed; the right answers follow from their values. Each question is asked three times:
with the 512 tokens of the model's training, for which columns of larger tables are left out; with the whole table; and,
as `mate predict` does, with the rows that the question names or that parts of the table point to. Each look-up is asked
by a cell as it stands in the table, and in other words, which name no row. The questions were written before any model
was asked them.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator, Sequence
from math import isclose
from pathlib import Path
from statistics import fmean
from string import ascii_uppercase
from textwrap import fill
from typing import NamedTuple

import pandas as pd
from scipy.stats import binomtest
from tabulate import tabulate

from mate_cli.config.hardware import HardwareConfig
from mate_cli.notebook import LoadedRun, load_run
from mate_cli.system.distribution import released_model
from mate_cli.system.errors import UserError
from mate_cli.system.processor import processor_name

FILE = Path(__file__).parents[1] / "results" / "large-tables" / "README.md"
ROWS = {30: 3, 100: 3, 300: 3, 1000: 3, 5000: 1}  # and tables of each kind that have so many
MOST_WHOLE = 1000  # rows that fit into one input of 16,384 tokens
TRAINED = 512

FIRST = [
    "Ann",
    "Bob",
    "Cid",
    "Dora",
    "Eve",
    "Fay",
    "Gil",
    "Hans",
    "Ida",
    "Jan",
    "Kim",
    "Lea",
    "Max",
    "Nora",
    "Olaf",
    "Pia",
]
LAST = [
    "Adler",
    "Brandt",
    "Conti",
    "Duval",
    "Ekman",
    "Ferri",
    "Girma",
    "Horn",
    "Ito",
    "Jensen",
    "Koros",
    "Lind",
    "Moreau",
    "Novak",
    "Ortiz",
    "Perl",
]


class Asked(NamedTuple):
    """A question of a kind with its right answer."""

    kind: str
    question: str
    answer: str


class Subject(NamedTuple):
    """
    Attributes:
        draw: makes a table of so many rows.
        key: column that names a row; words: how questions name a row with that key, and each column they ask for.
        reworded: from the key of a row to other words for it.
        number: column of distinct numbers; most, least: questions for their ends.
        group: column of repeated values; rare: a value of few rows; count: the question for their number.
        size, total, mean: questions for the number of rows, and for the sum and mean of the column ``added``.
    """

    draw: Callable[[random.Random, int], dict[str, list[str]]]
    key: str
    reworded: Callable[[str], str]
    words: dict[str, str]
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


def orders(r: random.Random, rows: int) -> dict[str, list[str]]:
    prices = r.sample(range(1000, 100_000), rows)
    return {
        "order": [f"A{number}" for number in range(1000, 1000 + rows)],
        "customer": [f"{r.choice(FIRST)} {r.choice(LAST)}" for _ in range(rows)],
        "country": _with_rare(r, rows, ["France", "Spain", "Italy", "Peru", "Japan"], "Kenya"),
        "product": [r.choice(["lamp", "chair", "desk", "shelf", "sofa"]) for _ in range(rows)],
        "quantity": [str(r.randint(1, 40)) for _ in range(rows)],
        "price": [f"${price / 100:.2f}" for price in prices],
    }


def staff(r: random.Random, rows: int) -> dict[str, list[str]]:
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


def stations(r: random.Random, rows: int) -> dict[str, list[str]]:
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
        "price",
        "Which order has the highest price?",
        "Which order has the lowest price?",
        "country",
        "Kenya",
        "How many orders are from Kenya?",
        "How many orders are there?",
        "quantity",
        "What is the total quantity?",
        "What is the average quantity?",
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
        "salary",
        "Who has the highest salary?",
        "Who has the lowest salary?",
        "office",
        "Nice",
        "How many people work in Nice?",
        "How many people are there?",
        "salary",
        "What is the total salary?",
        "What is the average salary?",
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
        "passengers",
        "Which station has the most passengers?",
        "Which station has the fewest passengers?",
        "operator",
        "Ferry",
        "How many stations does Ferry operate?",
        "How many stations are there?",
        "platforms",
        "How many platforms are there in total?",
        "What is the average number of platforms?",
    ),
)


def _with_rare(r: random.Random, rows: int, common: Sequence[str], rare: str) -> list[str]:
    """Draw values, of which two to five are ``rare``."""
    values = [r.choice(common) for _ in range(rows)]
    for row in r.sample(range(rows), r.randint(2, 5)):
        values[row] = rare
    return values


def drawn(rows: int) -> Iterator[tuple[pd.DataFrame, Asked]]:
    """Yield the tables of that many rows, each with every question on it."""
    for subject in SUBJECTS:
        for number in range(ROWS[rows]):
            r = random.Random(f"{subject.key} {rows} {number}")
            frame = pd.DataFrame(subject.draw(r, rows))
            for asked in questions(subject, frame, r):
                yield frame, asked


def questions(subject: Subject, frame: pd.DataFrame, r: random.Random) -> Iterator[Asked]:
    """Yield two look-ups for each of three columns, both ends of the numbers, and what is computed."""
    for column, words in subject.words.items():
        row = frame.iloc[r.randrange(len(frame))]
        yield Asked("look-up", words.format(row[subject.key]), row[column])
        yield Asked("look-up, reworded", words.format(subject.reworded(row[subject.key])), row[column])
    numbers = frame[subject.number].str.replace(r"[$,]", "", regex=True).astype(float)
    yield Asked("superlative", subject.most, frame[subject.key][numbers.idxmax()])
    yield Asked("superlative", subject.least, frame[subject.key][numbers.idxmin()])
    yield Asked("count of 2 to 5", subject.count, str((frame[subject.group] == subject.rare).sum()))
    added = frame[subject.added].astype(float)
    yield Asked("of all rows", subject.size, str(len(frame)))
    yield Asked("of all rows", subject.total, f"{added.sum():.10g}")
    yield Asked("of all rows", subject.mean, f"{added.mean():.10g}")


def main() -> None:
    hardware = HardwareConfig(name="cpu", accelerator="cpu", precision="32", micro_batch=1)
    models = {
        f"{TRAINED} tokens": load_run(max_tokens=TRAINED, hardware=hardware, rows="all"),
        "all rows": load_run(hardware=hardware, rows="all"),
        "chosen rows": load_run(hardware=hardware),
    }
    scores, seconds = {}, {}
    for rows in ROWS:
        for frame, asked in drawn(rows):
            for name, run in models.items() if rows <= MOST_WHOLE else [("chosen rows", models["chosen rows"])]:
                start = time.perf_counter()
                is_right = answers(run, asked, frame)
                seconds.setdefault(name, {}).setdefault(rows, []).append(time.perf_counter() - start)
                scores.setdefault((asked.kind, name), {}).setdefault(rows, []).append(is_right)
    FILE.parent.mkdir(exist_ok=True)
    FILE.write_text(report(scores, seconds), encoding="utf-8")


def answers(run: LoadedRun, asked: Asked, frame: pd.DataFrame) -> bool:
    """Return whether the model's answer is the right one; it has none where not even one column fits."""
    try:
        answer = run.answer(asked.question, frame)["answer"]
        return answer == [asked.answer] or isclose(float(*answer), float(asked.answer), rel_tol=1e-6)
    except (TypeError, ValueError, UserError):  # none or several answers, texts that are no number
        return False


def report(scores: dict[tuple[str, str], dict[int, list[bool]]], seconds: dict[str, dict[int, list[float]]]) -> str:
    """Return the scores and times as Markdown: the right answers of each kind, reading and number of rows."""
    heads = [f"{rows:,} rows" for rows in ROWS]
    right = [
        (kind, name, *(_share(by_rows.get(rows, ())) for rows in ROWS))
        for (kind, name), by_rows in sorted(scores.items())
    ]
    times = [
        (name, *(f"{fmean(by_rows[rows]):.1f}" if rows in by_rows else "–" for rows in ROWS))
        for name, by_rows in seconds.items()
    ]
    text = (
        f"Written by `make large-tables`: {len(SUBJECTS) * ROWS[30]} made tables of each size, {len(SUBJECTS)} of "
        "5,000 rows, six columns. Each question is asked with the 512 tokens of the model's training, for which "
        "columns of larger tables are left out (of 1,000 rows not even one column fits); with the whole table, which "
        "at 5,000 rows is too long (`rows=all`); and as `mate predict` does (`rows=chosen`), with the rows that the "
        "question names or, if it names none, those that parts of the table point to, or with the answers of the parts "
        "put together. Look-ups and counts name rows by a cell as it stands there; reworded look-ups name none so "
        '("order number 1018" for A1018, "Adler, Ann B." for Ann B. Adler, "Elmham part 5" for Elmham 5). Questions of '
        "all rows ask how many there are, and for the sum and the mean of a column. Right answers in per cent, with "
        "Wilson's interval of 95%."
    )
    return (
        f"# {released_model()} on large tables\n\n{fill(text, 120, break_on_hyphens=False)}\n\n"
        + tabulate(right, ("kind", "read", *heads), tablefmt="github")
        + f"\n\nMean seconds of a question, in 32 bits on {processor_name()}:\n\n"
        + tabulate(times, ("read", *heads), tablefmt="github", disable_numparse=True)
        + "\n"
    )


def _share(right: Sequence[bool]) -> str:
    if not right:
        return "–"
    interval = binomtest(sum(right), len(right)).proportion_ci(method="wilson")
    return f"{100 * sum(right) / len(right):.0f} ({100 * interval.low:.0f} to {100 * interval.high:.0f})"


if __name__ == "__main__":
    main()
