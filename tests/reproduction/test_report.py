"""Tables of experiments as they are shown: marks, captions, the paper's order, and the same in every format."""

from __future__ import annotations

import csv
import io
from dataclasses import replace
from pathlib import Path

import pytest

from mate_cli.config.reproduce import ReproduceConfig
from mate_cli.reproduction.carry_out import carry_out
from mate_cli.reproduction.latex import latex_table
from mate_cli.reproduction.outcome import Outcome, outcome
from mate_cli.reproduction.plan import wanted_steps
from mate_cli.reproduction.report import caption_of, outcome_csv, outcome_grid, outcome_markdown
from mate_cli.runs.folder import RunFolder, read_record
from mate_cli.system.files import write_json
from tests.reproduction.fake_mate import FakeMate, experiment, ledger_of, reproduced


def test_runs_of_two_versions_of_the_code_are_marked(config: ReproduceConfig) -> None:
    reproduced(config, FakeMate())
    (run,) = Path(config.paths.runs, "hybridqa").iterdir()
    file = RunFolder(run).environment_file
    write_json(file, read_record(file) | {"git": {"commit": "f" * 40, "dirty": False}})
    ledger = ledger_of(config)
    found = outcome(experiment("table6"), ledger)
    assert found.rows[0].is_mixed
    caption = caption_of(found, ledger)
    assert caption.startswith("Ours: schedule=laptop, backbone=tiny; medians of n seeds")
    assert caption_of(found, ledger, in_words=True).startswith("Ours: laptop schedule, Random weights")
    assert "runs of several versions of the code" in caption
    assert "ffffffffff" in caption
    assert "| MATE †" in outcome_markdown(found, caption, [])


def test_runs_on_two_processors_or_in_two_precisions_are_marked(config: ReproduceConfig) -> None:
    reproduced(config, FakeMate())
    for task, precision in (("mlm", "bf16-mixed"), ("hybridqa", "32-true")):
        (run,) = Path(config.paths.runs, task).iterdir()
        folder = RunFolder(run)
        write_json(
            Path(run, "status.json"), read_record(Path(run, "status.json")) | {"hardware": {"precision": precision}}
        )
        write_json(folder.environment_file, read_record(folder.environment_file) | {"machine": {"cpu": "Some CPU"}})
    ledger = ledger_of(config)
    found = outcome(experiment("table6"), ledger)
    assert found.rows[0].is_mixed
    marked = "† runs of several precisions or processors: 32-true, Some CPU; bf16-mixed, Some CPU."
    assert marked in caption_of(found, ledger)


@pytest.fixture
def two_rows(config: ReproduceConfig) -> Outcome:
    """MATE above TAPAS by 25 and 15 points, TAPAS above SAT by 10."""
    score = {"mate": 0.75, "tapas": 0.5, "sat": 0.4}
    three = replace(config, only=None, seeds=2, what="table6")
    ledger, table = ledger_of(three), experiment("table6")
    table = replace(table, rows={name: table.rows[name] for name in ("HYBRIDER", "SAT", "TAPAS", "MATE")})
    mate = FakeMate(score=lambda own: score[own.model.name] + own.seed * (0.1 if own.model.name == "tapas" else 0))
    carry_out(wanted_steps([table], three), ledger, lambda line: None, mate)
    return outcome(table, ledger)


def test_whether_the_rows_come_in_the_papers_order(two_rows: Outcome) -> None:
    """Ours 40, 55, 75; the paper's 77.9, 80.1, 80.1: ranks 1 2 3 against 1 2.5 2.5."""
    own = two_rows.agreement["Hits@1"]
    assert own.rows == 3
    assert own.rank_correlation == pytest.approx(3**0.5 / 2)
    tapas, sat = own.contrasts["TAPAS"], own.contrasts["SAT"]
    assert (tapas.ours.mean, tapas.theirs, tapas.verdict) == (pytest.approx(20), 0, "open")
    assert tapas.p == pytest.approx(1 - 4 / 18**0.5)  # 75 and 75 against 50 and 60: t of 4 with two degrees of freedom
    assert (sat.ours.mean, sat.theirs, sat.runs, sat.verdict) == (pytest.approx(35), pytest.approx(2.2), (2, 2), "open")
    assert "HYBRIDER" not in own.contrasts


def test_a_row_without_a_published_value_is_compared_with_the_reference(two_rows: Outcome) -> None:
    """75 and 75 against 50 and 60: a mean difference of 20, without a verdict on the paper's."""
    tapas = next(entry for entry in two_rows.rows if entry.row.name == "TAPAS")
    unpublished = replace(tapas, cells={name: replace(cell, published=None) for name, cell in tapas.cells.items()})
    rows = tuple(unpublished if entry is tapas else entry for entry in two_rows.rows)
    found = replace(two_rows, rows=rows).agreement["Hits@1"]
    assert found.rows == 2
    difference = found.contrasts["TAPAS"]
    assert (difference.ours.mean, difference.theirs, difference.verdict) == (pytest.approx(20), None, None)
    assert difference.p == two_rows.agreement["Hits@1"].contrasts["TAPAS"].p
    text = outcome_markdown(replace(two_rows, rows=rows), "", [])
    assert "| Hits@1 | TAPAS | – | +20.0 |" in text


def test_a_row_can_be_compared_with_a_row_of_its_own(two_rows: Outcome) -> None:
    """SAT's 40 and 40 with TAPAS's 50 and 60, and not with MATE's 75; TAPAS, whose reference is itself, with none."""
    own = {"SAT": "TAPAS", "TAPAS": "TAPAS"}
    rows = {name: replace(row, reference=own.get(name, "MATE")) for name, row in two_rows.experiment.rows.items()}
    entries = tuple(replace(entry, row=rows[entry.row.name]) for entry in two_rows.rows)
    found = replace(two_rows, experiment=replace(two_rows.experiment, rows=rows), rows=entries)
    contrasts = found.agreement["Hits@1"].contrasts
    assert list(contrasts) == ["SAT"]
    assert contrasts["SAT"].ours.mean == pytest.approx(15)
    assert "| Hits@1 | SAT (reference: TAPAS) | +2.2 | +15.0 |" in outcome_markdown(found, "", [])


def test_a_row_without_a_published_value_or_a_spread_is_not_compared(two_rows: Outcome) -> None:
    single = tuple(
        replace(
            entry,
            cells={
                name: replace(cell, published=None, by_seed=dict([*cell.by_seed.items()][:1]))
                for name, cell in entry.cells.items()
            },
        )
        for entry in two_rows.rows
    )
    assert not replace(two_rows, rows=single).agreement["Hits@1"].contrasts


def test_markdown_latex_and_csv_tell_the_same(two_rows: Outcome) -> None:
    caption = "50% & more_of_it"
    head, *rows = outcome_grid(two_rows)
    markdown, latex = outcome_markdown(two_rows, caption, []), latex_table(head, rows, caption, "table6")
    for text, minus in ((markdown, "-"), (latex, "$-$")):
        assert all(word in text for word in ("TAPAS", "55.0 ±2.5", "80.1", f"{minus}25.1", "HYBRIDER", "68.5"))
    assert r"\toprule" in latex
    assert r"50\% \& more\_of\_it" in latex
    assert latex.count(r"\\") == 1 + len(two_rows.rows) * 3 - 2  # the head, three lines a row, one of HYBRIDER's
    assert "Hits@1: rank correlation with the paper +0.87 over 3 rows" in markdown
    lines = list(csv.DictReader(io.StringIO(outcome_csv(two_rows))))
    assert len(lines) == 4 * 3
    (tapas,) = [line for line in lines if (line["row"], line["column"]) == ("TAPAS", "Hits@1")]
    assert (float(tapas["median"]), float(tapas["half_iqr"]), tapas["n"]) == (
        pytest.approx(55),
        pytest.approx(2.5),
        "2",
    )
    assert float(tapas["difference"]) == pytest.approx(55 - 80.1)
