"""Ask the models the questions and statements of results/own-tables and write the answers there: `make own-tables`.

Tables, questions and statements were written by hand, before any model had read them. An answer is right if it is the
text, or the number, of the file; where a table does not have the answer, only no answer is right. The questions of
extremes.csv, about both ends of a column, came later: after two of them had shown weights 0.4.0 to be weak there. Those
of unanswerable.csv, whose answers the tables do not have, came after the training of weights 0.7.0, before any model
was asked them; they are asked with the threshold of the calibration. Those of everyday.csv, on tables with dates after
2016, times, millions and losses, came after the code that reads these, before any model was asked them; the difference
of two fundings then showed that answers in millions were not multiplied out, which is mended. Those of amounts.csv,
"how many" of a column and how many rows, came before the code that adds up what "how many" names, after sums of
questions.csv had shown the want of it; two of its questions showed the want of the rule that joins names. Those of
mixed.csv came after the first of these rules, and before made questions were about columns of yes and no and of days.
Those of lookups.csv, one condition each, came after weights 0.8.0 and were asked them before any change; the verbs of
made questions ("who operates") came after. Those of office.csv came after weights 0.9.0; one of them then showed that
codes which a model lists for "how many" were not counted. Those of money.csv came after made questions about money, and
before any model had learned from these; weights 0.9.0 got 31 of the 40. What the first part of the training of weights
0.10.0 still missed, days with strokes and "the most recent", led to the second part. Those of daily.csv came after
weights 0.10.0; what was wrong led to the rules for what "how many" counts and "how much" adds up, and to made questions
about kinds, months and extremes of some rows. Those of held_out.csv came after all that, before any model was asked
them; weights 0.10.0 got 38 of the 48, and made questions about ranges came after. Those of fresh.csv came after weights
0.11.0 were trained, before any model was asked them. Those of workday.csv came later, before any model was asked them:
weights 0.11.0 got 56 of the 66; what was wrong led to the rules that seek an answer again in the rows that a question
names, take "IT" for a name and do not add up years. Those of yes_no.csv, about columns of yes and no, came next, before
any model was asked them: weights 0.11.0 got 18 of the 37, 28 with the rules that came of it. Those of business.csv came
after these rules, before any model was asked them. Those of paid.csv, about what things cost and people earn, came
next: weights 0.11.0 got 21 of the 26, 26 with the rules for prices and for "the longest" that came of it. Those of
camp.csv came after these rules, before any model was asked them: 17 of the 24, then a rate became a price. Those of
ledger.csv came next: 22 of the 32, 27 with the rules for months, years and other times that came of it and of what
older sets had shown. Those of seasons.csv, about times, came after these rules. Those of quarters.csv came after the
rules for places of an order and parts of a year, before any model was asked them: 39 of the 44; then came rules for
extremes of some rows and for limits. Those of guests.csv came after these, before any model was asked them; nothing
came of them.

    python docs/own_tables.py          # the released models; writes results/own-tables/README.md
    python docs/own_tables.py RUN      # that run, of questions; prints its score
"""

from __future__ import annotations

import csv
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from scipy.stats import binomtest
from tabulate import tabulate

from mate_cli.config.hardware import HardwareConfig
from mate_cli.inference.caveats import answer_probability
from mate_cli.notebook import LoadedRun, load_run
from mate_cli.system.distribution import released_model
from mate_cli.tables.user_table import read_table

FOLDER = Path(__file__).parents[1] / "results" / "own-tables"
WANTED = 0.9
ASKED = (
    ("questions.csv", "questions", "tables of another kind"),
    ("extremes.csv", "questions about extremes", "extremes on these tables"),
    ("everyday.csv", "questions about everyday numbers", "everyday dates, times and amounts"),
    ("amounts.csv", "questions about sums and counts", "sums and counts"),
    ("mixed.csv", "questions of all kinds", "all kinds"),
    ("lookups.csv", "look-ups", "look-ups as users write them"),
    ("office.csv", "questions about invoices and staff", "invoices and staff"),
    ("money.csv", "questions about money and days", "money and days"),
    (
        "daily.csv",
        "questions about stock, matches, expenses, grades and staff",
        "stock, matches, expenses, grades, staff",
    ),
    ("held_out.csv", "questions about loans, flights, dishes and members", "loans, flights, dishes, members"),
    (
        "fresh.csv",
        "questions about exhibits, patients, bugs, houses, classes, sales, bills and chess",
        "exhibits, patients, bugs, houses, classes, sales, bills, chess",
    ),
    (
        "workday.csv",
        "questions about clients, rooms, licences, orchards, players and deliveries",
        "clients, rooms, licences, orchards, players, deliveries",
    ),
    ("yes_no.csv", "questions about columns of yes and no", "columns of yes and no"),
    (
        "business.csv",
        "questions about deals, vehicles, shipments and services",
        "deals, vehicles, shipments, services",
    ),
    ("paid.csv", "questions about classes, tools for hire and pay", "classes, tools for hire, pay"),
    ("camp.csv", "questions about pitches, lessons and volunteers", "pitches, lessons, volunteers"),
    ("ledger.csv", "questions about a ledger and a museum's year", "a ledger and a museum's year"),
    ("seasons.csv", "questions about times", "times"),
    ("quarters.csv", "questions about freight and building projects", "freight, building projects"),
    ("guests.csv", "questions about hikes and bookings", "hikes, bookings"),
)
"""File of questions with answers, what it has in the page, and in the line of a run."""


@dataclass(frozen=True)
class Answered:
    """A question or statement of ``kind``, the answer that is right, and the model's with its probability."""

    kind: str
    question: str
    table: str
    right: str
    answer: str
    probability: float

    @property
    def is_right(self) -> bool:
        return _plain(self.answer) == _plain(self.right)


def main(words: Sequence[str]) -> None:
    # In full precision, so that the answers are the same on every machine.
    hardware = HardwareConfig(name="auto", precision="32", micro_batch=1)
    run = load_run(words[0] if words else None, hardware=hardware)
    answered = [[_ask(run, row["question"], row["answer"], row) for row in _rows(file)] for file, _, _ in ASKED]
    threshold = None if run.calibration is None else run.calibration.threshold
    unanswerable = [] if threshold is None else _rows("unanswerable.csv")
    silent = [_ask(run, row["question"], row["answer"], row, threshold) for row in unanswerable]
    if words:
        for own, (_, _, line) in zip(answered, ASKED, strict=True):
            print(score_line(own, line))
        if silent:
            print(score_line(silent, "questions without an answer, with the threshold of the calibration"))
        return
    reports = (
        report(own, what, released_model(), threshold) for own, (_, what, _) in zip(answered, ASKED, strict=True)
    )
    text = "\n#".join(reports)
    if silent:
        text += "\n#" + report(silent, "questions without an answer", released_model(), threshold)
    judge = load_run(statements=True, hardware=hardware)
    judged = [_ask(judge, row["statement"], row["verdict"], row) for row in _rows("statements.csv")]
    text += "\n#" + report(judged, "statements", released_model())
    (FOLDER / "README.md").write_text(text, encoding="utf-8")


def _rows(file: str) -> list[dict[str, str]]:
    with (FOLDER / file).open(encoding="utf-8", newline="") as rows:
        return list(csv.DictReader(rows))


def _ask(run: LoadedRun, question: str, right: str, row: dict[str, str], threshold: float | None = None) -> Answered:
    record = run.answer(question, read_table(FOLDER / "tables" / row["table"]), threshold=threshold)
    answer = ", ".join(map(str, record["answer"])) if isinstance(record["answer"], list) else str(record["answer"])
    return Answered(row["kind"], question, row["table"], right, answer, answer_probability(record) or 0.0)


def _plain(answer: str) -> str | float:
    try:
        return round(float(answer.replace(",", "")), 2)
    except ValueError:
        return answer.strip().lower()


def coverage(answered: Sequence[Answered]) -> float:
    """Return the largest share of the questions, surest first, of which ``WANTED`` are right."""
    surest = sorted(answered, key=lambda a: -a.probability)
    right, best = 0, 0
    for number, one in enumerate(surest, 1):
        right += one.is_right
        best = number if right >= WANTED * number else best
    return best / len(answered)


def surest_answers(answered: Sequence[Answered], what: str) -> str:
    """Return a sentence about the answers that can be trusted."""
    return f" Of its surest answers, for up to {coverage(answered):.0%} of the {what}, {WANTED:.0%} are right."


def above_threshold(answered: Sequence[Answered], threshold: float) -> str:
    """Return a sentence about the questions that get an answer with the threshold of the calibration."""
    given = [a for a in answered if a.probability >= threshold]
    silent = [a for a in answered if not a.right]
    text = (
        f" With `threshold={threshold:.3f}` {len(given)} of the {len(answered)} get an answer, "
        f"{sum(a.is_right for a in given)} of these are right"
    )
    if silent:
        text += (
            f", and of the {len(silent)} that the table does not answer {sum(a not in given for a in silent)} get none"
        )
    return f"{text}."


def score_line(answered: Sequence[Answered], what: str) -> str:
    """Return how many of the questions are right, of all and of each kind."""
    counts = [(kind, sum(a.is_right for a in own), len(own)) for kind, own in by_kind(answered)]
    *parts, (_, right, questions) = counts
    of_kinds = ", ".join(f"{kind} {right} of {count}" for kind, right, count in parts)
    return f"{what} (results/own-tables): {right} of {questions} questions right: {of_kinds}"


def by_kind(answered: Sequence[Answered]) -> list[tuple[str, Sequence[Answered]]]:
    """Return each kind of question with its answers, and all of them last."""
    kinds = dict.fromkeys(a.kind for a in answered)
    return [*((kind, [a for a in answered if a.kind == kind]) for kind in kinds), ("all", answered)]


def report(answered: Sequence[Answered], what: str, name: str, threshold: float | None = None) -> str:
    """Return the answers of a model as Markdown; what: "questions", "statements"."""
    scores = []
    for kind, own in by_kind(answered):
        right = sum(a.is_right for a in own)
        interval = binomtest(right, len(own)).proportion_ci(method="wilson")
        scores.append((kind, len(own), right, f"{right / len(own):.0%} ({interval.low:.0%} to {interval.high:.0%})"))
    lines = [
        ("right" if a.is_right else "wrong", a.kind, a.question, a.table, a.right or "none", a.answer, a.probability)
        for a in answered
    ]
    return (
        f"# {len(answered)} {what} on {len({a.table for a in answered})} tables of our own\n\n"
        f"Model: {name}. Written by `make own-tables`; the intervals are Wilson's, of 95%."
        + (surest_answers(answered, what) if any(a.right for a in answered) else "")
        + ("" if threshold is None else above_threshold(answered, threshold))
        + "\n\n"
        + tabulate(scores, ("kind", what, "right", "share"), tablefmt="github")
        + "\n\n"
        + tabulate(
            lines,
            ("", "kind", what.split()[0].removesuffix("s"), "table", "right answer", "the model's", "probability"),
            tablefmt="github",
            floatfmt=".2f",
            disable_numparse=[4, 5],
        )
        + "\n"
    )


if __name__ == "__main__":
    main(sys.argv[1:])
