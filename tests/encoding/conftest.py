"""A vocabulary small enough to read, with words of one piece and of several."""

from __future__ import annotations

import os
import signal
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


def die(*_: object) -> None:
    """What a worker does in place of its work: end as one that the system kills for lack of memory."""
    os.kill(os.getpid(), signal.SIGKILL)
