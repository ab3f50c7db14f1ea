"""What holds for all tests."""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from mate_cli.config.paths import PathsConfig
from mate_cli.config.task import TaskConfig
from mate_cli.tables import sample
from mate_cli.tables.data_folder import data_folder
from tests.compilers import pytest_collection_modifyitems  # noqa: F401
from tests.user_errors import pytest_sessionfinish, pytest_terminal_summary, pytest_testnodedown  # noqa: F401

# Machines that tests share pause them at will; how fast we are is measured by `mate bench`.
settings.register_profile("mate", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("mate")


def compiled_by_all(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of compiled kernels that the processes of one test run share."""
    own = tmp_path_factory.getbasetemp()
    folder = (own.parent if "PYTEST_XDIST_WORKER" in os.environ else own) / "native"
    folder.mkdir(exist_ok=True)
    return folder


@pytest.fixture(scope="session", autouse=True)
def cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """One cache for all, so that the user's keeps the whole sample.

    Trainings read a fifth of the sample, but in ``tests/analysis`` and ``tests/tables``; it is written at once, for the
    processes that tests start.
    """
    folder = tmp_path_factory.mktemp("cache")
    (folder / "native").symlink_to(compiled_by_all(tmp_path_factory))
    fifth = partial(sample.write_sample, tables_per_domain={"dev": 2, "test": 2, "train": 10})
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MATE_CACHE", str(folder))
        patch.setattr(sample, "write_sample", fifth)
        data_folder(TaskConfig(name="sample", format="sample"), None, PathsConfig(cache=str(folder)))
        yield folder
