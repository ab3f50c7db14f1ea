"""Fields of encoded rows."""

from __future__ import annotations

from typing import Any

import numpy as np


def row_field(rows: Any, name: str) -> np.ndarray:
    """Return a field of all encoded rows, one value each, as an array ``[rows]``.

    Faster than iterating over it: a ``datasets.Dataset`` then takes about 60 microseconds a value.

    Args:
        rows: a ``Dataset`` of encoded rows, or a dictionary of fields.
    """
    return np.asarray(rows[name][:])
