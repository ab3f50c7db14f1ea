"""Tables loaded into SQLite, their values read without the code of ``mate``."""

from __future__ import annotations

import re
import sqlite3
from contextlib import suppress
from datetime import datetime
from typing import Any

from mate_cli.tables.table import Table


def loaded(table: Table) -> sqlite3.Connection:
    """Load a table as ``t``: numbers, dates as YYYY-MM-DD, other texts in lower case, NULL for empty cells."""
    database = sqlite3.connect(":memory:")
    names = ", ".join('"' + (cell.text or "unnamed").replace('"', '""') + '"' for cell in table.header)
    database.execute(f"CREATE TABLE t ({names})")
    columns = [typed([row[place].text for row in table.rows]) for place in range(table.num_columns)]
    marks = ", ".join("?" * table.num_columns)
    database.executemany(f"INSERT INTO t VALUES ({marks})", zip(*columns, strict=True))
    return database


def typed(texts: list[str]) -> list[Any]:
    """Convert the texts of a column to numbers, or to dates, if all of them are some."""
    present = [text for text in texts if text not in ("", "-")]
    for parse in (number, day):
        if len(present) > 1 and all(parse(text) is not None for text in present):
            return [parse(text) if text in present else None for text in texts]
    return [text.lower() if text in present else None for text in texts]


def number(text: str) -> float | None:
    found = re.fullmatch(r"[$£€]?(\d+(?:\.\d+)?)([%KM]?)", text.replace(",", ""))
    return None if found is None else float(found[1]) * {"K": 1e3, "M": 1e6}.get(found[2], 1)


def day(text: str) -> str | None:
    for form in ("%d %B %Y", "%B %d, %Y", "%Y-%m-%d", "%m/%d/%Y"):
        with suppress(ValueError):
            return datetime.strptime(text, form).date().isoformat()
    return None
