"""What holds for all tests."""

from hypothesis import HealthCheck, settings

from tests.compilers import pytest_collection_modifyitems  # noqa: F401
from tests.user_errors import pytest_sessionfinish, pytest_terminal_summary, pytest_testnodedown  # noqa: F401

# Machines that tests share pause them at will; how fast we are is measured by `mate bench`.
settings.register_profile("mate", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("mate")
