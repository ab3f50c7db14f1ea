"""The rows at the ends of a table and of its columns, which superlatives are about."""

from __future__ import annotations

import numpy as np

from mate_cli.tables.columns import column_values
from mate_cli.tables.table import Table
from mate_cli.tables.table_index import words


def end_rows(text: str, table: Table) -> tuple[int, ...]:
    """Return the first and the last row, and one each with the lowest and the highest value of columns with numbers or
    dates: of those whose header has a word of the text, in any form, or of all if none has.
    """
    values, said = column_values(table), {*words(text)}
    ordered = [place for place in range(table.num_columns) if values.rank[:, place].any()]
    named = [place for place in ordered if said & {*words(table.header[place].text)}]
    ends = [ranks[:, place] == 1 for ranks in (values.rank, values.inverse_rank) for place in named or ordered]
    return tuple(sorted({0, table.num_rows - 1, *(int(np.argmax(is_end)) for is_end in ends)}))
