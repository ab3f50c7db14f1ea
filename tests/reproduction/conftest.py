"""What the tests of reproduction share."""

from __future__ import annotations

import pytest

from mate_cli.runs import provenance


@pytest.fixture(autouse=True)
def _one_version(monkeypatch: pytest.MonkeyPatch) -> None:
    """Made runs are of one version of the code; asking git each time takes longer than the tests."""
    monkeypatch.setattr(provenance, "_git_state", lambda: {"commit": "a" * 40, "dirty": False})
