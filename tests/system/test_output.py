"""What an output of any encoding gets: all characters, and JSON that can be read back."""

from __future__ import annotations

import io
import json
import sys

import pytest

from mate_cli.system.output import escape_unwritable, print_json

TEXT = "Łódź é \U0001f600 \udcff"


@pytest.mark.parametrize("encoding", ["latin-1", "ascii", "cp1252", "utf-8", "utf-16"])
def test_json_is_read_back_from_every_encoding(encoding: str, monkeypatch: pytest.MonkeyPatch) -> None:
    written = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(written, encoding))
    escape_unwritable()
    print_json({TEXT: [TEXT]}, indent=2)
    print(TEXT)
    sys.stdout.flush()
    text = written.getvalue().decode(encoding)
    record, end = json.JSONDecoder().raw_decode(text)
    assert record == {TEXT: [TEXT]}
    assert text[end:].strip() == TEXT.encode(encoding, "backslashreplace").decode(encoding)
    assert ("Łódź" in text) == encoding.startswith("utf")


def test_other_ways_to_write_what_is_lacking_are_left(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(io.BytesIO(), "ascii", errors="replace"))
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    escape_unwritable()
    assert sys.stdout.errors == "replace"
