"""SAT's histogram row: what stands how often in each column (paper section 2, checklist 48).

The paper says no more than that there is such a row at the bottom of the table. Here a cell lists the three most
frequent values, each followed by its count ("Italy 4 , France 2 , Spain 1"), of equals the one that comes first.
Values are compared without regard to case and outer blanks; empty cells count for nothing.
"""

from __future__ import annotations

from collections import Counter

from mate_cli.tables.table import Table

_VALUES = 3


def histogram_row(table: Table) -> list[str]:
    """The texts of the row, one for each column."""
    return [_counts([row[column].text for row in table.rows]) for column in range(table.num_columns)]


def _counts(texts: list[str]) -> str:
    first_spelling: dict[str, str] = {}
    counter: Counter[str] = Counter()
    for text in filter(None, map(str.strip, texts)):
        counter[text.lower()] += 1
        first_spelling.setdefault(text.lower(), text)
    return " , ".join(f"{first_spelling[value]} {count}" for value, count in counter.most_common(_VALUES))
