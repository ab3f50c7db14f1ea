"""JSON from files of users and of releases: every mistake names the file and the place in it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mate_cli.errors import UserError


def read_json(path: Path) -> Any:
    """The content of a JSON file in UTF-8.

    Raises:
        UserError: the file cannot be read, is not UTF-8, or is not valid JSON (for instance truncated).
    """
    try:
        return json.loads(path.read_bytes().decode("utf-8-sig"))
    except OSError as error:
        raise UserError(f"{path}: cannot be read ({error.strerror})") from error
    except UnicodeDecodeError as error:
        raise UserError(f"{path}: not UTF-8 at byte {error.start}; save it as UTF-8, or fetch it anew") from error
    except json.JSONDecodeError as error:
        place = f"line {error.lineno}, column {error.colno} (character {error.pos} of {len(error.doc)})"
        is_cut = error.pos >= len(error.doc.rstrip()) or "Unterminated" in error.msg
        hint = "truncated? write or fetch it anew" if is_cut else "mend it there, or fetch it anew"
        raise UserError(f"{path}: not valid JSON at {place}: {error.msg}; {hint}") from error
    except ValueError as error:  # a number of thousands of digits
        raise UserError(f"{path}: not usable JSON ({error})") from error
    except RecursionError as error:
        raise UserError(f"{path}: not usable JSON, it is nested too deeply") from error


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
            raise UserError(f"{self.where}, key {key!r}: expected text, found {type(value).__name__}")
        return value

    def object(self, key: str) -> JsonObject:
        return JsonObject.of(self._value(key), f"{self.where}, key {key!r}")

    def list(self, key: str) -> list[Any]:
        value = self._value(key)
        if not isinstance(value, list):
            raise UserError(f"{self.where}, key {key!r}: expected a list, found {type(value).__name__}")
        return value

    def _value(self, key: str) -> Any:
        if key not in self.content:
            raise UserError(f"{self.where}: key {key!r} is missing")
        return self.content[key]
