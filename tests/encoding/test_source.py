"""Where examples come from: every format by its name, and what is made of any split."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from mate_cli.config import task
from mate_cli.encoding.history import HistorySource
from mate_cli.encoding.source import (
    AnswerlessSource,
    BlankedSource,
    DataSource,
    DrawnSource,
    MadeSource,
    PartSource,
    SplitSource,
    UnseenSource,
    training_split,
)
from mate_cli.system.errors import UserError
from mate_cli.tables.formats import FORMATS
from mate_cli.tables.split import Split
from mate_cli.tables.statements.splits import StatementFormat
from tests.tables.releases import write, write_sqa, write_tabfact, write_wtq

_RELEASES = {"sqa": write_sqa, "wtq": write_wtq, "tabfact": write_tabfact}


def test_every_format_that_can_be_configured_is_there() -> None:
    assert (*FORMATS, "corpus") == task.FORMATS  # a corpus has tables, and no questions to read
    for data_format in FORMATS.values():
        splits = () if isinstance(data_format, StatementFormat) else task.SPLITS
        splits = ("train", "dev") if data_format in (FORMATS["queries"], FORMATS["everyday"]) else splits
        assert tuple(data_format.LAYOUT.questions) == splits


@pytest.mark.parametrize(("data_format", "write"), _RELEASES.items())
def test_splits_without_questions_and_drawn_ones(
    data_format: str, write: Callable[[Path], Path], tmp_path: Path
) -> None:
    whole = DataSource(data_format, write(tmp_path), "train")
    blanked, drawn = BlankedSource(whole), DrawnSource(whole, 3)
    read = whole.read()
    without = blanked.read()
    assert {e.question for e in without.examples} == {""}
    assert [replace(e, question="", earlier=()) for e in read.examples] == list(without.examples)
    assert (without.questions, without.missing_tables) == (read.questions, read.missing_tables)
    assert without.unsupervised == read.unsupervised
    part = drawn.read()
    assert len(part.examples) == part.questions == 3
    assert [e for e in read.examples if e in part.examples] == list(part.examples)
    assert part.unsupervised.items() <= read.unsupervised.items()
    assert part.unsupervised.keys() <= {e.id for e in part.examples}
    assert blanked.split == drawn.split == "train"
    assert len({source.fingerprint() for source in (whole, blanked, drawn, DrawnSource(whole, 2))}) == 4


@dataclass(frozen=True)
class ManyTables(MadeSource):
    """Each question of a split about a table of its own name, forty times."""

    how = "forty names"

    def read(self) -> Split:
        examples = [
            replace(example, id=f"{example.id}-{name}", table=replace(example.table, id=f"table {name}"))
            for name in range(40)
            for example in self.base.read().examples
        ]
        return Split(tuple(examples), 0, len(examples))


def test_held_out_tables_are_not_among_the_others(tmp_path: Path) -> None:
    whole = ManyTables(DataSource("sqa", write_sqa(tmp_path), "train"))
    held_out, others = PartSource(whole, 0.25, held_out=True), PartSource(whole, 0.25, held_out=False)
    names, other_names = tables_of(held_out), tables_of(others)
    assert names | other_names == tables_of(whole)
    assert not names & other_names
    assert 2 <= len(names) <= 20  # of 40; a quarter on average
    assert sum(len(part.read().examples) for part in (held_out, others)) == len(whole.read().examples)
    assert len({source.fingerprint() for source in (whole, held_out, others)}) == 3


def test_the_history_is_what_a_run_answered(tmp_path: Path) -> None:
    """The first question is answered by another cell, the second not at all; a question alone has no history."""
    whole, answers = DataSource("sqa", write_sqa(tmp_path), "train"), tmp_path / "predictions-train.jsonl"
    right = whole.read().examples
    first = next(example for example in right if example.conversation and example.position == 0)
    answers.write_text(json.dumps({"id": first.id, "cells": [[0, 1], [1, 1]], "aggregation": "NONE"}) + "\n")
    source = HistorySource(whole, answers)
    read = source.read()
    assert [replace(e, previous=()) for e in read.examples] == [replace(e, previous=()) for e in right]
    told = {(e.conversation, e.position): e.previous for e in read.examples}
    assert told.pop((first.conversation, 1)) == ((0, 1), (1, 1))
    assert set(told.values()) == {()}
    before = source.fingerprint()
    answers.write_text(json.dumps({"id": first.id, "cells": [[0, 0]]}) + "\n")
    assert len({before, source.fingerprint(), whole.fingerprint()}) == 3


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('{"id": "another", "cells": [[0, 1]]}', "answers no question of train"),
        ('{"id": "another", "label": 1}', "no file of predicted cells"),
        ("no json", "no file of predicted cells"),
    ],
)
def test_a_history_of_something_else_is_refused(content: str, message: str, tmp_path: Path) -> None:
    whole, answers = DataSource("sqa", write_sqa(tmp_path), "train"), tmp_path / "answers.jsonl"
    answers.write_text(content + "\n")
    with pytest.raises(UserError, match=message):
        HistorySource(whole, answers).read()


def test_a_part_without_a_table_is_refused(tmp_path: Path) -> None:
    whole = DataSource("sqa", write_sqa(tmp_path), "train")
    with pytest.raises(UserError, match="held_out=1e-09 holds out no table of train"):
        PartSource(whole, 1e-9, True).read()


def test_a_changed_table_changes_the_files(tmp_path: Path) -> None:
    source = DataSource("sqa", write_sqa(tmp_path), "dev")
    before = source.fingerprint()
    (tmp_path / "table_csv" / "1_1.csv").write_text("Town,Mayor\nBirch,Ann\nElm,Bo\n")
    assert source.fingerprint() != before


def tables_of(source: SplitSource) -> set[str]:
    return {example.table.id for example in source.read().examples}


def test_copies_of_tables_of_other_training_splits_are_left_out(tmp_path: Path) -> None:
    whole, other = DataSource("wtq", write_wtq(tmp_path / "wtq"), "dev"), training_split(write_sqa(tmp_path / "sqa"))
    unseen = UnseenSource(whole, (other,))
    assert unseen.read().examples == whole.read().examples
    assert unseen.fingerprint() != whole.fingerprint()
    with pytest.raises(UserError, match="every table of dev is a copy of one that was seen or held out"):
        UnseenSource(whole, (whole,)).read()
    with pytest.raises(UserError, match="this is no folder of SQA"):
        training_split(tmp_path)


def test_of_a_copy_and_a_new_table_the_new_one_stays(tmp_path: Path) -> None:
    folder, other = write_wtq(tmp_path / "wtq"), DataSource("sqa", write_sqa(tmp_path / "sqa"), "train")
    with (folder / "data" / "random-split-1-dev.tsv").open("a") as questions:
        questions.write("nt-9\twho leads elm?\tcsv/2-csv/2.csv\tKim Ode\n")
    write(folder / "csv" / "2-csv" / "2.csv", '"Town","Mayor"\n"Elm","Kim Ode"\n"Birch","Ann, the elder"\n')
    whole = DataSource("wtq", folder, "dev")
    read, new = whole.read(), UnseenSource(whole, (other,)).read()
    assert [e.id for e in read.examples if e not in new.examples] == ["nt-9"]
    assert list(new.examples) == list(read.examples[:-1])
    assert len(new.examples) == new.questions == 7


def test_rows_of_the_answer_are_taken_away_or_kept(tmp_path: Path) -> None:
    whole = DataSource("sqa", write_sqa(tmp_path), "dev")
    kept, removed = (AnswerlessSource(whole, is_removed) for is_removed in (False, True))
    by_id = {example.id: example for example in whole.read().examples}
    assert [e.id for e in kept.read().examples] == [e.id for e in removed.read().examples]
    assert all(by_id[e.id] == e for e in kept.read().examples)
    assert all(e.table.num_rows < by_id[e.id].table.num_rows for e in removed.read().examples)
    assert kept.fingerprint() != removed.fingerprint()
    with pytest.raises(UserError, match="unanswerable: no question of dev has an answer in cells and other rows"):
        AnswerlessSource(removed, removed=True).read()
