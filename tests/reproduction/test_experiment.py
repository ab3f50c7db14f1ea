"""The shipped descriptions of the paper's tables and figures: each is read, and names what exists."""

from __future__ import annotations

from pathlib import Path

import pytest

from mate_cli.config import schema
from mate_cli.config.catalogue import options, reproduce_folder
from mate_cli.config.train import TrainConfig
from mate_cli.reporting.published import HYBRIDQA
from mate_cli.reproduction.experiment import (
    Experiment,
    FlowOf,
    Measured,
    PublishedValue,
    Stages,
    Trainings,
    chosen_experiments,
    read_experiment,
)
from mate_cli.system.errors import UserError

EXPERIMENTS = {experiment.name: experiment for experiment in chosen_experiments("all")}


def chains(experiment: Experiment) -> set[Trainings]:
    found: set[Trainings] = set()
    for row in experiment.rows.values():
        for source in row.sources.values():
            match source:
                case Trainings():
                    found.add(source)
                case Stages(selector, reader):
                    found |= {selector, reader}
                case FlowOf(chain):
                    found.add(chain)
    return found


def test_every_table_and_figure_of_the_issue_is_there() -> None:
    tables = {f"table{number}" for number in range(1, 9)}
    figures = {f"figure{number}" for number in (1, 2, 4, 5, 6)}
    assert set(EXPERIMENTS) == tables | figures | {
        "equivalence",
        "stages",
        "ratio",
        "linformer_k",
        "queries",
        "after_queries",
        "released",
        "dose",
        "chains",
    }
    assert len(list(reproduce_folder().iterdir())) == len(EXPERIMENTS) == 22


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_a_description_holds_together(name: str) -> None:
    experiment = EXPERIMENTS[name]
    first = (reproduce_folder() / f"{name}.yaml").read_text(encoding="utf-8").splitlines()[0]
    assert first.startswith("# ")
    assert len(first) > 30
    assert experiment.reference is None or experiment.reference in experiment.rows
    for column in experiment.columns.values():
        assert column.median_run_of is None or column.median_run_of in experiment.columns
    for row in experiment.rows.values():
        assert row.paper or row.sources
        assert row.reference is None or row.reference in experiment.rows
        assert not row.sources or {column.source for column in experiment.columns.values()} <= set(row.sources)
        assert set(row.paper) <= set(experiment.columns)


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_the_words_of_the_trainings_are_options_and_keys_that_exist(name: str) -> None:
    groups = schema.groups(TrainConfig)
    for chain in chains(EXPERIMENTS[name]):
        for words in chain.words:
            for word in words.split():
                key, _, value = word.partition("=")
                if key in groups:
                    assert value in {option.name for option in options(key)}
                else:
                    assert schema.find(TrainConfig, key)


def test_every_suite_of_the_benches_exists() -> None:
    suites = {option.name for option in options("suite")}
    measured = {
        source
        for experiment in EXPERIMENTS.values()
        for row in experiment.rows.values()
        for source in row.sources.values()
        if isinstance(source, Measured)
    }
    assert len(measured) == 1  # table 1 and figures 4 to 6 share one bench
    (source,) = measured
    assert source.of("smoke").split()[1] == "sizes=[tiny]"
    for schedule in ("paper", "laptop", "smoke"):
        assert source.of(schedule).split()[0].removeprefix("suite=") in suites


def test_table_5_and_the_figures_beside_evaluations_agree() -> None:
    rows = EXPERIMENTS["table5"].rows
    for system in HYBRIDQA:
        name = system.system.split(" (")[0]
        if system.system == "MITQA":
            continue
        for split, groups in system.figures.items():
            for group, pair in groups.items():
                for measure, value in zip(("EM", "F1"), pair, strict=True):
                    assert rows[name].paper[f"{split} {group} {measure}"].value == value


def test_the_errors_of_the_paper_stand_behind_its_numbers() -> None:
    assert EXPERIMENTS["table8"].rows["TAPAS"].paper["SQA SEQ"] == PublishedValue(40.0, 1.0)
    assert EXPERIMENTS["table6"].rows["HYBRIDER"].paper == {"Hits@1": PublishedValue(68.5)}


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ("titel: x", "titel"),
        ("unit: percents", "did you mean percent"),
        ("figure: figure9", "figure9"),
        ("rows: {A: {typo: [task=mlm]}}", "no column is of"),
        ("rows: {A: {run: {selektor: []}}}", "no source"),
        ("rows: {A: {paper: [1, 2]}}", "zip"),
    ],
)
def test_a_mistake_in_a_description_is_found(tmp_path: Path, change: str, words: str) -> None:
    file = tmp_path / "x.yaml"
    file.write_text(f"title: x\nlabel: x\ncolumns: {{a: {{of: run}}}}\n{change}\n")
    with pytest.raises(ValueError, match=words):
        read_experiment(file)


def test_an_unknown_table_is_one_line() -> None:
    with pytest.raises(UserError, match="unknown table or figure 'tabel5': did you mean table5") as caught:
        chosen_experiments("tabel5")
    assert "\n" not in str(caught.value)
