"""Read a user's own table from a database file, SQLite or DuckDB: a table, a view, or the result of a query.

The file is opened to be read alone, and a query may do nothing but read its tables.
"""

from __future__ import annotations

import re
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from threading import Timer
from typing import Any

from mate_cli.config.rules import unknown_name
from mate_cli.system.distribution import install_command
from mate_cli.system.errors import UserError, named, shown
from mate_cli.system.stopping import swallowed_request
from mate_cli.tables.float_text import float_text
from mate_cli.tables.table import Table
from mate_cli.tables.user_limits import MAX_ROWS, check_bytes, check_size, file_size, table_of

_QUERY = re.compile(r"\s*(select|with|values|from)\b", re.IGNORECASE)
_WRITING = re.compile(
    r"\s*(insert|update|delete|replace|merge|create|alter|drop|truncate|attach|detach|pragma|vacuum|copy|install|load)\s",
    re.IGNORECASE,
)
_READING = {sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_FUNCTION, sqlite3.SQLITE_RECURSIVE}
_SQLITE_NAMES = "SELECT name FROM sqlite_master WHERE type IN ('table', 'view') AND name NOT GLOB 'sqlite_*' ORDER BY 1"
_DUCKDB_NAMES = "SELECT table_name FROM information_schema.tables WHERE table_schema = 'main' ORDER BY 1"
_MOST_SECONDS = 60  # of a query
_STEPS = 10_000  # of SQLite's between two looks at the clock, less than a millisecond
# No other file or address, and no way to allow one.
_LOCKED: dict[str, Any] = {"enable_external_access": "false", "lock_configuration": "true"}


def read_sqlite(path: Path, part: str | None = None) -> Table:
    """Read a table of an SQLite file.

    Args:
        part: name of a table or view, or a query; None for a file with one table.

    Raises:
        UserError: the file cannot be read or is no database; there is no such table, or several to choose from; the
            query fails, would write, or takes longer than a minute; the result has no row or is too large.
    """
    with _sqlite(path) as connection:
        return _table(path, connection, part, _SQLITE_NAMES)


def read_duckdb(path: Path, part: str | None = None) -> Table:
    """Read a table of a DuckDB file; see ``read_sqlite``."""
    with _duckdb(path) as connection:
        return _table(path, connection, part, _DUCKDB_NAMES)


def sqlite_names(path: Path) -> list[str]:
    """Return the names of the tables and views of an SQLite file.

    Raises:
        UserError: the file cannot be read or is no database.
    """
    with _sqlite(path) as connection:
        return _names(connection, _SQLITE_NAMES)


def duckdb_names(path: Path) -> list[str]:
    """Return the names of the tables and views of a DuckDB file; see ``sqlite_names``."""
    with _duckdb(path) as connection:
        return _names(connection, _DUCKDB_NAMES)


@contextmanager
def _sqlite(path: Path) -> Iterator[Any]:
    file_size(path)  # the errors of databases do not say why a file cannot be read
    end = time.monotonic() + _MOST_SECONDS
    try:
        with closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)) as connection:
            connection.set_authorizer(
                lambda action, *_: sqlite3.SQLITE_OK if action in _READING else sqlite3.SQLITE_DENY
            )
            connection.set_progress_handler(lambda: time.monotonic() > end, _STEPS)
            yield connection
    except sqlite3.Error as error:
        if getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_INTERRUPT:
            if time.monotonic() <= end:  # Ctrl-C or SIGTERM, which SQLite does not let through
                raise swallowed_request() from error
            raise _too_slow(path) from error
        raise UserError(f"{path}: {_reason(error, 'SQLite')}") from error


@contextmanager
def _duckdb(path: Path) -> Iterator[Any]:
    try:
        import duckdb
    except ModuleNotFoundError as error:
        raise UserError(f"{path}: reading DuckDB needs its library; {install_command('duckdb')}") from error
    file_size(path)  # the errors of databases do not say why a file cannot be read
    try:
        with closing(duckdb.connect(str(path), read_only=True, config=_LOCKED)) as connection:
            timer = Timer(_MOST_SECONDS, connection.interrupt)
            timer.daemon = True
            timer.start()
            try:
                yield connection
            finally:
                timer.cancel()
    except duckdb.InterruptException as error:
        raise _too_slow(path) from error
    except RuntimeError as error:
        if str(error) == "Query interrupted":  # the same, which DuckDB may only notice at the end of the time
            raise swallowed_request() from error
        raise
    except duckdb.Error as error:
        raise UserError(f"{path}: {_reason(error, 'DuckDB')}") from error


def _too_slow(path: Path) -> UserError:
    return UserError(f"{path}: the query takes longer than {_MOST_SECONDS} seconds; ask for less, or save its result")


def _names(connection: Any, listing: str) -> list[str]:
    return [name for (name,) in connection.execute(listing).fetchall()]


def _table(path: Path, connection: Any, part: str | None, listing: str) -> Table:
    names = _names(connection, listing)
    title = part
    if not names and (part is None or not _QUERY.match(part)):
        raise UserError(f"{path}: has no table; ask a query of your own: table='{path}#select ...'")
    if part is None:
        if len(names) != 1:
            listed = f"{len(names)} tables ({', '.join(names)})"
            raise UserError(f"{path}: has {listed}; name one, or ask: table='{path}#select ...'")
        title = part = names[0]
    if part in names:
        query = 'SELECT * FROM "{}"'.format(part.replace('"', '""'))
    elif _QUERY.match(part):
        query, title = part, None
    elif _WRITING.match(part):
        raise UserError(f"{path}: only queries that read are run, as select * from TABLE, not {shown(part)}")
    else:
        raise UserError(f"{path}: {unknown_name('table', part, names)}")
    cursor = connection.execute(query)
    header = [column[0] for column in cursor.description]
    rows = [[_text(value) for value in row] for row in cursor.fetchmany(MAX_ROWS + 1)]
    check_size(path, len(rows), len(header))
    check_bytes(path, sum(len(text) for row in rows for text in row))
    return table_of(path, header, rows, title or "")


def _text(value: Any) -> str:
    if isinstance(value, float):
        return float_text(value)
    return "" if value is None else f"{len(value)} bytes" if isinstance(value, bytes) else str(value)


def _reason(error: Exception, name: str) -> str:
    text = named(str(error).partition("\n")[0])
    if "not authorized" in text or "prohibited" in text or "read-only" in text:
        return f"the query may only read the tables of this file ({text})"
    return f"{name} cannot read this ({text})"
