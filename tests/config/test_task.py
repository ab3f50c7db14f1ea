"""The configuration of the tasks: their schedules, those of the paper above all, and what else they choose."""

from __future__ import annotations

from dataclasses import replace

import pytest

from mate_cli.config.catalogue import options, schedules
from mate_cli.config.plain import to_plain
from mate_cli.config.rules import problems
from mate_cli.config.task import active_schedule
from tests.config.test_config import config_of, train_config


@pytest.mark.parametrize(
    ("task", "backbone", "schedule"),
    [
        ("sample", "minilm", "laptop"),
        ("hybridqa", "bert_large", "paper"),
        ("sample_reader", "minilm", "laptop"),
        ("hybridqa_reader", "bert_large", "paper"),
        ("sqa", "bert_large", "paper"),
        ("wtq", "bert_large", "paper"),
        ("tabfact", "bert_large", "paper"),
        ("mlm", "bert_large", "paper"),
        ("synthetic", "bert_large", "paper"),
        ("counterfactual", "bert_large", "paper"),
        ("cs", "bert_large", "paper"),
        ("queries", "minilm", "laptop"),
    ],
)
def test_the_task_chooses_backbone_and_schedule(task: str, backbone: str, schedule: str) -> None:
    chosen = train_config(f"task={task}")
    assert chosen.backbone.name == backbone
    assert active_schedule(chosen) is chosen.task.schedules[schedule]


@pytest.mark.parametrize("overrides", [("task=hybridqa", "backbone=minilm"), ("backbone=minilm", "task=hybridqa")])
def test_a_backbone_on_the_command_line_wins_over_the_tasks(overrides: tuple[str, ...]) -> None:
    chosen = train_config(*overrides, "schedule=laptop")
    assert (chosen.backbone.name, chosen.backbone.source) == ("minilm", "package")
    assert active_schedule(chosen) is chosen.task.schedules["laptop"]


def test_the_papers_schedule_of_hybridqa() -> None:
    """Appendix A.2: batch 128, 80,000 steps, N=2048, clip 10, lr 1e-5, warm-up 5%."""
    paper = active_schedule(train_config("task=hybridqa"))
    assert (paper.batch, paper.steps, paper.epochs, paper.max_tokens) == (128, 80_000, None, 2048)
    assert (paper.clip_norm, paper.lr, paper.head_lr, paper.warmup) == (10.0, 1e-5, None, 0.05)
    assert (paper.dropout, paper.attention_dropout, paper.weight_decay) == (0.1, 0.1, 0.01)


def test_the_papers_schedule_of_the_reader() -> None:
    """Appendix A.2, section 4.2: batch 512, 25,000 steps, 512 tokens, clip 10, lr 5e-5, warm-up 1%; full attention."""
    chosen = train_config("task=hybridqa_reader")
    paper = active_schedule(chosen)
    assert (paper.batch, paper.steps, paper.epochs, paper.max_tokens) == (512, 25_000, None, 512)
    assert (paper.clip_norm, paper.lr, paper.head_lr, paper.warmup) == (10.0, 5e-5, None, 0.01)
    assert (chosen.model.name, chosen.task.kind, chosen.task.span.head) == ("tapas", "span_reading", "mlp")


@pytest.mark.parametrize(
    ("task", "batch", "steps", "lr", "warmup", "dropout", "attention_dropout"),
    [
        ("sqa", 128, 200_000, 1.25e-5, 0.01, 0.1, 0.1),
        ("wtq", 512, 50_000, 1.93581e-5, 0.12896, 0.1, 0.1),
        ("tabfact", 512, 80_000, 2e-5, 0.05, 0.07, 0.0),
    ],
)
def test_the_papers_schedules_are_those_of_the_tapas_release(
    task: str, batch: int, steps: int, lr: float, warmup: float, dropout: float, attention_dropout: float
) -> None:
    """docs/notes.md, notes 30 and 31: the release clips the norm at 1, so that clipping elements at 10 does nothing."""
    paper = active_schedule(train_config(f"task={task}"))
    assert (paper.batch, paper.steps, paper.epochs, paper.max_tokens) == (batch, steps, None, 512)
    assert (paper.clip_norm, paper.lr, paper.head_lr, paper.warmup) == (1.0, lr, None, warmup)
    assert (paper.dropout, paper.attention_dropout, paper.weight_decay) == (dropout, attention_dropout, 0.01)
    assert not paper.bias_correction


def test_statements_are_learnt_at_the_length_and_with_the_batch_of_the_release() -> None:
    """docs/notes.md, note 32: 128 tokens, batch 512, 5e-5, warm-up 1%; one schedule for both kinds and their mix."""
    both, *each = (train_config(f"task={name}").task for name in ("cs", "synthetic", "counterfactual"))
    assert [(own.name, own.format, own.kind) for own in each] == [
        ("synthetic", "synthetic", "entailment"),
        ("counterfactual", "counterfactual", "entailment"),
    ]
    assert each[0].schedules == each[1].schedules == both.schedules
    assert {own.max_tokens for own in both.schedules.values()} == {128}
    paper = both.schedules["paper"]
    assert (paper.batch, paper.lr, paper.warmup) == (512, 5e-5, 0.01)


def test_how_questions_on_tables_are_learnt() -> None:
    """docs/notes.md, notes 25 and 31: the first answers with cells alone, the second also with an operator on them."""
    sqa, wtq, tabfact = (train_config(f"task={name}").task for name in ("sqa", "wtq", "tabfact"))
    assert (sqa.kind, wtq.kind, tabfact.kind) == ("table_qa", "table_qa", "entailment")
    assert (sqa.qa.aggregation, sqa.qa.temperature, sqa.qa.zero_head) == (False, 1.0, False)
    assert (wtq.qa.aggregation, wtq.qa.temperature, wtq.qa.zero_head) == (True, 0.0352513, True)
    assert (wtq.qa.answer_loss_cutoff, wtq.qa.cell_select_pref, wtq.qa.huber_delta) == (0.664694, 0.207951, 0.121194)
    own = train_config("task=own_qa").task
    assert own.qa == replace(wtq.qa, difference=True)


def test_a_model_on_the_command_line_wins_over_the_readers() -> None:
    assert train_config("task=sample_reader", "model=mate").model.heads == "mate"
    assert config_of("prepare", "task=sample_reader").model.heads == "full"
    assert train_config().model.heads == config_of("prepare").model.heads == "mate"


@pytest.mark.parametrize("task", [option.name for option in options("task")])
def test_every_task_has_the_four_schedules(task: str) -> None:
    chosen = train_config(f"task={task}")
    assert set(chosen.task.schedules) >= {"paper", "small", "laptop", "smoke"}
    assert all(chosen.task.schedules[name].attention_dropout == 0 for name in ("small", "laptop", "smoke"))
    assert sum(line.name.startswith(f"{task}: ") for line in schedules()) == len(chosen.task.schedules)


def test_the_papers_schedules_of_pre_training() -> None:
    """Appendix A.1: MATE 1M steps of 512 examples of 128 tokens; Linformer and TableETC 2M steps."""
    schedules_of = train_config("task=mlm").task.schedules
    numbers = {name: (own.batch, own.steps, own.max_tokens) for name, own in schedules_of.items()}
    assert numbers["paper"] == (512, 1_000_000, 128)
    assert numbers["paper_linformer"] == (128, 2_000_000, 2048)
    assert numbers["paper_table_etc"] == (32, 2_000_000, 2048)
    for name in ("paper", "paper_linformer", "paper_table_etc"):
        assert (schedules_of[name].lr, schedules_of[name].warmup) == (5e-5, 0.01)
    assert {"small", "laptop", "smoke"} < set(schedules_of)


def test_the_text_of_an_example_has_limits_in_order() -> None:
    wrong = train_config("task=mlm", "task.masking.min_text=40")
    assert problems(wrong) == ["task.masking.min_text=40 is more than max_text=32"]


@pytest.mark.parametrize(
    ("short", "full"),
    [
        (["lr=0.5", "batch=3", "max_tokens=64"], ["lr=0.5", "batch=3", "max_tokens=64"]),
        (["steps=7"], ["steps=7", "epochs=null"]),
        (["epochs=7"], ["steps=null", "epochs=7"]),
        (["epochs=null"], []),
    ],
)
@pytest.mark.parametrize("schedule", ["laptop", "paper"])  # the one has epochs, the other steps
def test_a_short_key_sets_the_schedule_in_use_and_no_other(schedule: str, short: list[str], full: list[str]) -> None:
    words = ["task=hybridqa", f"schedule={schedule}"]
    named = train_config(*words, *(f"task.schedules.{schedule}.{word}" for word in full))
    assert problems(named) == []
    assert to_plain(train_config(*words, *short)) == to_plain(named)


@pytest.mark.parametrize(("command", "word"), [("prepare", "encode=true"), ("analyze", "analysis=coverage")])
def test_other_commands_take_the_tokens_of_the_schedule_in_use(command: str, word: str) -> None:
    config = config_of(command, word, "task=wtq", "schedule=laptop", "max_tokens=99")
    assert active_schedule(config).max_tokens == 99
    assert config.task.schedules["paper"].max_tokens != 99


def test_robustness_keeps_its_own_tokens() -> None:
    assert config_of("analyze", "analysis=robustness", "run=x", "max_tokens=99").max_tokens == 99
