"""What holds for all tests."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import pytest
from hypothesis import HealthCheck, settings

from mate_cli.tables import sample
from tests.compilers import pytest_collection_modifyitems  # noqa: F401
from tests.user_errors import pytest_sessionfinish, pytest_terminal_summary, pytest_testnodedown  # noqa: F401

# Machines that tests share pause them at will; how fast we are is measured by `mate bench`.
settings.register_profile("mate", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("mate")


@pytest.fixture(scope="session", autouse=True)
def small_sample() -> Iterator[None]:
    """Trainings of this process generate a fifth of the sample, but in ``tests/analysis`` and ``tests/tables``."""
    fifth = partial(sample.write_sample, tables_per_domain={"dev": 2, "test": 2, "train": 10})
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sample, "write_sample", fifth)
        yield
