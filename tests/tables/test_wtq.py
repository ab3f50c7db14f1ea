"""The WikiTableQuestions format on a small release of our own, whole and broken."""

from __future__ import annotations

from pathlib import Path

import pytest

from mate_cli.system.errors import UserError
from mate_cli.tables.split_statistics import statistics
from mate_cli.tables.supervision import NOT_ALL_FOUND, NOT_FOUND, SEVERAL_CELLS
from mate_cli.tables.wtq import LAYOUT, read_split, split_files
from tests.tables.releases import WTQ_HEADER, write, write_wtq


@pytest.fixture
def release(tmp_path: Path) -> Path:
    return write_wtq(tmp_path)


def test_cells_are_in_their_normal_form_and_headers_as_they_are(release: Path) -> None:
    table = read_split(release, "train").examples[0].table
    assert table.id == "csv/1-csv/1.csv"
    assert [cell.text for cell in table.header] == ["Town", "Mayor\nin office", "People", ""]
    assert [[cell.text for cell in row] for row in table.rows] == [
        ["birch", "ann", "1000", "a|b"],
        ["elm", "kim ode", "1,000", "n/a"],
        ["ash", "", "1500", "1000"],
    ]


def test_answers_give_cells_and_numbers(release: Path) -> None:
    split = read_split(release, "train")
    assert (split.questions, split.missing_tables) == (8, 1)
    assert len({id(e.table) for e in split.examples}) == 1
    found = {e.id: (e.answers, e.candidates, e.value) for e in split.examples}
    assert found["nt-1"] == (("Ann [1]",), ((0, 1),), None)
    assert found["nt-2"] == (("3,500",), (), 3500.0)
    assert found["nt-3"] == (("Birch", "elm"), ((0, 0), (1, 0)), None)
    assert found["nt-4"] == (("n/a",), ((1, 3),), None)
    assert found["nt-5"] == (("a|b",), ((0, 3),), None)
    assert [e.question for e in split.examples][::6] == ['who leads "birch"?', '"']


def test_a_question_without_supervision_stays_and_says_why(release: Path) -> None:
    split = read_split(release, "train")
    assert split.unsupervised == {"nt-6": NOT_FOUND, "nt-7": SEVERAL_CELLS}
    counted = statistics(split)
    assert (counted.questions, counted.missing_tables, counted.answered) == (8, 1, 7)
    assert (counted.with_candidate, counted.ambiguous, counted.with_value) == (4, 1, 1)
    assert counted.unsupervised == {SEVERAL_CELLS: 1, NOT_FOUND: 1}
    ids = [e.id for e in split.examples]
    assert split.examples[ids.index("nt-7")].value is None


@pytest.mark.parametrize("name", ["dev", "test"])
def test_what_is_only_scored_takes_one_of_several_cells(release: Path, name: str) -> None:
    split = read_split(release, name)
    last = split.examples[-1]
    assert (last.id, last.candidates, last.value) == ("nt-7", ((2, 3),), 1000.0)
    assert split.unsupervised == {"nt-6": NOT_FOUND}


def test_the_files_that_decide_a_split(release: Path) -> None:
    assert LAYOUT.present_splits(release) == ["train", "dev", "test"]
    names = [str(file.relative_to(release)) for file in split_files(release, "test")]
    assert names == ["data/pristine-unseen-tables.tsv", "csv/1-csv/1.csv", "csv/9-csv/9.csv"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("id\tutterance\tcontext\nx\ty\tz\n", "column 'targetValue' is missing; the first line names id, utterance,"),
        (f"{WTQ_HEADER}\nnt-1\twho\tcsv/1-csv/1.csv\n", "line 2: 3 fields, the first line has 4"),
        (
            f"{WTQ_HEADER}\nnt-1\twho\tcsv/1-csv/1.csv\ta||b\n",
            "column 'targetValue': expected answers joined by |",
        ),
    ],
)
def test_broken_questions_are_one_clear_line(release: Path, content: str, message: str) -> None:
    write(release / "data" / "random-split-1-dev.tsv", content)
    with pytest.raises(UserError) as error:
        read_split(release, "dev")
    assert message in str(error.value)
    assert "\n" not in str(error.value)


def test_several_answers_of_which_one_is_not_there(release: Path) -> None:
    write(release / "data" / "random-split-1-dev.tsv", f"{WTQ_HEADER}\nnt-1\twho\tcsv/1-csv/1.csv\tBirch|Oak\n")
    assert read_split(release, "dev").unsupervised == {"nt-1": NOT_ALL_FOUND}
