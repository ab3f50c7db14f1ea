"""Ask the released models on made tables of 30 to 5,000 rows and write the scores: `make large-tables`.

Each question of `made_tables` is asked three times: with the 512 tokens of the model's training, for which columns of
larger tables are left out; with the whole table; and, as `mate predict` does, with the rows that the question names or
that parts of the table point to. Each look-up is asked by a cell as it stands in the table, in other words and, where
it has a name, with two letters swapped. Statements are judged likewise.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from math import isclose
from pathlib import Path
from textwrap import fill

import pandas as pd
from made_tables import SUBJECTS, Asked, drawn, groups, statements
from scipy.stats import binomtest
from tabulate import tabulate

from mate_cli.config.hardware import HardwareConfig
from mate_cli.notebook import LoadedRun, load_run
from mate_cli.system.distribution import released_model
from mate_cli.system.errors import UserError
from mate_cli.system.processor import processor_name

FOLDER = Path(__file__).parents[1] / "results" / "large-tables"
ROWS = {30: 3, 100: 3, 300: 3, 1000: 3, 5000: 1}  # and tables of each kind that have so many
MOST_WHOLE = 1000  # rows that fit into one input of 16,384 tokens
TRAINED = 512
CUT, WHOLE, CHOSEN = f"{TRAINED} tokens", "all rows", "chosen rows"
PARTS = {"questions": drawn, "groups": groups, "statements": statements}


def main(parts: Sequence[str]) -> None:
    """Ask the questions, those about many rows, the statements, or all; the table has also what was asked before."""
    FOLDER.mkdir(exist_ok=True)
    for part in parts or PARTS:
        pd.DataFrame(ask(part)).to_csv(FOLDER / f"{part}.csv", index=False)
    asked = {part: pd.read_csv(FOLDER / f"{part}.csv") for part in PARTS if (FOLDER / f"{part}.csv").is_file()}
    (FOLDER / "README.md").write_text(report(asked), encoding="utf-8")


def ask(part: str) -> Iterator[dict[str, object]]:
    """Yield whether each answer is right, with its kind, the rows of its table, what was read, and the seconds."""
    hardware = HardwareConfig(name="cpu", accelerator="cpu", precision="32", micro_batch=1)
    of_statements, processor = part == "statements", processor_name()
    models = {
        CUT: load_run(max_tokens=TRAINED, hardware=hardware, rows="all", statements=of_statements),
        WHOLE: load_run(hardware=hardware, rows="all", statements=of_statements),
        CHOSEN: load_run(hardware=hardware, statements=of_statements),
    }
    for rows, tables in ROWS.items():
        read = [name for name in models if name == CHOSEN or rows <= MOST_WHOLE]
        for (frame, asked), name in product(PARTS[part](rows, tables), read):
            start = time.perf_counter()
            is_right = answers(models[name], asked, frame)
            seconds = round(time.perf_counter() - start, 2)
            facts = {"rows": rows, "kind": asked.kind, "read": name, "is_right": is_right, "seconds": seconds}
            yield {**facts, "processor": processor}


def answers(run: LoadedRun, asked: Asked, frame: pd.DataFrame) -> bool:
    """Return whether the model's answer is the right one; it has none where not even one column fits."""
    try:
        answer = run.answer(asked.question, frame)["answer"]
        return answer in (asked.answer, [asked.answer]) or isclose(float(*answer), float(asked.answer), rel_tol=1e-6)
    except (TypeError, ValueError, UserError):  # none or several answers, texts that are no number
        return False


def report(asked: Mapping[str, pd.DataFrame]) -> str:
    """Return scores and times as Markdown: the right answers of each kind, reading and number of rows."""
    every = pd.concat(asked, names=["part"])
    right = _by_rows(every.groupby(["kind", "read", "rows"]).is_right.agg(_share))
    seconds = _by_rows(every.groupby(["part", "read", "rows"]).seconds.agg(lambda own: f"{own.mean():.1f}"))
    processors = " and ".join(every.processor.unique())
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
        "the questions. Questions of all rows ask how many there are, and for the sum and the mean of a column; those "
        "of many rows how many a country, an office or an operator has, for a sum of these, and for how many rows, of "
        "all and of these, a number is above one that two fifths of all exceed. "
        "Statements say what a cell has "
        '("The price of order A1018 is $5.20"), which row has the highest or lowest number (of false ones the second), '
        "which of two rows has more, and whether a row has more than four fifths or five fourths of its number; half "
        "of them are right. A second model judges them; its chosen rows are those that the statement names, among "
        "others. The questions, and the statements about cells, were written before a model was asked; those about "
        "numbers after one had been asked similar ones. The rules for many rows came of similar questions, and of a "
        "first run of these, in which 120 of the 156 were right with the chosen rows. "
        "Right answers in per cent, with Wilson's interval of 95%."
    )
    return (
        f"# {released_model()} on large tables\n\n{fill(text, 120, break_on_hyphens=False)}\n\n{right}\n\n"
        f"Mean seconds of a question or statement, in 32 bits on {processors}:\n\n{seconds}\n"
    )


def _by_rows(cells: pd.Series) -> str:
    """Return cells as Markdown, with a column for each number of rows."""
    table = cells.unstack("rows").reindex(columns=[*ROWS]).fillna("–").rename(columns=lambda rows: f"{rows:,} rows")
    return tabulate(table.reset_index(), headers="keys", tablefmt="github", showindex=False, disable_numparse=True)


def _share(is_right: pd.Series) -> str:
    interval = binomtest(int(is_right.sum()), len(is_right)).proportion_ci(method="wilson")
    return f"{100 * is_right.mean():.0f} ({100 * interval.low:.0f} to {100 * interval.high:.0f})"


if __name__ == "__main__":
    main(sys.argv[1:])
