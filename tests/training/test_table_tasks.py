"""SQA, WikiTableQuestions and TabFact on examples in memory: what training starts from, and that it learns."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from mate_cli.config.task import active_schedule
from mate_cli.encoding.batch import Batch
from mate_cli.encoding.encode import encode, row_of
from mate_cli.encoding.tokenizer import CellTokenizer
from mate_cli.kinds.registry import task_of
from mate_cli.models.table_qa import MateForTableQuestionAnswering
from mate_cli.tables.table import Cell, Example, Table
from mate_cli.training.backend import collator_for
from mate_cli.training.module import TaskModule
from mate_cli.training.splits import encoding_options
from mate_cli.training.starting_model import starting_model
from tests.training.test_every_model import SILENT, composed

TEAMS = (("team", "city", "cups"), ("reds", "Leeds", "2"), ("blues", "York", "5"), ("jets", "York", "1"))
HEADER, *ROWS = (tuple(map(Cell, row)) for row in TEAMS)
TABLE = Table("teams", HEADER, tuple(ROWS))
CELLS = [
    Example("0", "which teams are from York?", TABLE, candidates=((1, 0), (2, 0))),
    Example("1", "which of them won 5 cups?", TABLE, candidates=((1, 0),), previous=((1, 0), (2, 0))),
    Example("2", "where are the reds from?", TABLE, candidates=((0, 1),)),
    Example("3", "how many cups did the jets win?", TABLE, candidates=((2, 2),)),
]
EIGHT = {
    "sqa": [
        *CELLS,
        Example("4", "all teams", TABLE, candidates=((0, 0), (1, 0), (2, 0))),
        Example("5", "and their cities?", TABLE, candidates=((0, 1), (1, 1), (2, 1)), previous=((0, 0),)),
        Example("6", "who won most?", TABLE, candidates=((1, 0),)),
        Example("7", "and how often?", TABLE, candidates=((1, 2),), previous=((1, 0),)),
    ],
    "wtq": [
        *CELLS,
        Example("4", "how many teams are from York?", TABLE, value=2.0, candidates=((0, 2),)),
        Example("5", "how many teams are there?", TABLE, value=3.0),
        Example("6", "how many cities are there?", TABLE, value=2.0),
        Example("7", "who is from Leeds?", TABLE, candidates=((0, 0),)),
    ],
    "tabfact": [
        Example(str(number), text, TABLE, label=number % 2)
        for number, text in enumerate(
            [
                "the reds are from York",
                "the reds are from Leeds",
                "the jets won 5 cups",
                "the blues won 5 cups",
                "no team is from York",
                "two teams are from York",
                "the jets won most",
                "the blues won most",
            ]
        )
    ],
}


def prepared(name: str, *words: str) -> tuple[TaskModule, Batch]:
    config = composed(f"task={name}", "backbone=tiny", "schedule=laptop", *words)
    torch.manual_seed(0)
    model, vocabulary, _ = starting_model(config, task_of(config), SILENT)
    schedule = active_schedule(config)
    schedule.max_tokens, schedule.contrast, schedule.mentions = 256, 0.0, 0.0  # the loss of the release alone
    options = encoding_options(config, task_of(config), model.config)
    encoded = encode(EIGHT[name], CellTokenizer(vocabulary), options)
    collator = collator_for(model.config, config.model, config.model.attention.backend, "cpu")
    rows = [row_of(example, own) for example, own in zip(EIGHT[name], encoded, strict=True)]
    return TaskModule(model, task_of(config)), collator(rows)


@pytest.mark.parametrize("name", EIGHT)
def test_it_learns_eight_examples_by_heart(name: str) -> None:
    # The release's temperature and cut-off are made for its slow start.
    words = ("task.qa.temperature=1", "task.qa.answer_loss_cutoff=null") if name == "wtq" else ()
    module, batch = prepared(name, *words)
    optimizer = torch.optim.AdamW(module.model.parameters(), lr=3e-3)
    for _ in range(150):
        loss = module.task.losses(module(batch), batch).mean()
        if loss < 0.05:
            break
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    assert loss < 0.05
    answers: Any = module.task.predict(module.model.eval(), batch)
    for example, answer, verdict in zip(EIGHT[name], answers, module.task.verdicts(answers, batch), strict=True):
        # The expected result may be that of halves of cells: its loss is small, and no choice of cells is right.
        assert verdict.right if example.value is None else answer.aggregation != "NONE"


def test_a_histogram_row_changes_what_is_read_and_not_what_is_answered() -> None:
    for name in EIGHT:
        module, batch = prepared(name, "model=sat")
        assert (batch.token_types[:, 0] == 2).any()
        losses = module.task.losses(module(batch), batch)
        losses.mean().backward()
        assert losses.isfinite().all()
        assert len(module.task.predict(module.model, batch)) == 8


@pytest.mark.parametrize(
    ("name", "schedule", "labels", "temperature", "zero"),
    [("sqa", "laptop", 0, 1.0, False), ("wtq", "paper", 4, 0.0352513, True), ("wtq", "laptop", 4, 1.0, True)],
)
def test_the_model_is_the_one_that_the_task_asks_for(
    name: str, schedule: str, labels: int, temperature: float, zero: bool
) -> None:
    config = composed(f"task={name}", "backbone=minilm", f"schedule={schedule}")
    model, _, new = starting_model(config, task_of(config), SILENT)
    assert isinstance(model, MateForTableQuestionAnswering)
    own = model.config
    assert (own.num_aggregation_labels, own.temperature, own.init_cell_selection_weights_to_zero) == (
        labels,
        temperature,
        zero,
    )
    head = {"output_weights", "output_bias", "column_output_weights", "column_output_bias"}
    head |= {"aggregation_classifier.weight", "aggregation_classifier.bias"} if labels else set()
    assert {parameter for parameter in new if "token_type" not in parameter} == head
    assert bool(model.output_weights.any()) != zero


def test_the_classifier_is_new() -> None:
    config = composed("task=tabfact", "backbone=minilm", "schedule=laptop")
    _, _, new = starting_model(config, task_of(config), SILENT)
    heads = {f"{head}.{kind}" for head in ("classifier", "mention") for kind in ("weight", "bias")}
    assert {name for name in new if "token_type" not in name} == heads
