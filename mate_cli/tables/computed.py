"""Compute an answer for people from the cells that a model chose, and say how, or why not.

Scores compute as the release does (``mate_cli.metrics.denotation``).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal, localcontext

from mate_cli.tables.aggregation import operator_named
from mate_cli.tables.amounts import PRECISION, has_amount, read_amounts
from mate_cli.tables.table import Coordinate, Table

_RUNS = 12
"""Rows, or runs of them, that a formula names; a thousand are read by nobody."""


@dataclass(frozen=True)
class Computed:
    """
    Attributes:
        answer: the number without its unit, but with thousands and millions multiplied out, or the texts of the cells.
        formula: how the number was computed, with its unit, like "SUM(price of rows 2, 5) = $41"; None without one.
            Rows count from 0, as ``mate predict`` shows them; three or more in a row are written "3-7", and
            those beyond ``_RUNS`` are counted.
        problem: why the cells are the answer although the operator computes.
    """

    answer: tuple[str, ...]
    formula: str | None = None
    problem: str | None = None


def computed(table: Table, cells: Sequence[Coordinate], aggregation: str) -> Computed:
    """Apply an operator, given by its name, to cells; those without a number are left out, but counted.

    Raises:
        ValueError: there is no such operator.
    """
    operator = operator_named(aggregation)
    texts = tuple(table.rows[row][column].text for row, column in cells)
    if operator.compute is None or not cells:
        return Computed(texts)
    if operator.counts:
        number = str(len(texts))
        return Computed((number,), f"{_applied(table, cells, aggregation)} = {number}")
    used = [(row, column) for row, column in cells if has_amount(table.rows[row][column].text)]
    if len(used) < operator.least:
        numbers = "numbers" if operator.least > 1 else "number"
        return Computed(texts, problem=f"{aggregation} takes {operator.least} {numbers} or more")
    columns = sorted({column for _, column in used})
    try:
        amounts = read_amounts(
            [table.rows[row][column].text for row, column in used],
            (row[column].text for column in columns for row in table.rows),
            (cell.text for row in table.rows for cell in row),
        )
    except ValueError as error:
        return Computed(texts, problem=f"no {aggregation}: {error}")
    with localcontext(prec=PRECISION):
        value = Decimal(operator.compute(amounts.numbers))
    return Computed((amounts.plain(value),), f"{_applied(table, used, aggregation)} = {amounts.shown(value)}")


def _applied(table: Table, cells: Sequence[Coordinate], aggregation: str) -> str:
    rows: dict[int, list[int]] = {}
    for row, column in cells:
        rows.setdefault(column, []).append(row)
    parts = [f"{table.header[column].text or f'column {column}'} of {_rows(rows[column])}" for column in sorted(rows)]
    return f"{aggregation}({'; '.join(parts)})"


def _rows(numbers: Sequence[int]) -> str:
    """Write row numbers: "row 2", "rows 2, 5", "rows 0, 3-7", "rows 0, 2, …, 30 more"."""
    runs: list[list[int]] = []
    for number in sorted(set(numbers)):
        if runs and number == runs[-1][-1] + 1:
            runs[-1].append(number)
        else:
            runs.append([number])
    named, left_out = runs[:_RUNS], sum(map(len, runs[_RUNS:]))
    parts = [f"{run[0]}-{run[-1]}" if len(run) > 2 else ", ".join(map(str, run)) for run in named]  # 1, 2 is no shorter
    parts += [f"{left_out:,} more"] if left_out else []
    return f"row{'s' if len(set(numbers)) > 1 else ''} {', '.join(parts)}"
