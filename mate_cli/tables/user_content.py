"""Reads the bytes of a user's text file, which may be compressed: ``towns.csv.gz`` is a ``towns.csv``."""

from __future__ import annotations

import bz2
import gzip
import lzma
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any

from mate_cli.system.errors import UserError
from mate_cli.tables.table_place import COMPRESSIONS
from mate_cli.tables.user_limits import MAX_BYTES, check_bytes

_OPENERS: dict[str, Callable[..., IO[Any]]] = dict(zip(COMPRESSIONS, (gzip.open, bz2.open, lzma.open), strict=True))


def read_content(path: Path) -> bytes:
    """Read a file as it was before its compression, and no further than a table may be long.

    Raises:
        UserError: it cannot be read, is broken, or is too large.
    """
    opener = _OPENERS.get(path.suffix.lower(), open)
    try:
        with opener(path, "rb") as file:
            content: bytes = file.read(MAX_BYTES + 1)
    except (OSError, EOFError, zlib.error, lzma.LZMAError) as error:
        raise UserError(f"table={path}: cannot be read ({getattr(error, 'strerror', None) or error})") from error
    check_bytes(path, len(content))
    return content
