"""Masked language modelling against the upstream release: ``m`` (examples) and ``l`` (the head and its loss)."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest
import torch
from torch.nn import functional as F

from mate_cli.encoding.masked_example import MaskingOptions, masked_row
from mate_cli.encoding.table_pieces import TablePieces, table_pieces
from mate_cli.encoding.tokenizer import CellTokenizer
from mate_cli.models.configuration import MateConfig
from mate_cli.models.masked_language import PiecePredictions
from mate_cli.tables.corpus import CorpusTable
from mate_cli.tables.table import Cell, Table

pytestmark = pytest.mark.oracles

ORACLES = Path(__file__).resolve().parents[3] / "shared" / "oracles"
EXAMPLES = ORACLES / "m_pretraining_examples_meta.json"
TAGS = [own["tag"] for own in json.loads(EXAMPLES.read_text())["examples"]] if EXAMPLES.exists() else []
# Name there -> name here. Values of cells and their scale are of the fine-tuning tasks; next sentences are none.
SAME = {
    "input_ids": "input_ids",
    "segment_ids": "segment",
    "column_ids": "column",
    "row_ids": "row",
    "prev_label_ids": "prev_label",
    "column_ranks": "column_rank",
    "inv_column_ranks": "inv_column_rank",
    "numeric_relations": "numeric_relation",
}


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory: pytest.TempPathFactory) -> CellTokenizer:
    folder = tmp_path_factory.mktemp("vocabulary")
    (folder / "vocab.txt").write_bytes((ORACLES / "vocab_testdata.txt").read_bytes())
    return CellTokenizer(folder)


@pytest.fixture(scope="module")
def pieces(tokenizer: CellTokenizer) -> TablePieces:
    own = json.loads(EXAMPLES.read_text())["interaction"]
    header, *rows = (tuple(map(Cell, row)) for row in (own["header"], *own["rows"]))
    texts = tuple(question["text"] for question in own["questions"])
    return table_pieces([CorpusTable(Table("t", header, tuple(rows)), texts, {})], tokenizer)[0]


@pytest.fixture(scope="module")
def expected() -> Any:
    return np.load(ORACLES / "m_pretraining_examples.npz")


def test_there_are_twelve_examples() -> None:
    assert len(TAGS) == 12


@pytest.mark.parametrize("tag", TAGS)
def test_an_example_is_the_releases(tag: str, pieces: TablePieces, tokenizer: CellTokenizer, expected: Any) -> None:
    variant, seed = tag.split("_seed")
    options = MaskingOptions(64, whole_cells=variant != "nocell", joined_texts=variant != "first", max_text=16)
    row = masked_row(pieces, tokenizer, options, Random(int(seed)))
    length = int(expected[f"{tag}/input_mask"].sum())
    for theirs, ours in SAME.items():
        np.testing.assert_array_equal(row[ours], expected[f"{tag}/{theirs}"][:length], err_msg=theirs)
    real = expected[f"{tag}/masked_lm_weights"] > 0
    np.testing.assert_array_equal(row["masked"], expected[f"{tag}/masked_lm_positions"][real])
    np.testing.assert_array_equal(row["target"], expected[f"{tag}/masked_lm_ids"][real])


def test_the_head_and_its_loss_are_the_releases() -> None:
    own = {name: torch.tensor(values) for name, values in np.load(ORACLES / "l_mlm_heads.npz").items()}
    words = own["embedding_table"]
    head = PiecePredictions(MateConfig(vocab_size=len(words), hidden_size=words.shape[1], hidden_act="gelu_new"))
    stem = "w:cls/predictions/"
    head.load_state_dict(
        {
            "transform.dense.weight": own[f"{stem}transform/dense/kernel"].T,
            "transform.dense.bias": own[f"{stem}transform/dense/bias"],
            "transform.LayerNorm.weight": own[f"{stem}transform/LayerNorm/gamma"],
            "transform.LayerNorm.bias": own[f"{stem}transform/LayerNorm/beta"],
            "bias": own[f"{stem}output_bias"],
        }
    )
    example = torch.arange(len(own["masked_lm_positions"]))[:, None]
    states = own["sequence_output"][example, own["masked_lm_positions"].long()].flatten(0, 1)
    logits = head(states, words)
    torch.testing.assert_close(logits.log_softmax(1), own["mlm_log_probs"], atol=1e-5, rtol=1e-5)
    losses = F.cross_entropy(logits, own["masked_lm_ids"].flatten().long(), reduction="none")
    torch.testing.assert_close(losses, own["mlm_per_example_loss"], atol=1e-5, rtol=1e-5)
    weights = own["masked_lm_weights"].flatten()
    # The release adds 1e-5 to the number of tokens, lest it be 0.
    torch.testing.assert_close(losses[weights > 0].mean(), own["mlm_loss"], atol=1e-5, rtol=1e-5)
