"""Text files of users and of releases as a whole, within a limit of memory."""

from __future__ import annotations

import re
from pathlib import Path

from mate_cli.system.errors import UserError

MOST_BYTES = 1 << 30
_AT_ONCE = 1 << 18
_HALF = re.compile("[\ud800-\udfff]")


def read_text(path: Path, most: int = MOST_BYTES) -> str:
    """The content of a text file in UTF-8, with its line ends as they are.

    Args:
        most: bytes; a file that has more, or that never ends, is read no further.

    Raises:
        UserError: the file cannot be read, is larger, or is not UTF-8.
    """
    try:
        return _read(path, most).decode("utf-8-sig")
    except OSError as error:
        raise UserError(f"{path}: cannot be read ({error.strerror or error})") from error
    except UnicodeDecodeError as error:
        raise UserError(f"{path}: not UTF-8 at byte {error.start}; save it as UTF-8, or fetch it again") from error


def has_half_character(text: str) -> bool:
    """Whether a text holds half of a surrogate pair, as an escape in JSON can: it is no character of any encoding."""
    return _HALF.search(text) is not None


def _read(path: Path, most: int) -> bytes:
    parts, size = [], 0
    with path.open("rb") as file:
        while part := file.read(_AT_ONCE):
            parts.append(part)
            size += len(part)
            if size > most:
                raise UserError(f"{path}: larger than {most >> 20} MiB; part it into smaller files")
    return b"".join(parts)
