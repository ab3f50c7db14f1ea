"""Every kind that can be configured has its record, and nothing else asks which kind it is."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from mate_cli.config.kinds import KINDS
from mate_cli.kinds import entailment, span_reading
from mate_cli.kinds.kind import TaskKind
from mate_cli.kinds.registry import kind_named

PACKAGE = Path(__file__).parents[2] / "mate_cli"
SHARED = {"__init__", "accuracy", "kind", "registry", "asked_form"}


def test_each_kind_is_a_module_of_its_name() -> None:
    assert {file.stem for file in (PACKAGE / "kinds").glob("*.py")} - SHARED == set(KINDS)
    assert [kind_named(name).name for name in KINDS] == list(KINDS)


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        (span_reading.KIND, r"kinds/entailment\.py: its model is of kind=span_reading"),
        (replace(entailment.KIND, answering=None), r"kinds/entailment\.py: answers single questions here or"),
    ],
)
def test_a_record_that_contradicts_its_traits_is_refused(
    kind: TaskKind, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(entailment, "KIND", kind)
    with pytest.raises(ValueError, match=message):
        kind_named.__wrapped__("entailment")


@pytest.mark.parametrize("name", KINDS)
def test_no_other_module_names_a_kind(name: str) -> None:
    """But for the list itself, defaults, and the heads, which say theirs."""
    listed = ("config/kinds.py", "config/task.py", "models/configuration.py")
    heads = {PACKAGE / "models" / f"{head}.py" for head in KINDS}
    named = {file for file in PACKAGE.rglob("*.py") if re.search(rf'"{name}"', file.read_text(encoding="utf-8"))}
    assert named - heads - {PACKAGE / file for file in listed} == set()
