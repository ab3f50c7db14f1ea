"""Cases that a format stumbled over once, or might: each still ends as the ending of its name says (corpus/)."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.fuzz.targets import TARGETS
from tests.fuzz.test_formats import outcome, prepared

_CORPUS = Path(__file__).parent / "corpus"
_CASES = sorted(_CORPUS.glob("*/*"))
_BY_FOLDER = {re.sub("[ /]", "_", target.name): target for target in TARGETS}
_EXPECTED = {".error": "clear error", ".result": "result"}


def test_all_cases_are_there() -> None:
    assert len(_CASES) == 68


@pytest.mark.parametrize("case", _CASES, ids=lambda case: f"{case.parent.name}/{case.stem}")
def test_found_cases(case: Path, tmp_path: Path) -> None:
    target = _BY_FOLDER[case.parent.name]
    assert outcome(target, prepared(target, tmp_path), case.read_bytes()) == _EXPECTED[case.suffix]
