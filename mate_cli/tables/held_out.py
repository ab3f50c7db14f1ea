"""Which tables of a corpus are validated with: those of the pages whose names have the lowest hashes.

Tables of one page are not parted, for they share their texts. A table is always on the same side for the same corpus.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

import numpy as np

LEAST_TABLES = 64
"""Fewer than these say little: a small corpus holds out a larger share, but at most half."""


def page_hashes(pages: Iterable[str]) -> np.ndarray:
    """The first eight bytes of the sha256 of each name, uint64 ``[pages]``."""
    digests = (hashlib.sha256(page.encode()).digest()[:8] for page in pages)
    return np.frombuffer(b"".join(digests), dtype=">u8").astype(np.uint64)


def are_held_out(hashes: np.ndarray, wanted: int) -> np.ndarray:
    """Which tables are held out, bool ``[tables]``: as many as wanted, and the others of the last one's page.

    Args:
        hashes: of the page of each table, uint64 ``[tables]``; wanted: ``LEAST_TABLES`` where it is fewer, half of the
            tables where it is more than that.
    """
    wanted = min(max(wanted, LEAST_TABLES), len(hashes) // 2)
    if not wanted:
        return np.zeros(len(hashes), dtype=bool)
    return np.asarray(hashes <= np.partition(hashes, wanted - 1)[wanted - 1])
