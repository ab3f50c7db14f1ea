"""Large tables: the rows that a question names or parts point to are read alone; answers point into the table."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mate_cli.config.hardware import HardwareConfig
from mate_cli.inference.answerer import Answerer
from mate_cli.inference.session import Session
from mate_cli.inference.table_reader import TableReader
from mate_cli.notebook import load_run
from mate_cli.runs.folder import RunFolder, load_run_config
from mate_cli.system.errors import UserError
from mate_cli.tables.table import Example
from mate_cli.tables.user_table import read_table

HARDWARE = HardwareConfig(name="cpu", accelerator="cpu", precision="32", micro_batch=2)
LINES = [f"Town {number},Mayor {number},{'Oslo' if number in (40, 71) else 'Rome'}" for number in range(150)]
NAMED, UNNAMED = "Which towns are near Oslo?", "Which town is the best?"


def write(name: str, lines: list[str]) -> Path:
    Path(name).write_text("\n".join(["town,mayor,near", *lines]))
    return Path(name)


def example(question: str, name: str = "towns.csv") -> Example:
    return Example("0", question, read_table(Path(name)))


@pytest.fixture(autouse=True)
def files(mate) -> None:
    write("towns.csv", LINES)
    write("named.csv", [LINES[40], LINES[71]])


@pytest.fixture
def answerer(trained):
    return lambda *words: Answerer(RunFolder(trained), load_run_config(trained), HARDWARE, *words)


def test_the_answer_is_that_of_the_named_rows_alone_and_points_into_the_table(answerer):
    record = answerer().record(example(NAMED), (), 9)
    assert record["unread"] == "only the 2 rows that the question names were read, of 150; rows=all reads every row"
    alone = answerer().record(example(NAMED, "named.csv"), (), 9)
    assert "unread" not in alone
    assert alone["cells"] == [{**cell, "row": (40, 71).index(cell["row"])} for cell in record["cells"]]
    assert len(alone["cells"]) == 6
    assert record["answer"] == alone["answer"]


def test_the_spelling_that_was_read_is_said(answerer):
    record = answerer().record(example("What is Tonw 7 near?"), (), 9)
    assert record["unread"].startswith('only the row that the question names (reading "tonw" as "town") was read, of ')


def test_a_table_with_more_cells_than_tokens_is_not_encoded_whole(answerer, monkeypatch):
    reader, encoded = answerer(), []
    encode = reader._reader.encode

    def counting(asked):
        encoded.extend(one.table.num_rows for one in asked)
        return encode(asked)

    monkeypatch.setattr(reader, "_reader", reader._reader._replace(encode=counting))
    reader.record(example(NAMED), (), 9)
    assert encoded == [2]
    few = write("few.csv", [f"{line} {'and so on ' * 60}" for line in LINES[:30]])
    reader.record(example("Who is the mayor of Town 7?", few), (), 9)
    assert encoded == [2, 30, 1]


def test_named_rows_with_long_cells_say_both(answerer):
    write("long.csv", [f"{line} {'and so on ' * 60}" for line in LINES])
    asked = "Who is the mayor of Town 7?"
    unread = answerer(128).record(example(asked, "long.csv"), (), 3)["unread"]
    rows, cells = unread.split("; ", 1)
    assert rows == "only the row that the question names was read, of 150"  # all 150 would be too long
    assert cells.startswith("the ends of long cells did not fit 128 tokens and were not read; raise max_tokens")


def test_all_rows_are_read_where_all_are_wanted(answerer):
    for question in (UNNAMED, NAMED):
        record = answerer(None, "all").record(example(question), (), 999)
        assert "unread" not in record
        assert len(record["cells"]) == 450


def test_where_no_row_is_named_parts_point_to_rows_as_if_each_were_a_table(answerer, trained):
    reader, told = answerer(), []
    record = reader.record(example(UNNAMED), (), 999, lambda *parts: told.append(parts))
    rows = sorted({cell["row"] for cell in record["cells"]})
    first = told[: 1 + [done == total for done, total in told].index(True)]
    assert record["unread"] == (
        f"only the {len(rows)} rows that its {reader.read(example(UNNAMED)).parts} parts point to were read together, "
        "of 150; rows=all reads every row"
    )
    assert len(rows) <= first[0][1] < 150
    again = write("again.csv", [LINES[row] for row in rows])
    alone = answerer().record(Example("0", UNNAMED, read_table(again)), (), 999)
    assert record["cells"] == [{**cell, "row": rows[cell["row"]]} for cell in alone["cells"]]
    most = load_run_config(trained).task.schedules["smoke"].max_tokens
    assert reader.read(example(UNNAMED)).encoded.full_length <= most


def test_a_table_as_large_as_those_of_the_training_is_read_whole(answerer, trained):
    most = load_run_config(trained).task.schedules["smoke"].max_tokens
    asked = replace(example(NAMED), table=example(NAMED).table.selected(range(35, 45), range(3)))
    assert answerer().read(asked).encoded.full_length < most
    assert len(answerer().record(asked, (), 99)["cells"]) == 30


def test_the_rows_that_are_read_again_give_the_answer(answerer, monkeypatch):
    asked = [example(question, write("small.csv", LINES[36:44])) for question in (UNNAMED, NAMED)]
    before = answerer().records(asked, 99)
    chosen = {record["question"]: (record["cells"][0]["row"], record["cells"][0]["column"]) for record in before}

    def again(reader, reading, cells, operator):
        assert (cells, operator) == ((chosen[reading.asked.question],), "")
        return reader._encoded([reading.asked], [(2, 5)])[0] if reading.asked.question == NAMED else None

    monkeypatch.setattr(TableReader, "again", again)
    first, second = answerer().records(asked, 99)
    assert first == before[0]
    assert second == answerer().record(asked[1], (), 99)
    assert second["unread"] == "only the 2 rows that the question names were read, of 8; rows=all reads every row"
    assert {cell["row"] for cell in second["cells"]} == {2, 5}
    reader = answerer()
    chosen_rows = [reader.kind.answering.chosen(one)[0][0][0] for one in reader.predict_examples(asked)]
    assert chosen_rows == [first["cells"][0]["row"], second["cells"][0]["row"]]


def test_questions_together_are_answered_as_each_alone(answerer):
    examples = [example(NAMED), example(UNNAMED), example("Who is the mayor of Town 7?"), example(NAMED, "named.csv")]
    together = answerer().records(examples, 3)
    assert together == [answerer().record(asked, (), 3) for asked in examples]
    assert together[1]["unread"].startswith("only the ")
    assert together[2]["unread"].startswith("only the row that the question names was read, of 150;")
    assert together[2]["cells"][0]["row"] == 7


def test_conversations_need_all_rows_and_passages_name_others(answerer):
    assert answerer().read(example(NAMED)).rows == (40, 71)
    assert answerer().read(replace(example(NAMED), earlier=("Who?",))).rows == ()
    assert answerer().read(replace(example(NAMED), previous=((0, 0),))).rows == ()
    assert answerer().read(replace(example(NAMED), passages={"Oslo": "a town"})).parts > 1


def test_a_file_about_a_table_that_is_too_large_is_answered_but_not_with_all_rows(mate, trained, capsys):
    asked = Path("asked.txt")
    words = ("predict", f"run={trained}", "table=towns.csv", f"questions={asked}", "hardware=cpu", "max_tokens=128")
    asked.write_text(f"Who?\n{NAMED}\n{'Who ' * 150}?\n")
    capsys.readouterr()
    assert mate(*words) == 0
    assert "warning: 1 without an answer" in capsys.readouterr().err
    records: list[dict[str, Any]] = [json.loads(line) for line in Path("answers.jsonl").read_text().splitlines()]
    assert [record["answer"] is None for record in records] == [False, False, True]
    assert "and this run reads 128; add max_tokens=" in records[2]["unanswered"]
    assert mate(*words, "to=other.jsonl", "rows=all") == 2
    assert "and this run reads 128; add max_tokens=" in capsys.readouterr().err
    asked.write_text(f"{'Who ' * 150}?\n")
    assert mate(*words, "to=other.jsonl") == 2
    assert "ask in fewer words" in capsys.readouterr().err


def test_attention_goes_to_the_rows_that_were_read(answerer, trained):
    session = Session(answerer(), load_run_config(trained), example("").table, 3, None)
    session.ask(NAMED)
    attention = session.attention()
    assert np.flatnonzero(attention.rows).tolist() == [40, 71]
    assert attention.rows.sum() == pytest.approx(1)
    assert attention.columns.sum() == pytest.approx(1)
    session.ask(UNNAMED)
    assert 1 < np.count_nonzero(session.attention().rows) < 150


def test_rows_is_chosen_or_all_and_belongs_to_a_run(mate, trained, capsys):
    with pytest.raises(UserError, match="unknown rows 'some': choose from chosen, all"):
        load_run(trained, rows="some")
    words = ("predict", "selector=a", "reader=b", "table=towns.csv", "question=Who?", "rows=all")
    assert mate(*words) == 2
    assert "rows belongs to run" in capsys.readouterr().err
    assert mate("predict", f"run={trained}", "table=towns.csv", "question=Who?", "rows=few") == 2
    assert "unknown rows 'few'" in capsys.readouterr().err


def test_a_split_is_scored_with_chosen_rows_under_a_name_of_its_own(mate, trained, answerer, capsys):
    words = ("evaluate", f"run={trained}", "split=dev", "hardware=cpu", "hardware.precision='32'")
    assert mate(*words) == 0
    assert mate(*words, "rows=chosen") == 0
    assert "dev-chosen: Hits@k" in capsys.readouterr().out
    by_rows = [
        {record["id"]: record for record in map(json.loads, (trained / name).read_text().splitlines())}
        for name in ("predictions-dev.jsonl", "predictions-dev-chosen.jsonl")
    ]
    all_rows, chosen = by_rows
    assert all_rows.keys() == chosen.keys()
    assert all_rows == chosen  # no table of the sample is larger than the inputs of the training
    assert "dev-chosen" in json.loads((trained / "metrics.json").read_text())


def test_rows_of_a_split_go_with_nothing_that_reads_all_and_need_questions(mate, trained, capsys):
    words = ("evaluate", f"run={trained}", "split=dev", "rows=chosen")
    for more, line in (
        (("max_tokens=512",), "max_tokens reads all rows; leave out rows=chosen"),
        (("calibrate=0.9",), "calibrate reads all rows; leave out rows=chosen"),
        (("unanswerable=true",), "unanswerable reads all rows; leave out rows=chosen"),
    ):
        assert mate(*words, *more) == 2
        assert line in capsys.readouterr().err
    assert mate("evaluate", "selector=oracle", f"reader={trained}", "rows=chosen") == 2
    assert "rows belongs to run" in capsys.readouterr().err
