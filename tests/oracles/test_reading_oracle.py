"""The reader against the release: spans, their loss, cells to learn from, texts cut from pieces, EM and F1."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from mate_cli.encoding.encode import encode
from mate_cli.encoding.features import EncodingOptions
from mate_cli.encoding.tokenizer import CellTokenizer
from mate_cli.models.configuration import MateConfig
from mate_cli.models.span_reading import LinearSpans
from mate_cli.tables.reading import TrainingCells, noisy_cells, release_seed, training_examples
from mate_cli.tables.table import Cell, Example, Table
from mate_cli.tasks.span_reading import mask_spans, span_loss
from tests.oracles.test_encoding_oracle import g_cases, h_table, tokenizer  # noqa: F401

ORACLES = Path(__file__).resolve().parents[3] / "shared" / "oracles"
pytestmark = pytest.mark.oracles


def load(name: str) -> Any:
    return json.loads((ORACLES / name).read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def losses() -> Any:
    return np.load(ORACLES / "d_losses.npz")


def packed(losses: Any) -> tuple[torch.Tensor, torch.Tensor]:
    """The body cell and the document of every padded token, ``[B * S]``."""
    row, column, mask = (losses[f"in_{name}"] for name in ("row_ids", "column_ids", "input_mask"))
    document = np.broadcast_to(np.arange(len(row))[:, None], row.shape)
    body = (row > 0) & (column > 0) & (mask > 0)
    places = np.stack([document, row, column], axis=-1).reshape(-1, 3)
    cell = np.where(body.ravel(), np.unique(places, axis=0, return_inverse=True)[1].ravel(), -1)
    return torch.from_numpy(cell), torch.from_numpy(document.ravel().copy())


def answers(losses: Any) -> torch.Tensor:
    """First and last token of the one labelled span of each example, -1 where there is none."""
    spans = []
    for number, labels in enumerate(losses["in_label_ids_single_span"]):
        places = np.flatnonzero(labels) + number * len(labels)
        spans.append((places[0], places[-1]) if len(places) else (-1, -1))
    return torch.tensor(spans)


def test_span_logits_loss_and_gradient(losses: Any) -> None:
    batch, tokens, width = losses["in_output_layer"].shape
    head = LinearSpans(MateConfig(hidden_size=width, max_span=10))
    weights = torch.from_numpy(losses[f"w_loss/span_output_weights|{2 * width}"])
    bias = torch.from_numpy(losses["w_loss/span_output_bias|"])
    head.load_state_dict({"output.weight": weights.reshape(1, -1), "output.bias": bias.reshape(1)})
    states = torch.from_numpy(losses["in_output_layer"]).reshape(-1, width).requires_grad_()
    cell, document = packed(losses)
    logits = mask_spans(head(states), cell)
    loss, scorable = span_loss(logits, document, answers(losses))
    found = {
        (first // tokens, first % tokens, first % tokens + length): float(logits[length, first])
        for length, first in (logits > -5000).nonzero().tolist()
    }
    indexes, theirs = losses["rc_span_single__span_indexes"], losses["rc_span_single__span_logits"]
    valid = {
        (d, int(i), int(j)): float(x)
        for d in range(batch)
        for (i, j), x in zip(indexes[d], theirs[d], strict=True)
        if x > -5000
    }
    assert found.keys() == valid.keys()
    assert len(found) > 100
    np.testing.assert_allclose([found[key] for key in valid], list(valid.values()), atol=1e-5)
    assert scorable.any()
    assert (loss.detach().sum() / batch).item() == pytest.approx(float(losses["rc_span_single__total_loss"]), abs=1e-5)
    (loss.sum() / batch).backward()
    expected = losses["rc_span_single__grad_output_layer"].reshape(-1, width)
    np.testing.assert_allclose(states.grad, expected, atol=1e-6)


def test_the_answers_place(tokenizer: CellTokenizer) -> None:  # noqa: F811
    """Oracle g: the first cell, row by row, that holds the answer, and its first place in there."""
    case, arrays = g_cases()["update_answer_coordinates"], np.load(ORACLES / "g_tf_examples.npz")
    rows = tuple(tuple(map(Cell, row)) for row in case["rows"])
    cells = tuple((row, column) for row in range(len(rows)) for column in range(len(rows[0])))
    for number, question in enumerate(case["questions"]):
        labels = np.flatnonzero(arrays[f"update_answer_coordinates/q{number}/label_ids"])
        table = Table("t", tuple(map(Cell, case["header"])), rows)
        example = Example("q", question["text"], table, tuple(question["answer_texts"]), candidates=cells)
        (encoded,) = encode([example], tokenizer, EncodingOptions(64, spans=True))
        assert encoded.answer_span == (labels[0], labels[-1])


def test_seeds_and_noisy_cells() -> None:
    misc = load("h_hybridqa.json")["misc"]
    for name, seed in misc["numpy_seed_of_interaction_id"].items():
        assert release_seed(name) == seed
    table = Table("t", (Cell(""),) * 4, ((Cell(""),) * 4,) * 3)
    right = [(0, 1), (2, 3)]
    assert len(misc["noisy_samples"]) == 8
    for sample in misc["noisy_samples"]:
        noise = sample["strategy"].replace("col_confined", "column")
        found = noisy_cells(table, right, noise, np.random.RandomState(sample["seed"]))
        assert [list(cell) for cell in found] == sample["coordinates"]


def test_reading_texts_of_the_release() -> None:
    """Oracle h: one table of all candidate cells, and an example for each, with their passages."""
    compared = 0
    for case in load("h_hybridqa.json")["cases"]:
        table, passages = h_table(case)
        for one in case["examples"]:
            candidates = tuple((r, c) for r, c in one["answer_coordinates"])
            if not candidates or len(candidates) > 8:  # more: the answer of which nothing is left
                continue
            example = Example(one["example"]["question_id"], "?", table, ("x",), passages, candidates)
            for rc in one["rc"]:
                if rc["use_original_coordinates"]:
                    continue
                made = training_examples(example, TrainingCells(together=not rc["single_cell_examples"]))
                ours = sorted(sorted(cell.text for cell in own.table.rows[0]) for own in made)
                theirs = sorted(sorted(text for row in own["cells"] for text in row) for own in rc["interactions"])
                assert ours == theirs
                compared += 1
    assert compared > 15


def test_texts_cut_from_pieces(tokenizer: CellTokenizer) -> None:  # noqa: F811
    """Oracle j: the text that the release makes of pieces of a cell, widened to whole words."""
    oracle = load("j_metrics.json")["detokenize"]
    compared = 0
    for case in oracle["cases"]:
        text, wanted = oracle["cells"][case["cell_row"]], np.array(case["token_ids"])
        pieces = tokenizer.batch([text], characters=True)
        assert pieces.characters is not None
        windows = np.lib.stride_tricks.sliding_window_view(pieces.ids, len(wanted))
        for place in np.flatnonzero((windows == wanted).all(axis=1))[:1]:
            cut = text[pieces.characters[place, 0] : pieces.characters[place + len(wanted) - 1, 1]]
            assert cut == case["detokenized"]
            compared += 1
    assert compared == 6  # two spans are not in their cells
