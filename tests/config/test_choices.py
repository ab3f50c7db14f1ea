"""What a user may choose has something behind it, and nothing else has."""

from __future__ import annotations

import pytest

from mate_cli.config.choices import one_for_each


def test_a_table_follows_the_list() -> None:
    assert list(one_for_each(("a", "b"), {"b": 2, "a": 1})) == ["a", "b"]


@pytest.mark.parametrize("table", [{"a": 1}, {"a": 1, "b": 2, "c": 3}, {"a": 1, "c": 3}])
def test_a_missing_or_unknown_name_is_refused(table: dict[str, int]) -> None:
    with pytest.raises(ValueError, match=r"without an entry: .* not in the list: "):
        one_for_each(("a", "b"), table)
