"""Text on the standard output, which every encoding of it can write."""

from __future__ import annotations

import codecs
import io
import json
import sys
from typing import Any


def escape_unwritable() -> None:
    """Let the standard streams write a character that their encoding lacks as an escape, instead of failing."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper) and stream.errors == "strict":
            stream.reconfigure(errors="backslashreplace")


def print_json(value: Any, indent: int | None = None) -> None:
    """Print JSON; in ASCII unless the output is in a form of UTF, as not all escapes of streams are those of JSON."""
    is_utf = codecs.lookup(sys.stdout.encoding or "utf-8").name.startswith("utf")
    print(json.dumps(value, ensure_ascii=not is_utf, indent=indent))
