"""Fields of encoded rows."""

from __future__ import annotations

import numpy as np
import pytest
from datasets import Dataset

from mate_cli.encoding.row_fields import row_field

FIELDS = {"length": [7, 5, 9, 2], "id": ["a", "b", "c", "d"], "answer_value": [0.5, float("nan"), -1.0, float("inf")]}


@pytest.mark.parametrize("name", FIELDS)
def test_a_field_is_that_of_each_row_in_order(name: str) -> None:
    rows = Dataset.from_dict(FIELDS).with_format("numpy")
    np.testing.assert_array_equal(row_field(rows, name), np.array(FIELDS[name]))
    chosen = rows.select([2, 0])
    np.testing.assert_array_equal(row_field(chosen, name), np.array([chosen[0][name], chosen[1][name]]))
    np.testing.assert_array_equal(row_field(FIELDS, name), np.array(FIELDS[name]))
