"""A vocabulary small enough to read, with words of one piece and of several."""

from __future__ import annotations

from pathlib import Path

import pytest

from mate_cli.encoding.tokenizer import CellTokenizer


@pytest.fixture(scope="session")
def vocabulary() -> Path:
    """A folder with a ``vocab.txt``."""
    return Path(__file__).parent / "vocabulary"


@pytest.fixture(scope="session")
def tokenizer(vocabulary: Path) -> CellTokenizer:
    return CellTokenizer(vocabulary)
