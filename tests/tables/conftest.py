"""The generated sample task, written once for all tests of tables."""

from pathlib import Path

import pytest

from mate_cli.tables.sample import write_sample


@pytest.fixture(scope="package")
def sample_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("sample")
    write_sample(folder)
    return folder
