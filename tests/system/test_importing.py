"""Garbage is collected after imports, and not during them."""

from __future__ import annotations

import gc
import weakref

import pytest

from mate_cli.system.importing import without_collection


class Cycle:
    def __init__(self) -> None:
        self.own = self


def test_nothing_is_collected_during_imports() -> None:
    with without_collection():
        kept = [Cycle() for _ in range(10)]
        references = [weakref.ref(cycle) for cycle in kept]
        del kept
        _ = [[] for _ in range(100_000)]  # enough for many collections
        assert all(reference() is not None for reference in references)


def test_garbage_is_collected_afterwards_also_after_an_error() -> None:
    with pytest.raises(ImportError), without_collection():
        raise ImportError
    assert gc.isenabled()
    reference = weakref.ref(Cycle())
    gc.collect()
    assert reference() is None


def test_what_was_imported_first_is_not_looked_at_again() -> None:
    gc.unfreeze()
    with without_collection():
        kept = [[number] for number in range(1000)]
    frozen = gc.get_freeze_count()
    assert frozen >= len(kept)
    with without_collection():
        kept += [[number] for number in range(1000)]
    assert gc.get_freeze_count() <= frozen
