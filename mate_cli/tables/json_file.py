"""JSON from files of users and of releases: every mistake names the file and the place in it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mate_cli.system.errors import UserError, shown
from mate_cli.tables.file_text import MOST_BYTES, read_text

_HALF_PAIR = re.compile(r"\\u[dD][89a-fA-F]")


def read_json(path: Path, most: int = MOST_BYTES) -> Any:
    """The content of a JSON file in UTF-8.

    Args:
        most: bytes that the file may have.

    Raises:
        UserError: the file cannot be read, is larger, is not UTF-8, or is not valid JSON (for instance truncated).
    """
    return parse_json(read_text(path, most), str(path))


def parse_json(text: str, where: str) -> Any:
    """The content of a JSON text that stands ``where``.

    Raises:
        UserError: it is not valid JSON, or holds what no text or number can: half a character, thousands of digits.
    """
    try:
        content = json.loads(text)
        if _HALF_PAIR.search(text):  # it may be a whole pair
            json.dumps(content, ensure_ascii=False).encode()
    except json.JSONDecodeError as error:
        place = f"line {error.lineno}, column {error.colno} (character {error.pos} of {len(error.doc)})"
        is_cut = error.pos >= len(error.doc.rstrip()) or "Unterminated" in error.msg
        hint = "truncated? write or fetch it anew" if is_cut else "mend it there, or fetch it anew"
        raise UserError(f"{where}: not valid JSON at {place}: {error.msg}; {hint}") from error
    except UnicodeEncodeError as error:
        near = error.object[max(error.start - 20, 0) : error.end]
        raise UserError(f"{where}: not usable JSON, it holds half a character at the end of {near!r}") from error
    except ValueError as error:  # a number of thousands of digits
        raise UserError(f"{where}: not usable JSON ({error})") from error
    except RecursionError as error:
        raise UserError(f"{where}: not usable JSON, it is nested too deeply") from error
    return content


@dataclass(frozen=True, slots=True)
class JsonObject:
    """A JSON object and where it stands, for messages."""

    content: dict[str, Any]
    where: str

    @classmethod
    def of(cls, content: Any, where: str) -> JsonObject:
        if not isinstance(content, dict):
            raise UserError(f"{where}: expected a JSON object, found {type(content).__name__}")
        return cls(content, where)

    def __contains__(self, key: str) -> bool:
        return key in self.content

    def __iter__(self) -> Iterator[str]:
        return iter(self.content)

    def text(self, key: str) -> str:
        value = self._value(key)
        if not isinstance(value, str):
            raise UserError(f"{self.where}, key {shown(key)}: expected text, found {type(value).__name__}")
        return value

    def object(self, key: str) -> JsonObject:
        return JsonObject.of(self._value(key), f"{self.where}, key {shown(key)}")

    def list(self, key: str) -> list[Any]:
        value = self._value(key)
        if not isinstance(value, list):
            raise UserError(f"{self.where}, key {shown(key)}: expected a list, found {type(value).__name__}")
        return value

    def _value(self, key: str) -> Any:
        if key not in self.content:
            raise UserError(f"{self.where}: key {shown(key)} is missing")
        return self.content[key]
