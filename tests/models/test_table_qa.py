"""The heads on tables of any size, on every kind of attention, and through a saved folder."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from mate_cli.config.model import TRAINED_HEADS as HEADS
from mate_cli.encoding.batch import Batch, Collator
from mate_cli.models.cell_selection import MateForCellSelection
from mate_cli.models.configuration import MateConfig
from mate_cli.models.entailment import MateForSequenceClassification
from mate_cli.models.model import MatePreTrainedModel
from mate_cli.models.table_qa import MateForTableQuestionAnswering
from mate_cli.models.variants import make_planner
from mate_cli.models.weights import load_model, save_model
from mate_cli.system.errors import UserError
from mate_cli.tasks.entailment import Entailment, EntailmentTask
from mate_cli.tasks.table_qa import TableQA, batch_grid
from mate_cli.tasks.task import Task
from mate_cli.tasks.weak_supervision import WeakSupervision
from tests.models.test_variants import SMALL_VARIANT
from tests.tasks.packed_tables import FULL, padded_batch, table_row

Config = Callable[..., MateConfig]
TASKS = {
    "sqa": TableQA(),
    "wtq": TableQA(0.2, weak=WeakSupervision()),
    "tabfact": EntailmentTask(),
    "mentions": EntailmentTask(mentions=0.5),
}
POOLER = {"tapas.pooler.dense.weight", "tapas.pooler.dense.bias"}


def batch_of(padded_tables: dict[str, Tensor], config: MateConfig, examples: Sequence[int] = (0, 1, 2)) -> Batch:
    """Tables in that order: a labelled cell and no number, both, a number alone."""
    types, mask = (padded_tables[name].numpy() for name in ("token_type_ids", "attention_mask"))
    labels = (types[..., 2] == 1) & (types[..., 1] == 1) & (np.arange(len(types)) < 2)[:, None]
    parts = {
        "types": types,
        "mask": mask,
        "labels": labels,
        "values": np.where(types[..., 2] > 0, types[..., 1].astype(float), np.nan),
        "input_ids": padded_tables["input_ids"].numpy(),
        "answer_value": np.array([np.nan, 3.0, 7.0]),
        "label": np.array([1, 0, 1]),
    }
    chosen = {name: of[list(examples)] for name, of in parts.items()}
    return padded_batch(**chosen, planner=make_planner(config))


def class_of(task: Task) -> type[MatePreTrainedModel]:
    return MateForSequenceClassification if isinstance(task, EntailmentTask) else MateForTableQuestionAnswering


def model_of(task: Task, config: MateConfig) -> Any:
    task.prepare_model(config)
    torch.manual_seed(3)
    return class_of(task)(config)


@pytest.mark.parametrize("heads", HEADS)
@pytest.mark.parametrize("name", TASKS)
def test_every_parameter_learns(name: str, heads: str, small_config: Config, padded_tables: dict[str, Tensor]) -> None:
    config, task = small_config(heads=heads, **SMALL_VARIANT), TASKS[name]
    model = model_of(task, config)
    batch = batch_of(padded_tables, config)
    losses = task.losses(task.logits(model, batch), batch)
    assert (losses > 0).tolist() == [True, True, name != "sqa"]  # whose third table has no cell of the answer
    losses.sum().backward()
    without = {own for own, p in model.named_parameters() if p.grad is None or not p.grad.any()}
    # The bias of all columns alike is nothing to a softmax over them, but for rounding.
    assert without - {"column_output_bias"} == (POOLER if name == "sqa" else set())
    assert all(p.grad is None or p.grad.isfinite().all() for p in model.parameters())


@pytest.mark.parametrize("examples", [(0,), (1,), (2,), (2, 0, 1)])
@pytest.mark.parametrize("name", TASKS)
def test_neighbours_in_a_batch_change_nothing(
    name: str, examples: tuple[int, ...], small_config: Config, padded_tables: dict[str, Tensor]
) -> None:
    config, task = small_config(), TASKS[name]
    model = model_of(task, config).double().eval()
    together, other = batch_of(padded_tables, config), batch_of(padded_tables, config, examples)
    with torch.no_grad():
        logits, others = task.logits(model, together), task.logits(model, other)
    torch.testing.assert_close(task.losses(others, other), task.losses(logits, together)[list(examples)])
    expected = [parts_of(task.predictions(logits, together)[number]) for number in examples]
    for (cells, numbers), own in zip(expected, map(parts_of, task.predictions(others, other)), strict=True):
        assert own[0] == cells
        assert own[1] == pytest.approx(numbers)


def parts_of(prediction: Any) -> tuple[Any, list[float]]:
    """What is exact in a prediction, and its probabilities."""
    if isinstance(prediction, Entailment):
        return prediction.label, [prediction.probability]
    probabilities = [*prediction.probabilities, prediction.aggregation_probability]
    return (prediction.cells, prediction.aggregation), probabilities


def test_a_table_of_80_rows_and_40_columns_has_a_logit_per_cell(small_config: Config) -> None:
    """The release adds up rows from the 64th and columns from the 32nd."""
    config = small_config(heads="mate")
    model = model_of(TASKS["wtq"], config).eval()
    question, places = 4, torch.cartesian_prod(torch.arange(81), torch.arange(1, 41)).numpy()
    types = np.zeros((question + len(places), 7), dtype=np.int64)
    types[question:, 0] = 1
    types[question:, 2], types[question:, 1] = places.T
    ids = np.random.default_rng(0).integers(1, 90, len(types))
    batch = Collator(make_planner(config))([table_row("0", types, input_ids=ids)])
    with torch.no_grad():
        logits = TASKS["wtq"].logits(model, batch)
        states = model.tapas.encode(batch.input_ids, batch.token_types, batch.positions, batch.plan)[question:]
    body, header = states[40:], states[:40]
    expected = (torch.cat([body, header]) @ model.output_weights + model.output_bias) / 0.2
    torch.testing.assert_close(logits.places, expected, atol=1e-4, rtol=1e-5)
    assert len(logits.places) == 81 * 40
    by_column = (states @ model.column_output_weights + model.column_output_bias).view(81, 40).mean(0)
    torch.testing.assert_close(logits.columns, by_column, atol=1e-4, rtol=1e-5)


def test_histogram_rows_are_no_cells() -> None:
    types = np.array([[0] * 7, [1, 1, 0, 0, 0, 0, 0], [1, 1, 1, 0, 0, 0, 0], [2, 1, 2, 0, 0, 0, 0]])
    row = table_row("0", types) | {"cell_value": np.array([np.nan])}
    grid = batch_grid(Collator(FULL)([row]))
    assert grid.place.tolist() == [-1, 1, 0, -1]
    assert grid.column.tolist() == [0, 0]


def test_logits_stay_float32_under_autocast(small_config: Config, padded_tables: dict[str, Tensor]) -> None:
    config = small_config()
    batch = batch_of(padded_tables, config)
    for task in TASKS.values():
        model = model_of(task, config).eval()
        with torch.autocast("cpu", torch.bfloat16):
            logits = task.logits(model, batch)
        parts = [logits] if isinstance(logits, Tensor) else list(logits)
        assert all(part.dtype == torch.float32 for part in parts)


@pytest.mark.parametrize("zero", [True, False])
def test_the_weights_of_cells_and_columns_start_at_zero_on_demand(small_config: Config, zero: bool) -> None:
    model = model_of(TableQA(zero_head=zero, weak=WeakSupervision()), small_config())
    for name in ("output_weights", "column_output_weights"):
        assert bool(model.get_parameter(name).any()) != zero
        assert model.get_parameter(name.replace("weights", "bias")) == 0
    assert model.aggregation_classifier.weight.any()


@pytest.mark.parametrize("name", TASKS)
def test_a_saved_model_answers_as_before(
    name: str, small_config: Config, padded_tables: dict[str, Tensor], tmp_path: Path
) -> None:
    config, task = small_config(), TASKS[name]
    model = model_of(task, config).eval()
    save_model(model, tmp_path / "best", tmp_path)
    again = load_model(tmp_path / "best", class_of(task), "mate")
    assert again.config.to_dict() == model.config.to_dict()
    batch = batch_of(padded_tables, config)
    with torch.no_grad():
        assert task.predictions(task.logits(again, batch), batch) == task.predictions(task.logits(model, batch), batch)


def test_one_kind_is_not_another(small_config: Config, tmp_path: Path) -> None:
    save_model(model_of(TASKS["tabfact"], small_config()), tmp_path / "entails", tmp_path)
    with pytest.raises(UserError, match="a model of kind=entailment, and this needs kind=table_qa; name a") as caught:
        load_model(tmp_path / "entails", MateForTableQuestionAnswering)
    assert "\n" not in str(caught.value)
    save_model(MateForCellSelection(small_config()), tmp_path / "selects", tmp_path)
    with pytest.raises(UserError, match="of kind=cell_selection, and this needs kind=entailment"):
        load_model(tmp_path / "selects", MateForSequenceClassification)


@pytest.mark.parametrize(
    ("field", "value", "words"),
    [
        ("temperature", 0, "temperature is 0"),
        ("temperature", "warm", "temperature is 'warm'"),
        ("num_aggregation_labels", -1, "num_aggregation_labels is -1"),
        ("row_heads_ratio", "half", "row_heads_ratio is 'half'"),
        ("row_heads_ratio", 1.5, "row_heads_ratio is 1.5"),
        ("initializer_range", None, "initializer_range is None"),
        ("layer_norm_eps", "x", "layer_norm_eps is 'x'"),
        ("type_vocab_sizes", ["a", 16, 16, 2, 16, 16, 10], r"type_vocab_sizes is \['a'"),
        ("init_cell_selection_weights_to_zero", 3, "init_cell_selection_weights_to_zero is 3, not one of False, True"),
    ],
)
def test_a_spoilt_configuration_is_one_clear_line(
    field: str, value: Any, words: str, small_config: Config, tmp_path: Path
) -> None:
    model = model_of(TASKS["wtq"], small_config())
    setattr(model.config, field, value)
    save_model(model, tmp_path / "best", tmp_path)
    with pytest.raises(UserError, match=f"describes no BERT or TAPAS model: {words}") as caught:
        load_model(tmp_path / "best", MateForTableQuestionAnswering)
    assert "\n" not in str(caught.value)


def test_columns_that_are_not_there_take_no_part() -> None:
    """Of two tables of four columns, the first without its second and third, the second without its last."""
    row, rows = np.array([0, 0, 0, 1, 1]), []
    for name, last in (("0", 4), ("1", 3)):
        column = np.array([0, 1, last, 1, last])
        types = np.stack([column > 0, column, row, *[np.zeros(5, dtype=int)] * 4], axis=1).astype(np.int64)
        rows.append(table_row(name, types))
    grid = batch_grid(Collator(FULL)(rows))
    assert grid.document.tolist() == [0, 0, 1, 1]
    assert grid.column.tolist() == [0, 1, 2, 3, 0, 1, 2, 3]
    assert grid.place.tolist() == [-1, 4, 5, 0, 1, -1, 6, 7, 2, 3]
