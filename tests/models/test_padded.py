"""The padded batches of exported graphs, without ONNX: the logits and numbers of packed batches."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor

from mate_cli.encoding.batch import Batch
from mate_cli.encoding.padded import padded_batch
from mate_cli.models.cell_selection import MateForCellSelection
from mate_cli.models.configuration import MateConfig
from mate_cli.tasks.cell_selection import CellSelection
from mate_cli.tasks.task import Task
from mate_cli.training.onnx_graph import Graph
from tests.models.test_table_qa import TASKS, batch_of, class_of

HEADS = {"mate": {}, "full": {"pooling": "text"}, "row_or_column": {"text_only": True}}


@pytest.mark.parametrize("heads", HEADS)
@pytest.mark.parametrize("name", [*TASKS, "selector", "nothing"])
def test_a_padded_batch_is_a_packed_one(
    name: str, heads: str, small_config: Callable[..., MateConfig], padded_tables: dict[str, Tensor]
) -> None:
    """In double precision, with every pattern, head and pooling."""
    config = small_config(heads=heads, **HEADS[heads])
    task: Task = CellSelection() if name == "selector" else TASKS.get(name, TASKS["wtq"])
    task.prepare_model(config)
    config.allow_empty_column_selection = name == "nothing"
    torch.manual_seed(3)
    model = (MateForCellSelection if name == "selector" else class_of(task))(config).double().eval()
    batch = batch_of(padded_tables, config)
    mask, types = padded_tables["attention_mask"], padded_tables["token_type_ids"].clone()
    types[mask == 0] = 1  # what stands in the padding does not matter
    inputs = (padded_tables["input_ids"], mask, types, torch.zeros_like(mask))
    with torch.no_grad():
        expected = parts(task.logits(model, batch))
        found = parts(Graph(model, task)(*inputs))
    if name == "mentions":
        expected[1], found[1] = expected[1], found[1][mask.flatten() > 0]
    compare(found, expected, batch, 1e-9)


def test_cells_and_headers_have_the_numbers_of_a_packed_batch(
    small_config: Callable[..., MateConfig], padded_tables: dict[str, Tensor]
) -> None:
    batch, mask = batch_of(padded_tables, small_config()), padded_tables["attention_mask"]
    padded = padded_batch(**padded_tables, position_ids=torch.zeros_like(mask), kinds=("row", "column"))
    for name in ("cell", "header", "document", "input_ids", "text"):
        assert torch.equal(getattr(padded, name)[mask.flatten() > 0], getattr(batch, name)), name
        assert (getattr(padded, name)[mask.flatten() == 0] <= 2).all()
    cells = len(batch.cell_header)
    assert torch.equal(padded.cell_header[:cells], batch.cell_header)
    assert (padded.cell_header[cells:] == -1).all()


def parts(logits: Any) -> list[Tensor]:
    return list(logits) if isinstance(logits, tuple) else [logits]


def compare(found: list[Tensor], expected: list[Tensor], batch: Batch, limit: float = 1e-4) -> None:
    """Scores beyond those of the batch are ignored; those of header cells come after the graph's own cells."""
    assert len(found) == len(expected)
    for mine, own in zip(expected, found, strict=True):
        cells = min(len(mine), len(batch.cell_document)) if len(mine) > len(batch.header_document) else len(mine)
        assert len(own) >= len(mine)
        torch.testing.assert_close(own[:cells], mine[:cells], atol=limit, rtol=limit)
