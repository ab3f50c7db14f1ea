"""The SQA format on a small release of our own, whole and broken."""

from __future__ import annotations

from pathlib import Path

import pytest

from mate_cli.system.errors import UserError
from mate_cli.tables.sqa import LAYOUT, read_split, split_files
from tests.tables.releases import SQA_HEADER, SQA_ROWS, SQA_TABLE, write, write_sqa


@pytest.fixture
def release(tmp_path: Path) -> Path:
    return write_sqa(tmp_path)


def test_conversations_with_their_answer_cells(release: Path) -> None:
    split = read_split(release, "train")
    assert (split.questions, split.missing_tables) == (5, 1)
    assert [e.id for e in split.examples] == ["s-1-0_0", "s-1-0_1", "s-1-0_3", "s-1-1_0"]
    assert [(e.conversation, e.position) for e in split.examples] == [
        ("s-1-0", 0),
        ("s-1-0", 1),
        ("s-1-0", 3),
        ("s-1-1", 0),
    ]
    assert [e.candidates for e in split.examples] == [((0, 0), (1, 0)), ((1, 0),), ((1, 1),), ((0, 1),)]
    assert [e.answers for e in split.examples][::3] == [("Birch", "Elm"), ("Ann, the elder",)]
    assert split.examples[1].question == 'which is "large"\nor old?'
    assert len({id(e.table) for e in split.examples}) == 1
    table = split.examples[0].table
    assert (table.id, [cell.text for cell in table.rows[0]]) == ("table_csv/1_1.csv", ["Birch", "Ann, the elder"])


def test_the_previous_answer_is_that_of_the_question_before_if_it_is_there(release: Path) -> None:
    first, second, fourth, other = read_split(release, "dev").examples
    assert second.previous == first.candidates
    assert first.previous == fourth.previous == other.previous == ()
    assert fourth.earlier == (first.question, second.question)
    assert (first.earlier, second.earlier, other.earlier) == ((), (first.question,), ())


def test_the_files_that_decide_a_split(release: Path) -> None:
    names = [str(file.relative_to(release)) for file in split_files(release, "test")]
    assert names == ["test.tsv", "table_csv/1_1.csv", "table_csv/gone.csv"]


def test_a_folder_that_is_not_the_release_says_what_to_put_where(release: Path, tmp_path: Path) -> None:
    (release / "random-split-1-train.tsv").unlink()
    assert LAYOUT.present_splits(release) == ["dev", "test"]
    with pytest.raises(UserError, match=r"no random-split-1-train.tsv \(splits found: dev, test\); put the"):
        read_split(release, "train")
    inner = tmp_path / "outer" / "sqa"
    write_sqa(inner)
    with pytest.raises(UserError, match=f"table_csv/ is missing; did you mean data_dir={inner}?"):
        LAYOUT.present_splits(inner.parent)
    for name in ("random-split-1-train", "random-split-1-dev", "test"):
        (inner / f"{name}.tsv").unlink()
    with pytest.raises(UserError, match=r"no questions, none of .*test.tsv; put the"):
        LAYOUT.present_splits(inner)
    with pytest.raises(UserError, match="no such folder; put the"):
        LAYOUT.present_splits(tmp_path / "nothing")


def _row(**changed: str) -> str:
    fields = dict(zip(SQA_HEADER.split("\t"), SQA_ROWS[0].split("\t"), strict=True)) | changed
    return "\t".join(fields.values())


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("id\tannotator\nx\t0\n", "column 'position' is missing; the first line names id, annotator"),
        (f"{SQA_HEADER}\n{SQA_ROWS[0]}\nx\t0\n", "line 3: 2 fields, the first line has 7"),
        (f"{SQA_HEADER}\n{_row(position='-1')}", "line 2, column 'position': expected a number from 0, found '-1'"),
        (
            f"{SQA_HEADER}\n{_row(answer_coordinates=str(['(2, 0)']))}",
            "line 2, column 'answer_coordinates': (2, 0) lies outside table_csv/1_1.csv, a table of 2 rows and 2",
        ),
        (f"{SQA_HEADER}\n{_row(answer_coordinates=str(['(-1, 0)']))}", "expected '(row, column)', found '(-1, 0)'"),
        (
            f"{SQA_HEADER}\n{_row(answer_coordinates='[(0, 0)]')}",
            "expected a list of texts like ['a', 'b'], found '[(",
        ),
        (
            f"{SQA_HEADER}\n{_row(answer_coordinates='[' * 9000)}",
            "'answer_coordinates': expected a list of texts",
        ),
        (f"{SQA_HEADER}\n{_row(answer_text='nan')}", "column 'answer_text': expected a list of texts"),
        (f'{SQA_HEADER}\n"{SQA_ROWS[0]}' + "x" * 140_000, "line 2: cannot be read (field larger than field limit"),
        ("", "the file is empty"),
    ],
)
def test_broken_questions_are_one_clear_line(release: Path, content: str, message: str) -> None:
    path = release / "test.tsv"
    write(path, content)
    with pytest.raises(UserError) as error:
        read_split(release, "test")
    assert message in str(error.value)
    assert str(path) in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (SQA_TABLE.encode() + b"x\n", "1_1.csv: line 4: 1 fields, the first line has 2"),
        (SQA_TABLE.encode() + b"\xff,y\n", "1_1.csv: not UTF-8 at byte"),
        (b"", "1_1.csv: the file is empty"),
    ],
)
def test_broken_tables_are_one_clear_line(release: Path, content: bytes, message: str) -> None:
    (release / "table_csv" / "1_1.csv").write_bytes(content)
    with pytest.raises(UserError) as error:
        read_split(release, "train")
    assert message in str(error.value)
    assert "\n" not in str(error.value)
