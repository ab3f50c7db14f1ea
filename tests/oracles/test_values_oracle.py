"""Texts, numbers, dates and ranks against the upstream release: ``f_text_normalisation``."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mate_cli.tables.text import convert_to_float, format_text, normalize_for_match, words_and_marks, wtq_normalize

pytestmark = pytest.mark.oracles

ORACLES = Path(__file__).resolve().parents[3] / "shared" / "oracles"


def load() -> Any:
    return json.loads((ORACLES / "f_text_normalisation.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    ("name", "normalise"),
    [
        ("normalize_for_match", normalize_for_match),
        ("format_text", format_text),
        ("wtq_normalize", wtq_normalize),
        ("tokenize_string", words_and_marks),
    ],
)
def test_normal_forms(name: str, normalise: Callable[[str], object]) -> None:
    strings = load()["strings"]
    assert len(strings) == 104
    for item in strings:
        assert normalise(item["text"]) == item[name]


def test_texts_as_numbers() -> None:
    for item in load()["strings"]:
        if item["convert_to_float"] == "ValueError":
            with pytest.raises(ValueError, match="could not convert"):
                convert_to_float(item["text"])
        else:
            assert repr(convert_to_float(item["text"])) == item["convert_to_float"]
