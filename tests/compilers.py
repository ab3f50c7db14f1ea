"""The C++ compiler that the kernel of ``native`` needs: where there is none, its tests are skipped."""

from __future__ import annotations

import pytest

from mate_cli.attention.native.compiler import KernelUnavailable, find_compiler


def has_compiler() -> bool:
    try:
        find_compiler()
    except KernelUnavailable:
        return False
    return True


NATIVE = ["native"] if has_compiler() else []
"""The backend's name where it works, for lists of backends."""

needs_compiler = pytest.mark.skipif(not NATIVE, reason="needs a C++ compiler")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip tests with the parameter ``native`` where it does not work."""
    for item in items:
        parameters = item.callspec.params.values() if hasattr(item, "callspec") else ()
        if "native" in [value for value in parameters if isinstance(value, str)]:
            item.add_marker(needs_compiler)
