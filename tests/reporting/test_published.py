"""The constants, checked by what the paper says about them elsewhere."""

from __future__ import annotations

import pytest

from mate_cli.metrics.hybridqa import GROUPS
from mate_cli.reporting.published import HYBRIDQA

BY_SYSTEM = {system.system: system.figures for system in HYBRIDQA}


def test_the_headline_differences_of_the_paper() -> None:
    """Paper section 6: 19 points of exact match over HYBRIDER on test, over 2.5 over Linformer in both measures."""
    mate, hybrider, linformer = (
        BY_SYSTEM[name]["test"]["Total"] for name in ("PointR + MATE", "HYBRIDER (tau = 0.8)", "PointR + Linformer")
    )
    assert mate[0] - hybrider[0] == pytest.approx(19.0)
    assert min(mate[0] - linformer[0], mate[1] - linformer[1]) > 2.5


def test_every_figure_is_a_percentage_with_a_source() -> None:
    assert len(BY_SYSTEM) == len(HYBRIDQA) == 10
    for system in HYBRIDQA:
        assert system.source
        for groups in system.figures.values():
            assert set(groups) <= set(GROUPS)
            for exact, f1 in groups.values():
                assert 0 <= exact <= f1 <= 100
