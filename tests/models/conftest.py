"""Small models and padded batches of random tables."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import torch

from mate_cli.models.configuration import MateConfig

SMALL = {
    "vocab_size": 90,
    "hidden_size": 48,
    "num_hidden_layers": 2,
    "num_attention_heads": 6,
    "intermediate_size": 96,
    "max_position_embeddings": 64,
    "type_vocab_sizes": [3, 16, 16, 2, 16, 16, 10],
    # Large enough for attention to be far from uniform.
    "initializer_range": 0.3,
}


@pytest.fixture
def small_config() -> Callable[..., MateConfig]:
    return lambda **changes: MateConfig(**{**SMALL, **changes})


@pytest.fixture
def padded_tables() -> dict[str, torch.Tensor]:
    """Three tables as Hugging Face's tokeniser lays them out: padded on the right to one length."""
    random = np.random.default_rng(3)
    shapes = [(7, 4, 3), (3, 2, 6), (1, 5, 1)]
    examples = [table_ids(random, *shape) for shape in shapes]
    length = max(len(ids) for ids, _ in examples) + 3
    batch = {
        "input_ids": torch.zeros(len(shapes), length, dtype=torch.long),
        "attention_mask": torch.zeros(len(shapes), length, dtype=torch.long),
        "token_type_ids": torch.zeros(len(shapes), length, 7, dtype=torch.long),
    }
    for number, (ids, types) in enumerate(examples):
        batch["input_ids"][number, : len(ids)] = torch.from_numpy(ids)
        batch["attention_mask"][number, : len(ids)] = 1
        batch["token_type_ids"][number, : len(ids)] = torch.from_numpy(types)
    return batch


def table_ids(random: np.random.Generator, question: int, rows: int, columns: int) -> tuple[np.ndarray, np.ndarray]:
    """Word ids ``[tokens]`` and token types ``[tokens, 7]`` of a table whose cells have 1 to 3 tokens."""
    cells = [(row, column) for row in range(rows + 1) for column in range(1, columns + 1)]
    lengths = random.integers(1, 4, len(cells))
    types = np.zeros((question + lengths.sum(), 7), dtype=np.int64)
    types[question:, 0] = 1
    types[question:, 2], types[question:, 1] = np.repeat(cells, lengths, axis=0).T
    types[question:, 3:] = random.integers(0, 2, (lengths.sum(), 4))
    return random.integers(1, 90, len(types)), types
