"""Read records that users wrote as a CSV or TSV file whose first line names the columns, in any usual encoding."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from pathlib import Path

from mate_cli.system.errors import UserError
from mate_cli.tables.encodings import decoded
from mate_cli.tables.text_files import read_bytes, records_of

_LONGEST_HEADER = 1 << 16  # characters in which the separator is looked for


def read_user_records(path: Path, columns: Sequence[str]) -> Iterator[tuple[str, dict[str, str]]]:
    """Yield the place of each record, for errors, and its fields by the column names of the first line.

    The encoding is found as that of a table; commas, semicolons or tabs separate fields, whichever make ``columns`` of
    the first line. Blanks may stand before the quotes of a field, where that is CSV.

    Raises:
        UserError: the file cannot be read or decoded, one of ``columns`` is missing or repeated, or a record is not as
            wide as the first line.
    """
    text, _ = decoded(path, read_bytes(path), None)
    separators = "\t,;" if path.suffix.lower() == ".tsv" else ",;\t"  # the first, in a tie
    separator = max(separators, key=lambda separator: len(set(columns).intersection(_header(text, separator))))
    dialect = {"delimiter": separator, "strict": True}
    try:
        yield from list(records_of(text, path, columns, dialect | {"skipinitialspace": True}))
    except UserError:  # a quote behind a blank may be part of a text
        yield from records_of(text, path, columns, dialect)


def _header(text: str, separator: str) -> list[str]:
    return next(csv.reader(io.StringIO(text[:_LONGEST_HEADER], newline=""), delimiter=separator), [])
