"""Ask the released models on made tables of 30 to 5,000 rows and write the score: `make large-tables`.

Each question of `made_tables` is asked three times: with the 512 tokens of the model's training, for which columns of
larger tables are left out; with the whole table; and, as `mate predict` does, with the rows that the question names or
that parts of the table point to. Each look-up is asked by a cell as it stands in the table, in other words and, where
it has a name, with two letters swapped. Statements about a cell are judged likewise. All of these were written before
any model was asked them.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from itertools import product
from math import isclose
from pathlib import Path
from statistics import fmean
from textwrap import fill

import pandas as pd
from made_tables import SUBJECTS, Asked, drawn, statements
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
CUT, WHOLE, CHOSEN = f"{TRAINED} tokens", "all rows", "chosen rows"


def main() -> None:
    hardware = HardwareConfig(name="cpu", accelerator="cpu", precision="32", micro_batch=1)
    scores: dict[tuple[str, str], dict[int, list[bool]]] = {}
    seconds: dict[str, dict[int, list[float]]] = {}
    for of_statements, made in ((False, drawn), (True, statements)):
        models = {
            CUT: load_run(max_tokens=TRAINED, hardware=hardware, rows="all", statements=of_statements),
            WHOLE: load_run(hardware=hardware, rows="all", statements=of_statements),
            CHOSEN: load_run(hardware=hardware, statements=of_statements),
        }
        for rows, tables in ROWS.items():
            read = [name for name in models if name == CHOSEN or rows <= MOST_WHOLE]
            for (frame, asked), name in product(made(rows, tables), read):
                start = time.perf_counter()
                is_right = answers(models[name], asked, frame)
                timed = f"{name}, statements" if of_statements else name
                seconds.setdefault(timed, {}).setdefault(rows, []).append(time.perf_counter() - start)
                scores.setdefault((asked.kind, name), {}).setdefault(rows, []).append(is_right)
    FILE.parent.mkdir(exist_ok=True)
    FILE.write_text(report(scores, seconds), encoding="utf-8")


def answers(run: LoadedRun, asked: Asked, frame: pd.DataFrame) -> bool:
    """Return whether the model's answer is the right one; it has none where not even one column fits."""
    try:
        answer = run.answer(asked.question, frame)["answer"]
        return answer in (asked.answer, [asked.answer]) or isclose(float(*answer), float(asked.answer), rel_tol=1e-6)
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
        "put together. Look-ups and counts name rows by a cell as it stands there, reworded look-ups by its words in "
        'another order or with others between ("Adler, Ann B." for Ann B. Adler, "Elmham part 5" for Elmham 5) or '
        'by the number of a code ("order number 1018" for A1018). Misspelt look-ups have two letters of a name swapped '
        '("Ann B. Alder", "Emlham 5"; orders have no names). The rules that find the rows of both were written after '
        "the questions. Questions of all rows ask how many there are, and for the sum and the mean of a column. "
        "Statements say what a cell has "
        '("The price of order A1018 is $5.20"), every other one rightly, and are judged by a second model; its chosen '
        "rows are those that the statement names, among others. Right answers in per cent, with Wilson's interval of "
        "95%."
    )
    return (
        f"# {released_model()} on large tables\n\n{fill(text, 120, break_on_hyphens=False)}\n\n"
        + tabulate(right, ("kind", "read", *heads), tablefmt="github")
        + f"\n\nMean seconds of a question or statement, in 32 bits on {processor_name()}:\n\n"
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
