"""Tables that no training is behind: counts of data, measurements, attention flow."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from mate_cli.config.catalogue import reproduce_folder
from mate_cli.config.model import BackboneConfig
from mate_cli.config.paths import PathsConfig
from mate_cli.config.reproduce import DataConfig, ReproduceConfig
from mate_cli.reproduction.experiment import read_experiment
from mate_cli.reproduction.ledger import Ledger
from mate_cli.reproduction.outcome import Outcome, bench_numbers, flow_numbers, outcome
from mate_cli.reproduction.plan import wanted_steps
from mate_cli.reproduction.report import caption_of, outcome_grid
from mate_cli.system.files import write_json

BENCH = {
    "finished": True,
    "device": {"device": "cpu", "threads": 2, "cpu": "Some CPU", "instructions": "AVX2"},
    "records": [
        {"model": "mate", "length": 2048, "speedup": {"hf_tapas": {"median": 2.5}}},
        {"model": "mate", "length": 4096},
        {"model": "mate", "length": 8192},
        {"model": "hf_tapas", "length": 2048, "speedup": {}},
    ],
}
POINT = {"size": "base", "layers": 2, "batch": 1, "layout": "grid", "mode": "forward"}
POINT |= {"dtype": "fp32", "device": "cpu", "seed": 0}
COUNTS = {
    "train": {"questions": 9, "subsets": {"passage": 5, "table": 4}},
    "test": {"questions": 2, "subsets": {}},
    "total": {"questions": 11, "tables": 3},
}


def table(name: str, folder: Path, result: dict[str, Any], file: str) -> tuple[Outcome, Ledger, str]:
    """The table whose one step left ``result``; and the line of that step's command."""
    config = ReproduceConfig(
        what=name,
        schedule="laptop",
        backbone=BackboneConfig(name="tiny", source="random"),
        data=DataConfig(hybridqa="h"),
        paths=PathsConfig(runs=str(folder)),
    )
    ledger, experiment = Ledger(config, ["backbone=tiny"]), read_experiment(reproduce_folder() / f"{name}.yaml")
    (step,) = wanted_steps([experiment], config)
    words = step.words(ledger, again=False)
    (to,) = (Path(word.removeprefix("to=")) for word in words if word.startswith("to="))
    assert outcome(experiment, ledger).rows[0].cells[next(iter(experiment.columns))].ours is None
    to.mkdir(parents=True)
    write_json(to / file, result)
    return outcome(experiment, ledger), ledger, " ".join(words)


def test_counts_stand_beside_the_papers_and_hidden_ones_stay_out(tmp_path: Path) -> None:
    found, ledger, words = table("table2", tmp_path, COUNTS, "statistics.json")
    assert words.startswith("prepare task=hybridqa data_dir=h encode=false to=")
    lines = {(line[0], line[1]): line[2:] for line in outcome_grid(found)}
    assert lines["In-Passage", "ours"] == ["5", "–", "–", "–"]
    assert lines["Total", "ours"] == ["9", "–", "2", "11"]
    difference = next(line[2:] for line in outcome_grid(found) if line[1] == "difference")
    assert difference == ["-35,210", "–", "–", "–"]
    assert not found.agreement
    assert "sample" not in caption_of(found, ledger)


def test_measurements_are_read_from_the_bench(tmp_path: Path) -> None:
    records: Any = BENCH["records"]
    above = [{"seconds_above_limit": {"median": 1e-6 * record["length"] ** 1.5}} for record in records]
    bench = BENCH | {"records": [POINT | record | time for record, time in zip(records, above, strict=True)]}
    found, ledger, words = table("figure4", tmp_path, bench, "results.json")
    assert words.startswith("bench suite=paper to=")
    cells = {own.row.name: own.cells["value"] for own in found.rows}
    assert cells["time of TAPAS / MATE, 2048 tokens"].by_seed == {0: 2.5}
    assert cells["time of TAPAS / MATE, 2048 tokens"].difference == 0.5
    assert cells["exponent of MATE"].by_seed == {0: pytest.approx(1.5)}
    assert cells["exponent of Linformer"].by_seed == {}
    assert caption_of(found, ledger).startswith("Ours: mate bench suite=paper, Some CPU, AVX2, 2 threads.")
    assert bench_numbers(bench)["exponents"]["memory"] == {"mate": None}
    elsewhere = bench | {"records": [*bench["records"], *(r | {"layout": "columns_2"} for r in bench["records"])]}
    assert bench_numbers(elsewhere)["exponents"]["time above limit"] == pytest.approx(
        {"mate": 1.5, "mate, columns_2": 1.5}
    )
    assert {own.codes for own in found.rows} == {()}
    assert not found.agreement  # speed-ups and exponents have no common order


@pytest.mark.parametrize(("dirty", "code"), [(True, "aaaaaaaaaa+"), (False, "aaaaaaaaaa")])
def test_a_bench_of_code_that_is_in_no_commit_says_so(tmp_path: Path, dirty: bool, code: str) -> None:
    records: Any = BENCH["records"]
    environment = {"git": {"commit": "a" * 40, "dirty": dirty}}
    bench = BENCH | {"records": [POINT | record for record in records], "environment": environment}
    found, ledger, _ = table("figure4", tmp_path, bench, "results.json")
    codes = {bool(own.cells["value"].by_seed): own.codes for own in found.rows}
    assert codes == {True: (code,), False: ()}  # a row without a value was made by no code
    assert (f"code with changes that are in no commit: {code}." in caption_of(found, ledger)) is dirty


def test_an_unfinished_bench_counts_for_nothing(tmp_path: Path) -> None:
    found, _, _ = table("figure6", tmp_path, BENCH | {"finished": False}, "results.json")
    assert all(own.cells["value"].ours is None for own in found.rows)


def test_the_quotient_of_a_flow_is_of_attention_and_uniform() -> None:
    found = flow_numbers({"attention": [0.5, 0.5, 0.0], "uniform": [0.25, 0.75, 0.0]})
    assert found["attention"] == {"0": 50, "1": 50, "2": 0}
    assert found["ratio"] == {"0": 2, "1": pytest.approx(2 / 3)}
    assert flow_numbers({"uniform": [1.0]}) == {"uniform": {"0": 100}}
