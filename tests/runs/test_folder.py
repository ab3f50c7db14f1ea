"""What a run folder makes of broken records."""

from __future__ import annotations

from pathlib import Path

import pytest

from mate_cli.runs.folder import read_record


@pytest.mark.parametrize("text", [None, "", '{"a": ', "null", "5", "[1]", '[["a", 1]]', '"text"'])
def test_a_record_that_is_broken_is_empty(tmp_path: Path, text: str | None) -> None:
    if text is not None:
        (tmp_path / "record.json").write_text(text)
    assert read_record(tmp_path / "record.json") == {}
