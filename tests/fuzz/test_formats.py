"""Spoilt files: each gives a result or one clear line, never a traceback, and soon (make test-fuzz: 5,000 of each)."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mate_cli.system.errors import UserError
from tests.fuzz.mutations import EDITS, Edit
from tests.fuzz.targets import TARGETS, BrokenTable, Target

_LONGEST_MESSAGE = 1000
_SECONDS = 5.0  # of the processor: a small file takes milliseconds
FEW, MANY = 10, 5000

_each_target = pytest.mark.parametrize("target", TARGETS, ids=lambda target: target.name)


def outcome(target: Target, folder: Path, content: bytes) -> str:
    """What comes of a content: a result or a clear error; all else raises."""
    (folder / target.file).write_bytes(content)
    started = time.process_time()
    try:
        texts = list(target.read(folder))
    except (UserError, BrokenTable) as error:
        message = str(error).replace(str(folder), "")
        assert all(map(str.isprintable, message.split("\n"))), repr(message)  # a line for each mistake
        assert 10 < len(message) < _LONGEST_MESSAGE
        return "clear error"
    finally:
        assert time.process_time() - started < _SECONDS
    for text in texts:
        text.encode()  # no half characters
    return "result"


def prepared(target: Target, folder: Path) -> Path:
    """A folder with all that the target is read with."""
    target.release(folder)
    (folder / target.file).parent.mkdir(parents=True, exist_ok=True)
    return folder


def fuzz(target: Target, folder: Path, examples: int, record: Callable[[str, Any], None]) -> None:
    prepared(target, folder)
    counts: Counter[str] = Counter()

    @settings(max_examples=examples, database=None, derandomize=examples == FEW, suppress_health_check=[*HealthCheck])
    @given(st.integers(0, len(target.sound) - 1), EDITS)
    def spoilt(number: int, edits: Sequence[Edit]) -> None:
        counts["inputs"] += 1
        counts[outcome(target, folder, target.spoil(target.sound[number], edits))] += 1

    try:
        spoilt()
    finally:
        record("fuzz", [target.name, counts["inputs"], counts["result"], counts["clear error"]])


@_each_target
def test_sound_files_are_read(target: Target, tmp_path: Path) -> None:
    prepared(target, tmp_path)
    assert "result" in {outcome(target, tmp_path, content) for content in target.sound}


@_each_target
def test_a_few_spoilt_files(target: Target, tmp_path: Path, record_property: Callable[[str, Any], None]) -> None:
    fuzz(target, tmp_path, FEW, record_property)


@pytest.mark.fuzz
@pytest.mark.timeout(3600)
@_each_target
def test_many_spoilt_files(target: Target, tmp_path: Path, record_property: Callable[[str, Any], None]) -> None:
    fuzz(target, tmp_path, MANY, record_property)
