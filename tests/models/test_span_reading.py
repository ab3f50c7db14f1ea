"""The reader's heads against the layer on [start; end] that they stand for."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from mate_cli.attention import Layout
from mate_cli.config.task import SPAN_HEADS
from mate_cli.models.cell_selection import MateForCellSelection
from mate_cli.models.configuration import MateConfig
from mate_cli.models.span_reading import LinearSpans, MateForSpanReading, MlpSpans
from mate_cli.models.variants import make_planner
from mate_cli.models.weights import load_model, save_model
from mate_cli.system.errors import UserError

Config = Callable[..., MateConfig]


def spans_of(tokens: int, max_span: int) -> tuple[torch.Tensor, torch.Tensor]:
    pairs = [(i, j) for i in range(tokens) for j in range(i, min(i + max_span, tokens))]
    first, last = torch.tensor(pairs).T
    return first, last


@pytest.mark.parametrize("max_span", [1, 4, 30])
def test_the_mlp_by_halves_is_the_mlp_on_both_ends(small_config: Config, max_span: int) -> None:
    head = MlpSpans(small_config(max_span=max_span)).double()
    states = torch.randn(11, 48, dtype=torch.float64, requires_grad=True)
    first, last = spans_of(11, max_span)
    both = torch.cat([states[first], states[last]], dim=1)
    hidden = both @ torch.cat([head.start.weight, head.end.weight], dim=1).T + head.start.bias
    expected = head.output(hidden.relu()).squeeze(1)
    logits = head(states)[last - first, first]
    torch.testing.assert_close(logits, expected)
    inputs = [states, *head.parameters()]
    weights = torch.randn_like(logits)
    ours = torch.autograd.grad((logits * weights).sum(), inputs)
    theirs = torch.autograd.grad((expected * weights).sum(), inputs)
    for own, other in zip(ours, theirs, strict=True):
        torch.testing.assert_close(own, other)


def test_the_linear_head_is_a_layer_on_both_ends(small_config: Config) -> None:
    head = LinearSpans(small_config(max_span=5)).double()
    states = torch.randn(11, 48, dtype=torch.float64)
    first, last = spans_of(11, 5)
    expected = head.output(torch.cat([states[first], states[last]], dim=1)).squeeze(1)
    torch.testing.assert_close(head(states)[last - first, first], expected)


@pytest.mark.parametrize("head", SPAN_HEADS)
def test_a_saved_reader_scores_as_before(small_config: Config, head: str, tmp_path: Path) -> None:
    model = MateForSpanReading(small_config(kind="span_reading", span_head=head, max_span=3, heads="full")).eval()
    save_model(model, tmp_path / "best", tmp_path)
    again = load_model(tmp_path / "best", MateForSpanReading, "full")
    assert (again.config.span_head, again.config.max_span) == (head, 3)
    row = torch.tensor([0, 0, 1, 1, 1]).numpy()
    plan = make_planner(model.config)(Layout(row * 0, row, row, row))
    types = torch.zeros(5, 7, dtype=torch.long)
    inputs = {"input_ids": torch.arange(5), "token_types": types, "positions": torch.arange(5), "plan": plan}
    assert torch.equal(model(**inputs), again(**inputs))


def test_a_reader_is_no_selector_nor_the_other_way_round(small_config: Config, tmp_path: Path) -> None:
    save_model(MateForSpanReading(small_config(kind="span_reading")), tmp_path / "reader", tmp_path)
    save_model(MateForCellSelection(small_config()), tmp_path / "selector", tmp_path)
    with pytest.raises(UserError, match=r"reader holds .* kind=span_reading, .* kind=cell_selection;") as as_selector:
        load_model(tmp_path / "reader", MateForCellSelection)
    with pytest.raises(UserError, match=r"selector holds .* kind=cell_selection, .* kind=span_reading;") as as_reader:
        load_model(tmp_path / "selector", MateForSpanReading)
    assert all("\n" not in str(caught.value) for caught in (as_selector, as_reader))
