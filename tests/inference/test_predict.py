"""One question on one table: limits, warnings, and devices other than those of training."""

from __future__ import annotations

import contextlib
import itertools
import json
import re
import shutil
import signal
from pathlib import Path
from typing import Any

import pytest

from mate_cli.config.hardware import HardwareConfig
from mate_cli.inference import predictor
from mate_cli.inference.answerer import Answerer
from mate_cli.runs.folder import RunFolder, load_run_config
from mate_cli.tables.table import Example
from mate_cli.tables.user_table import read_table
from tests.training.conftest import TINY

TOWNS = "city,mayor,population\nAlder,Ann Lee,1200\nBirch,Bob Moe,800\n"


def answer(mate, capsys, run: Path, table: str, question: str, *words: str) -> dict[str, Any]:
    """What ``mate predict output=json`` prints."""
    shutil.copy(table, "table.csv") if Path(table).is_file() else Path("table.csv").write_text(table)
    fixed = (f"run={run}", "table=table.csv", f"question={question}", "hardware=cpu", "output=json")
    capsys.readouterr()
    assert mate("predict", *fixed, *words) == 0
    return json.loads(capsys.readouterr().out)


def test_the_number_that_a_refusal_names_is_the_least_that_reads_all(mate, trained, capsys):
    rows = [f"person {i},town {i % 17},{20 + i % 50},{i},a note of many words" for i in range(120)]
    Path("large.csv").write_text("\n".join(["name,town,age,score,remark", *rows]))
    words = (f"run={trained}", "table=large.csv", "question=Who is 31?", "hardware=cpu", "output=json", "rows=all")
    assert mate("predict", *words, "max_tokens=256") == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    needed = int(re.search(r"add max_tokens=(\d+), or ask about fewer rows or columns", error).group(1))
    assert f"need {needed} tokens, and this run reads 256" in error
    assert mate("predict", *words, f"max_tokens={needed}", "top=600") == 0
    record = json.loads(capsys.readouterr().out)
    assert mate("predict", *words, "top=600") == 0  # reads as many as are needed
    assert json.loads(capsys.readouterr().out) == record
    cells = record["cells"]
    assert len(cells) == 600
    assert all(cell["probability"] > 0 for cell in cells)


def test_the_key_of_the_table_may_be_left_out(mate, trained, capsys):
    Path("towns.csv").write_text(TOWNS)
    words = (f"run={trained}", "question=Who is the mayor of Birch?", "hardware=cpu", "output=json")
    printed = []
    for table in ("towns.csv", "table=towns.csv"):
        capsys.readouterr()
        assert mate("predict", table, *words) == 0
        printed.append(capsys.readouterr().out)
    assert printed[0] == printed[1]
    for table in ("table=towns.csv", "tables=."):
        assert mate("predict", "towns.csv", table, *words) == 2
        assert "cannot read 'towns.csv': only one table" in capsys.readouterr().err


def test_many_questions_are_read_with_no_more_tokens_at_once_than_one_may_have(trained, tmp_path):
    hardware = HardwareConfig(name="cpu", accelerator="cpu", micro_batch=3)
    answerer = Answerer(RunFolder(trained), load_run_config(trained), hardware, max_tokens=110, rows="all")
    examples = []
    for number, rows in enumerate((2, 30, 1, 25, 3, 2, 2, 2, 40)):
        file = tmp_path / f"{number}.csv"
        file.write_text("town,people\n" + "".join(f"Elm {row},{row}\n" for row in range(rows)))
        examples.append(Example(str(number), "Who?", read_table(file)))
    collate, batches = answerer.collator, []
    answerer.collator = lambda rows: batches.append([row["length"] for row in rows]) or collate(rows)
    together = answerer.records(examples, 1)
    drawn, batches = batches, []
    assert together == [answerer.record(example, (), 1) for example in examples]
    assert [length for batch in drawn for length in batch] == [length for (length,) in batches]
    most = hardware.prediction_batch
    assert all(len(batch) <= most and (len(batch) == 1 or sum(batch) <= 110) for batch in drawn)
    assert all(len(one) == most or sum(one) + after[0] > 110 for one, after in itertools.pairwise(drawn))
    assert {len(batch) for batch in drawn} == {1, 2, 3}


def test_long_cells_of_which_the_ends_were_not_read_are_said(mate, trained, capsys):
    Path("long.csv").write_text("town,remark\n" + f"Elm,{'a note of words ' * 20}\n" * 5)
    cut = answer(mate, capsys, trained, "long.csv", "Who?", "max_tokens=256", "rows=all")
    said = "the ends of long cells did not fit 256 tokens and were not read; raise max_tokens, or ask about fewer"
    assert [line for line in cut["warnings"] if line.startswith(said)] == [cut["unread"]]
    assert "unread" not in answer(mate, capsys, trained, "long.csv", "Who?")


def test_a_linformer_is_not_offered_more_tokens_than_it_was_made_for(mate, capsys):
    assert mate("train", *TINY, "model=linformer", "name=short", "task.schedules.smoke.max_tokens=128") == 0
    Path("large.csv").write_text("a,b\n" + "1,2\n" * 100)
    capsys.readouterr()
    words = ("predict", "run=runs/sample/short", "table=large.csv", "question=why", "hardware=cpu")
    assert mate(*words, "rows=all") == 2
    assert "this run reads 128; ask about fewer rows or columns" in capsys.readouterr().err
    assert mate(*words) == 0
    assert re.search(r"only the \w+ rows? that its \d+ parts point to w\w+ read together", capsys.readouterr().err)


@pytest.mark.parametrize("backend", ["varlen", "flex", "dense"])
def test_a_run_trained_with_another_backend_answers_alike_without_its_device(backend, mate, trained, tmp_path, capsys):
    """The two for GPUs cannot train here, so their name is written into the configuration of a run that could."""
    other = tmp_path / backend
    shutil.copytree(trained, other)
    config = (other / "config.yaml").read_text()
    assert config.count("backend: auto") == 1
    (other / "config.yaml").write_text(config.replace("backend: auto", f"backend: {backend}"))
    expected = answer(mate, capsys, trained, TOWNS, "Who is the mayor of Birch?")
    assert answer(mate, capsys, other, TOWNS, "Who is the mayor of Birch?") == expected
    assert mate("evaluate", f"run={other}", "split=dev", "hardware=cpu") == 0
    assert mate("export", f"run={other}", "to=exported") == 0
    assert answer(mate, capsys, tmp_path / "exported", TOWNS, "Who is the mayor of Birch?") == expected


def test_buckets_are_part_of_the_model(mate, trained, tmp_path, capsys):
    """With a single global token and buckets of one token, hardly anything is seen."""
    other = tmp_path / "bucketed"
    shutil.copytree(trained, other)
    config = (other / "config.yaml").read_text()
    for old, new in (("backend: auto", "backend: bucketed"), ("size: 116", "size: 1"), ("radius: 42", "radius: 1")):
        assert config.count(old) == 1
        config = config.replace(old, new)
    (other / "config.yaml").write_text(config)
    question = "Who is the mayor of Birch?"
    assert answer(mate, capsys, other, TOWNS, question) != answer(mate, capsys, trained, TOWNS, question)


def test_predict_computes_in_the_precision_of_evaluate(mate, trained, capsys):
    exact, rounded = (
        answer(mate, capsys, trained, TOWNS, "Who?", f"hardware.precision={precision}")
        for precision in ("'32'", "bf16-mixed")
    )
    assert exact != rounded
    for cell in exact["cells"]:
        twin = next(c for c in rounded["cells"] if (c["row"], c["column"]) == (cell["row"], cell["column"]))
        assert twin["probability"] == pytest.approx(cell["probability"], abs=0.02)


def test_warnings_are_lines_on_stderr_or_a_list_in_json(mate, trained, capsys):
    Path("texts.json").write_text(json.dumps({"Oak": "A town."}))
    record = answer(mate, capsys, trained, TOWNS, "How many people live in Birch?", "passages=texts.json")
    starts = ["texts.json: no cell links to 'Oak'", "this model was trained on the generated sample"]
    starts += [f"low probability ({record['cells'][0]['probability']:.2f})", "'How many': this model points to cells"]
    for line, start in zip(record["warnings"], starts, strict=True):
        assert line.startswith(start)
    words = (f"run={trained}", "table=table.csv", "question=How many people live in Birch?", "passages=texts.json")
    assert mate("predict", *words, "hardware=cpu") == 0
    shown = capsys.readouterr()
    assert shown.err.splitlines() == [f"warning: {line}" for line in record["warnings"]]
    assert "warning" not in shown.out


def test_a_run_that_was_not_trained_to_the_end_says_so(mate, trained, tmp_path, capsys):
    half = shutil.copytree(trained, tmp_path / "half")
    status = json.loads((half / "status.json").read_text())
    whole = answer(mate, capsys, half, TOWNS, "Who?")
    line = f"{half} was not trained to the end (interrupted, step 1 of {status['steps']}); its mate train command with "
    (half / "status.json").write_text(json.dumps(status | {"state": "interrupted", "step": 1}))
    record = answer(mate, capsys, half, TOWNS, "Who?")
    assert record.pop("warnings") == [line + "resume=true goes on", *whole.pop("warnings")]
    assert record == whole
    assert mate("evaluate", f"run={half}", "split=dev", "hardware=cpu") == 0
    assert line in capsys.readouterr().out


def test_a_stop_that_an_import_swallowed_ends_an_evaluation_before_it_answers(mate, trained, monkeypatch):
    opened = predictor._open_model

    def swallow(*arguments):
        with contextlib.suppress(KeyboardInterrupt):
            signal.raise_signal(signal.SIGTERM)
        return opened(*arguments)

    before, metrics = signal.signal(signal.SIGTERM, signal.SIG_DFL), (trained / "metrics.json").read_text()
    try:
        with monkeypatch.context() as patch:
            patch.setattr(predictor, "_open_model", swallow)
            assert mate("evaluate", f"run={trained}", "split=dev", "hardware=cpu") == 75
        assert (trained / "metrics.json").read_text() == metrics
    finally:
        signal.signal(signal.SIGTERM, before)
