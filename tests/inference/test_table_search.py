"""`mate predict tables=DIR`: the table that a question is about, and the answer from it."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch

from mate_cli.inference import asked_tables, table_search
from mate_cli.inference.asked_tables import AskedTables
from mate_cli.inference.table_search import CANDIDATES, WEIGHT, TableSearch
from mate_cli.models.sentence_encoder import PACKAGE, SentenceEncoder
from mate_cli.notebook import load_run, open_folder
from mate_cli.system.distribution import package_folder
from mate_cli.system.errors import UserError
from mate_cli.tables.table_folder import TableFolder

TABLES = {
    "towns.csv": "city,mayor,population\nAlder,Ann Lee,1200\nBirch,Bob Moe,800\n",
    "deep/peaks.csv": "peak,height\nEiger,3967\nZinal,4221\n",
    "deep/books.csv": "title,writer\nEmma,Austen\nUlysses,Joyce\n",
}


@pytest.fixture
def folder(tmp_path):
    for name, text in TABLES.items():
        (tmp_path / "tables" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "tables" / name).write_text(text)
    return tmp_path / "tables"


@pytest.fixture
def by_words(monkeypatch):
    """As where the sentence encoder is not installed."""
    monkeypatch.setattr(asked_tables, "find_spec", lambda _: None)


@pytest.fixture
def ask(mate, trained, folder):
    def start(*words: str) -> int:
        return mate("predict", f"run={trained}", "hardware=cpu", "hardware.precision='32'", *words)

    return start


class Letters:
    """An encoder of one dimension for each letter."""

    def vectors(self, texts):
        counts = np.array([[text.count(letter) for letter in "abcdefgh"] for text in texts], dtype=np.float32)
        return counts / np.maximum(np.linalg.norm(counts, axis=1, keepdims=True), 1e-9)


def test_vectors_are_those_of_the_published_encoder_alone_and_in_a_batch():
    """The mean of BERT's last states, computed by the classes of transformers that read the published folder."""
    from transformers import AutoModel, AutoTokenizer

    folder, texts = package_folder(PACKAGE), ["a town", "the mayors of all towns by the lake " * 40, "1200"]
    model, tokenizer = AutoModel.from_pretrained(folder).eval(), AutoTokenizer.from_pretrained(folder)
    vectors = SentenceEncoder().vectors(texts)
    for text, vector in zip(texts, vectors, strict=True):
        with torch.no_grad():
            states = model(**tokenizer(text, return_tensors="pt", truncation=True, max_length=128)).last_hidden_state
        mean = states[0].mean(dim=0)
        np.testing.assert_allclose(vector, (mean / mean.norm()).numpy(), atol=1e-5)


def test_the_best_by_words_are_ranked_by_words_and_meaning(folder, monkeypatch):
    index = TableFolder(folder).index
    questions = ["the mayor of Birch, a city", "Eiger", "who wrote Emma", "a bad cafe"]
    for candidates in (2, CANDIDATES):
        monkeypatch.setattr(table_search, "CANDIDATES", candidates)
        words = index.scores(questions)
        cosines = Letters().vectors(questions) @ Letters().vectors(index.openings).T
        for row, (question, ranked) in enumerate(
            zip(questions, TableSearch(index, Letters()).rank(questions), strict=True)
        ):
            among = sorted(range(3), key=lambda number: -words[row, number])[:candidates]
            expected = {number: words[row, number] + WEIGHT * cosines[row, number] for number in among}
            assert ranked == pytest.approx(expected, rel=1e-5), question
            assert list(ranked.values()) == sorted(ranked.values(), reverse=True)


def test_words_alone_name_no_table_without_one_of_them(folder, by_words):
    index = TableFolder(folder).index
    (ranked, none) = TableSearch(index, None).rank(["How high is the Eiger peak?", "Who?"])
    assert [index.openings[number].split()[0] for number in ranked] == ["deep/peaks"]
    assert none == {}
    tables = AskedTables(TableFolder(folder))
    tables.search(["Eiger", "Who?"])
    with pytest.raises(UserError, match="no table has a word of the question 'Who"):
        tables.example("Who?")


def test_meaning_finds_what_shares_no_word(folder):
    tables = AskedTables(TableFolder(folder))
    tables.search(["Which novel is by James Joyce?", "the tallest mountain", "How many inhabitants?"])
    assert tables.table_id("the tallest mountain") == "deep/peaks.csv"
    assert tables.table_id("How many inhabitants?") == "towns.csv"
    assert tables.table_id("Which novel is by James Joyce?") == "deep/books.csv"


def test_a_question_without_a_word_of_any_table_is_asked_with_a_remark(folder):
    """By meaning alone; a question with such a word has no remark."""
    tables = AskedTables(TableFolder(folder))
    tables.search(["zzzz qqqq", "the tallest mountain", "How high is the Eiger?"])
    for question in ("zzzz qqqq", "the tallest mountain"):
        assert tables.remarks(question) == [
            f"tables={folder}: no table has a word of the question; {tables.table_id(question)} is only the nearest in "
            "meaning; if it is another, name it: table=FILE"
        ]
    assert tables.remarks("How high is the Eiger?") == []


def test_a_question_without_a_word_of_any_table_is_refused_where_words_choose_the_candidates(folder):
    for number in range(CANDIDATES + 1 - len(TABLES)):
        (folder / f"more{number}.csv").write_text("letter\nalpha\n")
    tables = AskedTables(TableFolder(folder))
    tables.search(["Who is the mayor of Birch?", "zzzz qqqq"])
    with pytest.raises(UserError, match="no table has a word of the question 'zzzz qqqq'; name one: table=FILE"):
        tables.example("zzzz qqqq")
    assert [tables.table_id("zzzz qqqq"), tables.remarks("zzzz qqqq")] == [None, []]
    assert tables.table_id("Who is the mayor of Birch?") == "towns.csv"


def test_the_answer_is_that_of_its_table_and_names_it(ask, folder, capsys):
    (folder / "broken.csv").write_text("a,b\n1\n")
    question = "question=Who is the mayor of Birch?"
    assert ask(f"tables={folder}", question, "output=json") == 0
    record = json.loads(capsys.readouterr().out)
    assert ask(f"table={folder}/towns.csv", question, "output=json") == 0
    alone = json.loads(capsys.readouterr().out)
    warning, *warnings = record.pop("warnings")
    assert warning == f"tables={folder}: 1 left out, {folder}/broken.csv: line 2 has 1 field, the header has 2; " + (
        "remove the line, or set separator="
    )
    assert [found["table"] for found in record["tables"]][:1] == ["towns.csv"]
    assert {found["table"] for found in record.pop("tables")} == set(TABLES)
    assert record == {name: value for name, value in alone.items() if name != "warnings"}
    assert warnings == alone["warnings"]
    assert ask(f"tables={folder}", question) == 0
    shown = capsys.readouterr()
    assert "\ntable: towns.csv; next: deep/" in shown.out
    assert shown.err.splitlines()[0] == f"warning: {warning}"


def test_a_file_of_questions_on_a_folder_goes_on(ask, folder, capsys):
    asked = ["Who is the mayor of Birch?", "How high is the peak Eiger?", "the writer of Emma", "the mayor of Alder"]
    Path("asked.txt").write_text("\n".join(asked))
    assert ask(f"tables={folder}", "questions=asked.txt") == 0
    whole = Path("answers.jsonl").read_text()
    records = [json.loads(line) for line in whole.splitlines()]
    assert [record["question"] for record in records] == asked
    names = ["towns.csv", "deep/peaks.csv", "deep/books.csv", "towns.csv"]
    assert [record["table"] for record in records] == [record["tables"][0]["table"] for record in records] == names
    Path("answers.jsonl").write_text(whole[: whole.index("\n") + 20])
    capsys.readouterr()
    assert ask(f"tables={folder}", "questions=asked.txt") == 0
    assert "4 answers, 1 of them from an earlier run" in capsys.readouterr().out
    assert [json.loads(line)["table"] for line in Path("answers.jsonl").read_text().splitlines()] == names


def test_questions_and_answers_inside_the_folder_are_not_asked(ask, folder):
    """The nearest table by words would be the file of the question itself, or that of its answer."""
    asked = ["Who is the mayor of Birch?", "How high is the peak Eiger?"]
    lines = [json.dumps({"question": question}) for question in asked]
    files = {"asked.csv": ["question", *asked], "asked.txt": asked, "asked.jsonl": lines}
    for (questions, lines), to in zip(files.items(), ("answers.csv", "answers.jsonl", "answers.tsv"), strict=True):
        (folder / questions).write_text("\n".join(lines))
        assert ask(f"tables={folder}", f"questions={folder / questions}", f"to={folder / to}") == 0
        (folder / questions).unlink()
        read = {".csv": pd.read_csv, ".tsv": pd.read_table, ".jsonl": partial(pd.read_json, lines=True)}
        assert read[Path(to).suffix](folder / to)["table"].tolist() == ["towns.csv", "deep/peaks.csv"]


def test_tables_of_runs_inside_the_folder_are_not_asked(ask, folder, capsys):
    (folder / "runs" / "sqa" / "first").mkdir(parents=True)
    (folder / "runs" / "sqa" / "first" / "metrics.csv").write_text("mayor,of,Birch\n1,2,3\n")
    for runs, table in (("elsewhere", "runs/sqa/first/metrics.csv"), (folder / "runs", "towns.csv")):
        assert ask(f"tables={folder}", "question=Who is the mayor of Birch?", "output=json", f"paths.runs={runs}") == 0
        assert json.loads(capsys.readouterr().out)["table"] == table


def test_a_file_is_answered_where_a_question_finds_no_table_or_too_large_a_one(ask, folder, by_words, capsys):
    (folder / "long.csv").write_text("quux\n" + "1\n" * 400)
    asked = ["Who is the mayor of Birch?", "zzzz?", "How many quux?", "How high is the peak Eiger?"]
    Path("asked.txt").write_text("\n".join(asked))
    for to, before in (("answers.jsonl", ""), ("answers.csv", ""), ("answers.csv", ", 4 of them from an earlier run")):
        assert ask(f"tables={folder}", "questions=asked.txt", f"to={to}", "max_tokens=256", "rows=all") == 0
        shown = capsys.readouterr()
        assert shown.out == f"{to}: 4 answers{before}, 2 of them empty\n"
        assert f"warning: 2 without an answer, see unanswered in {to}; the first: tables={folder}: no" in shown.err
    records = [json.loads(line) for line in Path("answers.jsonl").read_text().splitlines()]
    assert [record["table"] for record in records] == ["towns.csv", None, "long.csv", "deep/peaks.csv"]
    assert [record["answer"] is None for record in records] == [False, True, True, False]
    assert "no table has a word of the question 'zzzz?'; name one: table=FILE" in records[1]["unanswered"]
    assert records[1]["tables"] == []
    assert "ask about fewer rows or columns" in records[2]["unanswered"]


def test_python_asks_a_folder(trained, folder):
    record = load_run(trained).answer("Who is the mayor of Birch?", open_folder(folder))
    assert record["table"] == record["tables"][0]["table"] == "towns.csv"


def test_passages_of_the_table_that_is_found(mate, stages, folder, capsys):
    (folder / "towns.csv").write_text("city,mayor\n[[Alder]],Ann Lee\n[[Birch]],Bob Moe\n")
    Path("texts.json").write_text(json.dumps({"Alder": "A town by the sea.", "Birch": "A town.", "Oak": "A wood."}))
    words = (f"tables={folder}", "passages=texts.json", "hardware=cpu", "output=json")
    assert mate("predict", *stages, *words, "question=the mayor of which city lives by the sea?") == 0
    record = json.loads(capsys.readouterr().out)
    assert record["table"] == "towns.csv"
    assert {cell["text"] for cell in record["cells"]} >= {"Alder", "Birch"}


def test_a_folder_and_a_table_are_not_both_asked(ask, folder, capsys):
    assert ask(f"tables={folder}", "table=x.csv", "question=Who?") == 2
    assert "table and tables given: write table=..., or tables=..." in capsys.readouterr().err
    (folder.parent / "empty").mkdir()
    assert ask("tables=empty", "question=Who?") == 2
    assert "error: tables=empty: no tables in this folder" in capsys.readouterr().err


def test_how_a_csv_file_was_read_is_said_and_can_be_set(ask, folder, capsys):
    text = "Towns of the north\n\ncity;mayor\nPlzeň;Jiří\nBirch;Bob Moe\n"
    (folder / "towns.csv").write_bytes(text.encode("cp1250"))
    question, given = "question=Who is the mayor of Birch?", ("encoding=cp1250", "separator=;", "header_row=3")
    line = f"{folder}/towns.csv: read with encoding=cp1252 separator=; header_row=3, as its content suggests"
    for tables in (f"table={folder}/towns.csv", f"tables={folder}"):
        assert ask(tables, question) == 0
        assert capsys.readouterr().err.splitlines()[0].startswith(f"warning: {line}")
    assert ask(f"table={folder}/towns.csv", question, *given) == 0
    shown = capsys.readouterr()
    assert "Plzeň" in shown.out
    assert "read with" not in shown.err
    assert ask(f"table={folder}/towns.csv", question, "encoding=hex", "separator=ab", "header_row=-1") == 2
    assert capsys.readouterr().err.splitlines() == [
        "error: header_row=-1: must be at least 0",
        "error: encoding=hex: no such encoding; write one such as cp1252, utf-16 or gb18030",
        "error: separator=ab: must be one character, no quote, or tab",
    ]
    (folder / "t.json").write_text('[{"a": 1}]')
    assert ask(f"table={folder}/t.json", question, "separator=tab") == 2
    assert "encoding, separator and header_row are for CSV files; leave them out" in capsys.readouterr().err
