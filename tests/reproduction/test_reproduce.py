"""From a table to its runs and back: what is planned, done and gone on with; nothing is trained."""

from __future__ import annotations

import os
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from mate_cli.config.reproduce import DataConfig, ReproduceConfig
from mate_cli.reproduction.carry_out import raise_failures
from mate_cli.reproduction.outcome import outcome
from mate_cli.reproduction.plan import commands as shell_commands
from mate_cli.reproduction.plan import plan, wanted_steps
from mate_cli.reproduction.steps import Training
from mate_cli.runs.folder import RunFolder, read_record
from mate_cli.system.errors import UserError
from mate_cli.system.files import write_json
from tests.reproduction.fake_mate import WEIGHTS, FakeMate, experiment, ledger_of, reproduced, result_of

MATE = "train mlm mate"
SELECTOR = "train mlm mate > hybridqa mate"


def commands(mate: FakeMate) -> list[str]:
    """Task and seed of each training that was started."""
    words = [dict(word.split("=", 1) for word in own[1:]) for own in mate.seen]
    return [f"{own['task']} {own['seed']}" for own in words]


def test_a_short_key_for_every_training_sets_the_schedule_that_is_reproduced(config: ReproduceConfig) -> None:
    config.words, config.schedule = "lr=0.5", "smoke"
    ledger = ledger_of(config)
    for step in wanted_steps([experiment("table6")], config):
        assert isinstance(step, Training)
        schedules = ledger.training_config(step).task.schedules
        assert schedules["smoke"].lr == 0.5 != schedules["laptop"].lr


def test_parents_come_first_and_every_step_once(config: ReproduceConfig) -> None:
    both = [experiment("table6"), experiment("stages")]
    steps = wanted_steps(both, replace(config, only=None, seeds=2))
    assert len(steps) == len(set(steps)) == 9 + 2 * (13 + 1 + 1)  # pre-trainings once; selectors, reader, answers
    for place, step in enumerate(steps):
        assert set(step.needs) <= set(steps[:place])
    titles = [step.title for step in steps]
    assert titles.index("train mlm tapas > hybridqa mate without_sparse_pretraining, seed 0") < titles.index(
        "train mlm sat > hybridqa sat, seed 1"
    )


def test_what_is_missing_runs_once_and_the_row_has_its_median(config: ReproduceConfig, tmp_path: Path) -> None:
    config = replace(config, seeds=3)
    mate = FakeMate(score=lambda own: {0: 0.5, 1: 0.75, 2: 0.25}[own.seed])
    found, failures = reproduced(config, mate)
    assert failures == {}
    assert commands(mate) == ["mlm 0", "hybridqa 0", "hybridqa 1", "hybridqa 2"]
    selector = dict(word.split("=", 1) for word in mate.seen[1][1:])
    assert Path(selector["backbone.path"]).parent == tmp_path / "runs" / "mlm"
    assert (selector["backbone"], selector["schedule"], selector["model"]) == ("run", "laptop", "mate")
    cell = found.rows[0].cells["Hits@1"]
    assert cell.by_seed == {0: 50, 1: 75, 2: 25}
    assert cell.ours is not None
    assert (cell.ours.median, cell.ours.half_iqr, cell.ours.n) == (50, 12.5, 3)
    assert cell.difference == pytest.approx(50 - 80.1)
    again = FakeMate()
    assert reproduced(config, again)[0].rows[0].cells["Hits@1"] == cell
    assert again.seen == []


def test_records_count_without_the_weights(config: ReproduceConfig) -> None:
    config = replace(config, what="stages", only=None, seeds=2)
    found, _ = reproduced(config, FakeMate())
    for weights in Path(config.paths.runs).rglob("best"):
        shutil.rmtree(weights)
    again = FakeMate()
    assert reproduced(config, again)[0].rows == found.rows
    assert again.seen == []


def test_killed_in_the_middle_it_does_only_the_rest(config: ReproduceConfig) -> None:
    config = replace(config, seeds=2)
    first, second = FakeMate(stops_after=2), FakeMate()
    with pytest.raises(KeyboardInterrupt):
        reproduced(config, first)
    found, _ = reproduced(config, second)
    assert (commands(first), commands(second)) == (["mlm 0", "hybridqa 0"], ["hybridqa 1"])
    assert len(found.rows[0].cells["Hits@1"].by_seed) == 2


def test_an_unfinished_run_is_gone_on_with_and_a_finished_one_runs_again_when_asked(config: ReproduceConfig) -> None:
    reproduced(config, FakeMate())
    (run,) = Path(config.paths.runs, "hybridqa").iterdir()
    RunFolder(run).set_status("interrupted")
    ledger = ledger_of(config)
    assert [own.state for own in plan(wanted_steps([experiment("table6")], config), ledger)] == ["done", "interrupted"]
    mate = FakeMate()
    reproduced(config, mate)
    assert [own[-2:] for own in mate.seen] == [[f"name={run.name}", "resume=true"]]
    again = FakeMate(fails=lambda words: True)
    _, failures = reproduced(replace(config, again=True), again)
    assert [own[-1] for own in again.seen] == ["overwrite=true"]
    assert failures[f"{MATE}, seed 0"].startswith("the disk is full (exit code 1")
    assert failures[f"{SELECTOR}, seed 0"] == f"skipped, because it needs: {MATE}, seed 0"


def test_a_run_with_a_name_of_several_parts_is_gone_on_with(config: ReproduceConfig) -> None:
    reproduced(config, FakeMate())
    (run,) = Path(config.paths.runs, "hybridqa").iterdir()
    moved = Path(shutil.move(run, run.parent / "exp" / "one"))
    RunFolder(moved).set_status("interrupted")
    ledger, steps = ledger_of(config), wanted_steps([experiment("table6")], config)
    (line,) = shell_commands(plan(steps, ledger), ledger)
    assert line.endswith(" name=exp/one resume=true")
    mate = FakeMate()
    reproduced(config, mate)
    assert [own[-2:] for own in mate.seen] == [["name=exp/one", "resume=true"]]
    assert result_of(moved)["state"] == "done"


def test_a_failure_costs_only_what_needs_it(config: ReproduceConfig) -> None:
    said: list[str] = []
    mate = FakeMate(fails=lambda words: "task=hybridqa" in words and "seed=0" in words)
    found, failures = reproduced(replace(config, seeds=2), mate, said)
    assert set(failures) == {f"{SELECTOR}, seed 0"}
    assert found.rows[0].cells["Hits@1"].by_seed.keys() == {1}
    assert any("the disk is full" in line for line in said)
    with pytest.raises(UserError, match="1 step failed; see the lines above"):
        raise_failures(failures)


def test_runs_of_whatever_name_and_hardware_count_and_others_do_not(config: ReproduceConfig) -> None:
    reproduced(config, FakeMate())
    runs = Path(config.paths.runs)
    (run,) = (runs / "hybridqa").iterdir()
    moved = shutil.move(run, runs / "hybridqa" / "by-hand")

    def state() -> str:
        return plan(wanted_steps([experiment("table6")], config), ledger_of(config))[-1].state

    original = (moved / "config.yaml").read_text()
    for old, new, expected in (
        ("accelerator: auto", "accelerator: gpu", "done"),
        ("project: mate", "project: other", "done"),
        ("name: mate\n", "name: mine\n", "done"),
        ("  expansion: tfidf\n", "", "done"),  # a folder from before there was this key
        ("  expansion: tfidf\n", "  expansion: all\n", "to do"),
        ("  pooling: null\n", "  pooling: text\n", "done"),  # of which a selector makes nothing
        ("\nseed: 0", "\nseed: 7", "to do"),
        ("row_ratio: 0.5", "row_ratio: 0.25", "to do"),
        ("/hybridqa\n", "/elsewhere\n", "to do"),
    ):
        assert old in original
        (moved / "config.yaml").write_text(original.replace(old, new, 1))
        assert state() == expected, (old, new)
    (moved / "config.yaml").write_text(original)
    (parent,) = (runs / "mlm").iterdir()
    (parent / WEIGHTS).write_text("trained again")
    os.utime(parent / WEIGHTS, ns=(1, 1))
    assert state() == "to do"


def test_a_parent_trained_again_under_another_name_leaves_the_child_done(config: ReproduceConfig) -> None:
    reproduced(config, FakeMate())
    (parent,) = Path(config.paths.runs, "mlm").iterdir()
    again = shutil.copytree(parent, parent.with_name("again"))
    (again / WEIGHTS).write_text("other weights")
    RunFolder(again).set_status("done", time="9999", weights="other")
    mate = FakeMate()
    reproduced(replace(config, seeds=2), mate)
    assert commands(mate) == ["hybridqa 1"]
    assert f"backbone.path={again}" in mate.seen[0]
    first, second = (replace(wanted_steps([experiment("table6")], config)[-1], seed=seed) for seed in (0, 1))
    ledger = ledger_of(config)
    assert [run.path for run in ledger.lineage(first)][1:] == [parent]
    assert [run.path for run in ledger.lineage(second)][1:] == [again]


def test_without_pre_training_the_chain_starts_later(config: ReproduceConfig) -> None:
    mate = FakeMate()
    reproduced(replace(config, pretrain=False), mate)
    assert commands(mate) == ["hybridqa 0"]
    row = replace(config, pretrain=False, only="MATE (- sparse pretrain)")
    (planned,) = plan(wanted_steps([experiment("table6")], row), ledger_of(row))
    assert planned.hindrance == "without_sparse_pretraining changes the pre-training; leave out pretrain=false"
    assert reproduced(row, FakeMate())[1] == {}


def test_rows_whose_data_is_not_named_are_left_out(config: ReproduceConfig) -> None:
    bare = replace(config, data=DataConfig(hybridqa="x"))
    planned = plan(wanted_steps([experiment("table6")], bare), ledger_of(bare))
    assert {own.hindrance for own in planned} == {"data.tables is not set"}
    mate = FakeMate()
    found, failures = reproduced(bare, mate)
    assert (mate.seen, failures, found.rows[0].cells["Hits@1"].by_seed) == ([], {}, {})


@pytest.mark.parametrize("words", [None, "lr=0.5"])
@pytest.mark.parametrize("what", ["table6", "stages"])
def test_rows_whose_task_lacks_the_schedule_are_left_out(config: ReproduceConfig, what: str, words: str | None) -> None:
    bare = replace(config, what=what, only=None, schedule="released", words=words)
    planned = plan(wanted_steps([experiment(what)], bare), ledger_of(bare))
    lacking = {"task=mlm has no schedule=released", "task=hybridqa_reader has no schedule=released"}
    assert {own.hindrance for own in planned} <= lacking
    mate = FakeMate()
    found, failures = reproduced(bare, mate)
    assert (mate.seen, failures, found.rows[0].cells.popitem()[1].by_seed) == ([], {}, {})


def test_the_test_split_is_that_of_the_run_with_the_median_dev_score(config: ReproduceConfig) -> None:
    """Dev 50, 90 and 70: seed 2 has the median, and alone answers the test questions."""
    mate, config = FakeMate(), replace(config, what="table5", only="PointR + MATE", seeds=3)
    found, failures = reproduced(config, mate)
    assert failures == {}
    tested = [own for own in mate.seen if "split=test" in own]
    assert len(tested) == 1
    cells = found.rows[0].cells
    assert cells["dev Total EM"].by_seed == {0: 50, 1: 90, 2: 70}
    assert cells["test Total EM"].by_seed == {2: pytest.approx(20)}
    assert cells["test Total F1"].by_seed == {2: pytest.approx(10)}
    assert (
        reproduced(replace(config, what="table5", only="PointR + MATE", seeds=3), FakeMate(stops_after=0))[0] == found
    )


def test_answers_to_a_part_of_a_split_do_not_count(config: ReproduceConfig) -> None:
    stages = replace(config, what="stages", only="both, exact match")
    found, _ = reproduced(stages, FakeMate())
    assert found.rows[0].cells["share"].by_seed == {0: 50}
    (folder,) = Path(config.paths.runs, "pointr").iterdir()
    write_json(folder / "environment.json", {"command": ["mate", "evaluate", "limit=5"]})
    assert outcome(experiment("stages"), ledger_of(stages)).rows[0].cells["share"].by_seed == {}


@pytest.mark.parametrize(("limit", "command", "counted"), [(5, ["mate"], {}), (None, ["mate", "limit=5"], {0: 50})])
def test_answers_are_whole_or_not_by_their_own_limit_not_that_of_the_latest_command(
    config: ReproduceConfig, limit: int | None, command: list[str], counted: dict[int, float]
) -> None:
    stages = replace(config, what="stages", only="both, exact match")
    reproduced(stages, FakeMate())
    (folder,) = (RunFolder(path) for path in Path(config.paths.runs, "pointr").iterdir())
    folder.write_metrics("dev", read_record(folder.metrics_file)["dev"] | {"limit": limit})
    write_json(folder.environment_file, {"command": command})
    assert outcome(experiment("stages"), ledger_of(stages)).rows[0].cells["share"].by_seed == counted


def test_an_unknown_row_is_a_users_mistake(config: ReproduceConfig) -> None:
    with pytest.raises(UserError, match="unknown row of table6"):
        wanted_steps([experiment("table6")], replace(config, only="X"))
