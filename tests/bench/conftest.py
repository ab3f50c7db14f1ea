"""One process that measures memory for all tests: it imports everything when it starts."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from mate_cli.bench.memory import MemoryServer


@pytest.fixture(scope="session")
def memory_server() -> Iterator[MemoryServer]:
    made = MemoryServer(threads=1)
    yield made
    made.close()
