"""What the command line must know about the data of a task."""

from __future__ import annotations

import pytest

from mate_cli.config.task import TaskConfig
from mate_cli.tables.formats import expands_cells


@pytest.mark.parametrize(
    ("data", "kind", "read", "expected"),
    [
        ("hybridqa", "cell_selection", "both", True),
        ("sample", "cell_selection", "passages", True),
        ("hybridqa", "cell_selection", "table", False),
        ("hybridqa", "span_reading", "both", False),  # it reads whole passages
        ("wtq", "table_qa", "both", False),
        ("own", "cell_selection", "both", False),
        ("tabfact", "entailment", "both", False),
        ("corpus", "masked_language", "both", False),
    ],
)
def test_cells_expand_where_a_model_reads_linked_passages_in_part(
    data: str, kind: str, read: str, expected: bool
) -> None:
    assert expands_cells(TaskConfig(name="task", format=data, kind=kind, input=read)) == expected
