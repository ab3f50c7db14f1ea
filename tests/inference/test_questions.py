"""A file of questions: the answers of single ones, in a file that a second run goes on with."""

from __future__ import annotations

import csv
import io
import json
import re
import shutil
from pathlib import Path

import pytest

from mate_cli.inference import question_file
from mate_cli.inference.answer_file import answer_form
from mate_cli.runs.folder import RunFolder
from mate_cli.system.errors import UserError
from mate_cli.tables.user_questions import read_questions
from tests.training.conftest import fast

TOWNS = "city,mayor,population\nAlder,Ann Lee,1200\nBirch,Bob Moe,800\n"
ASKED = ["Who is the mayor of Birch?", "Which city has 1200 people?", "Who leads Alder?"]


@pytest.fixture
def ask(mate, trained):
    """Call ``mate predict`` on the towns; what it wrote, by line."""
    Path("towns.csv").write_text(TOWNS)
    Path("asked.txt").write_text("\n".join(ASKED) + "\n\n")

    def start(*words: str) -> int:
        return mate("predict", f"run={trained}", "table=towns.csv", "hardware=cpu", "hardware.precision='32'", *words)

    return start


def written():
    return [json.loads(line) for line in Path("answers.jsonl").read_text().splitlines()]


def test_answers_are_those_of_single_questions(ask, capsys, monkeypatch):
    monkeypatch.setattr(question_file, "_BATCH", 2)
    assert ask("questions=asked.txt") == 0
    assert capsys.readouterr().out == "answers.jsonl: 3 answers\n"
    for question, record in zip(ASKED, written(), strict=True):
        assert ask(f"question={question}", "output=json") == 0
        single = json.loads(capsys.readouterr().out)
        assert record.pop("run").endswith("first")
        settings = {name: record.pop(name) for name in ("threshold", "top", "rows")}
        assert settings == {"threshold": None, "top": 5, "rows": "chosen"}
        assert record.pop("max_tokens") > 0
        assert [len(record.pop(name)) for name in ("model_hash", "table_hash")] == [12, 12]
        for cells in (record, single):
            cells["cells"] = [(cell["row"], cell["column"], round(cell["probability"], 4)) for cell in cells["cells"]]
        assert record == single


def test_a_second_run_goes_on_where_the_first_was_killed(ask, capsys):
    assert ask("questions=asked.txt") == 0
    whole = Path("answers.jsonl").read_text()
    first, second, _ = whole.splitlines(keepends=True)
    Path("answers.jsonl").write_text(first + second[:30])
    capsys.readouterr()
    assert ask("questions=asked.txt") == 0
    assert "3 answers, 1 of them from an earlier run" in capsys.readouterr().out
    assert Path("answers.jsonl").read_text() == whole
    others = (
        "no record\n",
        first.replace("Birch?", "Alder?"),
        first.replace("first", "other"),
        "3\n",
        "my notes",
        '{"a": 1',
    )
    for other in others:
        Path("answers.jsonl").write_text(other)
        assert ask("questions=asked.txt") == 2
        assert "something else than answers to these questions" in capsys.readouterr().err
        assert Path("answers.jsonl").read_text() == other


@pytest.mark.parametrize("to", fast("answers.jsonl", of=("answers.jsonl", "answers.csv")))
def test_answers_made_with_other_settings_are_refused(to, ask, trained, tmp_path, capsys):
    """Also those of a run that was trained again at the same place, or calibrated since, and of another table."""
    run = shutil.copytree(trained, tmp_path / "again")
    words = ("questions=asked.txt", f"run={run}", f"to={to}")
    assert ask(*words) == 0
    before = Path(to).read_bytes()
    for name, value in (("threshold", 0.7), ("top", 2), ("max_tokens", 64), ("rows", "all")):
        assert ask(*words, f"{name}={value}") == 2
        assert f"to={to} has answers made with another {name}; name another file" in capsys.readouterr().err
    assert ask(*words, "top=2", "threshold=0.7") == 2
    assert "made with another threshold and top;" in capsys.readouterr().err
    weights = RunFolder(run).weights_file
    content = weights.read_bytes()
    weights.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    assert ask(*words) == 2
    assert "made with another model_hash;" in capsys.readouterr().err
    weights.write_bytes(content)
    Path("towns.csv").write_text(TOWNS.replace("1200", "1300"))
    assert ask(*words) == 2
    assert "made with another table_hash;" in capsys.readouterr().err
    Path("towns.csv").write_text(TOWNS)
    assert Path(to).read_bytes() == before
    assert ask(*words) == 0


@pytest.mark.parametrize(
    ("name", "separator"), [pytest.param("answers.csv", ",", marks=pytest.mark.slow), ("answers.TSV", "\t")]
)
def test_answers_as_a_table_go_on_at_every_cut(name, separator, ask, monkeypatch, capsys):
    monkeypatch.setattr(question_file, "_BATCH", 2)
    table = 'city,mayor\n"Al, ""der""\nand on",Ann Lee\nBirch,Bob\n'
    Path("towns.csv").write_text(table)
    Path("asked.jsonl").write_text("".join(json.dumps({"question": f'a\n"{text}"'}) + "\n" for text in ASKED))
    words = ("questions=asked.jsonl", f"to={name}", "threshold=0.99")
    assert ask("questions=asked.jsonl") == 0
    assert ask(*words) == 0
    whole = Path(name).read_bytes()
    rows = list(csv.DictReader(io.StringIO(whole.decode(), newline=""), delimiter=separator))
    for row, record in zip(rows, written(), strict=True):
        assert row["question"] == record["question"]
        assert row["best_guess"] == record["answer"]
        assert row["answer"] == ""
        assert 0 < float(row["answer_probability"]) < 0.99
        assert row["warnings"] == " | ".join(record["warnings"])
        assert (row["threshold"], row["top"], row["run"]) == ("0.99", "5", record["run"])
    for cut in (
        0,
        9,
        whole.index(b"\n") + 1,
        whole.index(ASKED[0].encode()),
        whole.index(ASKED[1].encode()),
        len(whole) - 1,
    ):
        Path(name).write_bytes(whole[:cut])
        assert ask(*words) == 0
        assert Path(name).read_bytes() == whole
    for other in (
        b"city,mayor\nAlder,Ann Lee\n",
        b"city,mayor",
        b'"',
        whole[:-2] + separator.encode() + b"\r\n",
        b'a"b"c\n',
        whole[:70] + b'\n"x"y\n',
    ):
        Path(name).write_bytes(other)
        assert ask(*words) == 2
        assert "something else than answers to these questions" in capsys.readouterr().err
        assert Path(name).read_bytes() == other


class Watched(bytes):
    """Sums up how much of it is looked through for quotes."""

    counted = 0

    def count(self, part, start, end):
        self.counted += end - start
        return super().count(part, start, end)


def test_whole_rows_are_found_in_one_pass_at_every_cut():
    form = answer_form(Path("a.csv"), ())
    answers = [{"question": 'a "b"\n\nc', "answer": '"'}, {"question": "d", "answer": "\n"}, {"question": "e"}]
    ends = [len(form.text(answers[:number], is_first=True).encode()) for number in range(len(answers) + 1)]
    whole = form.text(answers, is_first=True).encode()
    for cut in range(len(whole) + 1):
        content = Watched(whole[:cut])
        records, end = form.records(content)
        assert end == max((one for one in ends if one <= cut), default=0)
        assert [record["question"] for record in records] == [one["question"] for one in answers[: len(records)]]
        assert content.counted <= 2 * cut
    foreign = Watched(b'"' + b"a,b\n" * 1000)
    with pytest.raises(ValueError, match="no record starts so"):
        form.records(foreign)
    assert foreign.counted <= 2 * len(foreign)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("asked.txt", "a\u2028b?\n\n c?\n"),
        ("asked.csv", "number,question\n1,a\u2028b?\n2,c?\n"),
        ("asked.csv", "number;question\n1;a\u2028b?\n2;c?\n"),
        ("asked.csv", 'a,"question"\r\n1,a\u2028b?\r\n2,c?\r\n'),
        ("asked.csv", 'a, "question"\n1, "a\u2028b?"\n2, "c?"\n'),
        ("asked.tsv", "question\tnumber\na\u2028b?\t1\nc?\t2\n"),
        ("asked.jsonl", '{"question": "a\\u2028b?"}\n{"question": "c?", "more": 1}\n'),
    ],
)
def test_forms_of_a_file(name, content, tmp_path):
    (tmp_path / name).write_text(content, encoding="utf-8")
    assert read_questions(tmp_path / name) == ["a\u2028b?", "c?"]


def test_quotes_behind_a_blank_may_be_part_of_a_question(tmp_path):
    (tmp_path / "asked.csv").write_text('number,question\n1, "Hello" by whom?\n')
    assert read_questions(tmp_path / "asked.csv") == ['"Hello" by whom?']


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("asked.txt", "\n \n", "there is no question in it"),
        ("asked.csv", "text\nWho?\n", "column 'question' is missing"),
        ("asked.csv", "question,n\n,1\n", "line 2: the question is empty"),
        ("asked.jsonl", "[1]\n", "expected a JSON object"),
        ("asked.doc", "Who?", "questions are a file in"),
    ],
)
def test_faults_of_a_file(name, content, message, tmp_path):
    (tmp_path / name).write_text(content, encoding="utf-8")
    with pytest.raises(UserError, match=message):
        read_questions(tmp_path / name)


def test_what_does_not_go_together(ask, mate, trained, capsys):
    assert ask() == 2
    assert "question is missing" in capsys.readouterr().err
    assert ask("question=Who?", "questions=asked.txt") == 2
    assert "question and questions given" in capsys.readouterr().err
    assert ask("questions=asked.txt", "before=[Who?]") == 2
    assert "leave out before" in capsys.readouterr().err
    words = (f"selector={trained}", f"reader={trained}", "table=towns.csv", "questions=asked.txt")
    assert mate("predict", *words) == 2
    assert "leave out selector and reader" in capsys.readouterr().err
    assert ask("questions=asked.txt", "to=missing/answers.jsonl") == 2
    assert "cannot be written" in capsys.readouterr().err


def test_a_table_that_does_not_fit_is_refused_before_anything_is_written(ask, capsys):
    Path("towns.csv").write_text("city,people\n" + "Alder,1\n" * 400)
    assert ask("questions=asked.txt", "max_tokens=256", "rows=all") == 2
    assert "tokens, and this run reads" in capsys.readouterr().err
    assert not Path("answers.jsonl").exists()


@pytest.mark.parametrize("to", ["answers.jsonl", "answers.csv"])
def test_a_question_that_is_too_long_leaves_the_others_their_answers(to, ask, monkeypatch, capsys):
    monkeypatch.setattr(question_file, "_BATCH", 2)
    words = ("questions=asked.txt", f"to={to}", "max_tokens=256")
    assert ask(*words) == 0
    alone = [(one["question"], one["answer"]) for one in records(to)]
    asked = [ASKED[0], "town " * 400 + "?", *ASKED[1:]]
    Path("asked.txt").write_text("\n".join(asked))
    Path(to).unlink()
    capsys.readouterr()
    reason = "the question 'town town "
    for before in ("", ", 4 of them from an earlier run", ", 2 of them from an earlier run"):
        if "2" in before:
            lines = Path(to).read_bytes().splitlines(keepends=True)
            Path(to).write_bytes(b"".join(lines[: len(lines) - 2]))
        assert ask(*words) == 0
        shown = capsys.readouterr()
        assert shown.out == f"{to}: 4 answers{before}, 1 of them empty\n"
        assert f"warning: 1 without an answer, see unanswered in {to}; {reason}" in shown.err
        first, long, *others = records(to)
        assert [(one["question"], one["answer"]) for one in (first, *others)] == alone
        assert (long["question"], long["answer"] or None, long["table"]) == (asked[1].strip(), None, "towns.csv")
        assert long["unanswered"].startswith(reason)
        assert long["unanswered"].endswith("ask in fewer words")
        assert not long["warnings"]


def records(to):
    text = Path(to).read_text()
    return list(csv.DictReader(io.StringIO(text))) if to.endswith("csv") else list(map(json.loads, text.splitlines()))


def test_a_withheld_answer_and_none_stand_in_one_file(ask):
    Path("asked.txt").write_text(f"{ASKED[0]}\nHow many {'towns ' * 400}?\n")
    assert ask("questions=asked.txt", "threshold=0.99", "max_tokens=256") == 0
    withheld, unanswered = written()
    assert "best_guess" in withheld
    assert "best_guess" not in unanswered
    assert "unanswered" not in withheld


def test_a_file_of_one_question_that_is_too_long_is_refused_as_a_single_one(ask, capsys):
    question = "town " * 300 + "?"
    Path("asked.txt").write_text(question)
    assert ask("questions=asked.txt", "max_tokens=256") == 2
    error = capsys.readouterr().err
    assert ask(f"question={question}", "max_tokens=256") == 2
    assert capsys.readouterr().err == error
    tokens = re.match(r"error: the question 'town .* has (\d+) tokens, table 'towns.csv' at least (\d+),", error)
    assert int(tokens.group(1)) > 300
    assert int(tokens.group(2)) >= 6  # of header and a row of two columns or more
    needed = re.search(r"this run reads 256; add max_tokens=(\d+), or ask in fewer words\n$", error).group(1)
    assert ask("questions=asked.txt", f"max_tokens={needed}") == 0
    assert len(written()) == 1
    assert not Path("answers.csv").exists()
