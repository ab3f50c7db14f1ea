"""``mate ask``: one question, or one after the other, follow-ups, and what the last question attends to."""

from __future__ import annotations

import io
import json
from pathlib import Path

import numpy as np
import pytest
import torch

from mate_cli.config.hardware import HardwareConfig
from mate_cli.inference.answerer import Answerer
from mate_cli.inference.onnx_model import OnnxModel
from mate_cli.inference.reading import Assembled
from mate_cli.inference.session import Session
from mate_cli.inference.table_reader import TableReader
from mate_cli.models.observed import attention_layers
from mate_cli.runs.folder import RunFolder, load_run_config
from mate_cli.system.errors import TRY_AGAIN, Preempted, UserError
from mate_cli.tables.user_table import read_table
from tests.tables.releases import write_sqa
from tests.training.conftest import TINY, train_once

TOWNS = "city,mayor,population\nAlder,Ann Lee,1200\nBirch,Bob Moe,800\nSanta Cruz,Cy Poe,4300\n"
WHO = "Who is the mayor of Birch?"


@pytest.fixture(scope="module")
def conversing(tmp_path_factory, cache):
    """A finished run of SQA."""
    data = write_sqa(tmp_path_factory.mktemp("sqa"))
    words = ("task=sqa", *TINY, f"data_dir={data}", "name=first")
    return train_once(tmp_path_factory, cache, *words) / "runs" / "sqa" / "first"


@pytest.fixture
def ask(mate, monkeypatch, capsys):
    """Call ``mate ask`` with lines to ask; what it printed."""
    Path("towns.csv").write_text(TOWNS)

    def start(run: Path, *lines: str, words: tuple[str, ...] = ()) -> str:
        capsys.readouterr()
        monkeypatch.setattr("sys.stdin", io.StringIO("".join(f"{line}\n" for line in lines)))
        assert mate("ask", "towns.csv", f"run={run}", "hardware=cpu", "hardware.precision='32'", *words) == 0
        return capsys.readouterr().out

    return start


def test_answers_are_those_of_predict(ask, mate, trained, capsys):
    printed = ask(trained, WHO, "", "Which city has 1200 people?").splitlines()
    assert printed[0].startswith("towns.csv: 3 rows, 3 columns; ")
    answers = [line for line in printed if line.startswith("answer: ")]
    for question, answer in zip((WHO, "Which city has 1200 people?"), answers, strict=True):
        words = (f"run={trained}", "table=towns.csv", "hardware=cpu", "hardware.precision='32'")
        assert mate("predict", *words, f"question={question}") == 0
        assert answer in capsys.readouterr().out


def test_a_question_of_the_command_line_is_the_only_one(ask, trained, mate, capsys):
    typed = ask(trained, WHO, ":quit")
    only = ask(trained, "never asked", words=(WHO,))
    assert only.startswith("answer: ")
    assert typed.endswith(f":help lists commands, :quit or Ctrl-D ends\n{only}")
    assert mate("ask", "towns.csv", "!", f"run={trained}", "hardware=cpu") == 2
    assert capsys.readouterr().err == "error: there is no statement after !: write it on the same line\n"
    assert mate("ask", "towns.csv", f"+{WHO}", f"run={trained}", "hardware=cpu") == 2
    assert capsys.readouterr().err.startswith("error: ")


def test_a_terminal_shows_that_the_table_is_read(ask, mate, trained, capsys, monkeypatch):
    predict = ("predict", f"run={trained}", "table=towns.csv", "hardware=cpu", f"question={WHO}")
    assert mate(*predict) == 0
    assert "reading" not in capsys.readouterr().err
    monkeypatch.setenv("FORCE_COLOR", "1")  # which rich takes for a terminal
    assert mate(*predict) == 0
    assert "reading 3 rows and 3 columns" in capsys.readouterr().err


def test_a_follow_up_is_asked_with_the_questions_before_it(ask, mate, conversing, capsys):
    printed = ask(conversing, WHO, "+and how many people live there?", "+ and where?").splitlines()
    words = (f"run={conversing}", "table=towns.csv", "hardware=cpu", "hardware.precision='32'", "output=json")
    before = f"before=[{WHO},and how many people live there?]"
    assert mate("predict", *words, "question=and where?", before) == 0
    expected = json.loads(capsys.readouterr().out)
    last = [line for line in printed if line.startswith("answer: ")][2]
    assert last.startswith(f"answer: {', '.join(expected['answer']) or 'none'}")


def test_mistakes_are_a_line_and_the_next_question_is_answered(ask, trained):
    printed = ask(trained, ":why", ":how", f"+{WHO}", WHO, ":quit", "never asked")
    assert "error: nothing has been asked yet" in printed
    assert "error: :how is no command: choose from :rows, :why, :help, :quit" in printed
    assert "error: this model was not trained on conversations" in printed
    assert printed.count("answer: ") == 1


def test_a_question_that_is_not_utf_8_is_a_line(ask, mate, trained, capsys):
    broken = b"Who lives in Z\xfcrich?".decode("utf-8", "surrogateescape")  # as a command line or a pipe gives it
    printed = ask(trained, broken, WHO)
    line = "the question 'Who lives in Z\\udcfcrich?' is not UTF-8; write it in a terminal or file that is"
    assert f"error: {line}\n" in printed
    assert "answer: " in printed
    words = (f"run={trained}", f"question={broken}", "hardware=cpu")
    for table in ("table=towns.csv", "tables=."):
        assert mate("predict", *words, table) == 2
        assert capsys.readouterr().err == f"error: {line}\n"


def test_a_sign_without_a_question_is_a_line(ask, trained):
    printed = ask(trained, "+", " ! ", "", WHO)
    assert "error: there is no question after +: write it on the same line" in printed
    assert "error: there is no statement after !: write it on the same line" in printed
    assert printed.count("answer: ") == 1


def test_a_question_that_does_not_fit_is_a_line(ask, trained):
    printed = ask(trained, WHO, " ".join(["long"] * 200), WHO, words=("max_tokens=64",))
    assert "error: the question 'long long" in printed
    assert printed.count("answer: ") == 2


@pytest.mark.parametrize("place", ["answer", "input"])
def test_ctrl_c_ends_an_answer_and_sigterm_the_command(place, ask, mate, trained, monkeypatch, capsys):
    raised = [KeyboardInterrupt, Preempted]

    def stopped(*_):
        raise raised.pop(0)

    if place == "answer":
        monkeypatch.setattr(Session, "ask", stopped)
        monkeypatch.setattr("sys.stdin", io.StringIO(f"{WHO}\n" * 3))
    else:
        raised.pop(0)
        monkeypatch.setattr("builtins.input", stopped)
    assert mate("ask", "towns.csv", f"run={trained}", "hardware=cpu") == TRY_AGAIN
    said = capsys.readouterr()
    assert said.out.count("stopped\n") == (place == "answer")
    assert said.err.startswith("stopped by SIGTERM")
    assert raised == []


def test_there_is_nothing_to_follow_up_on_at_first(ask, conversing):
    assert "error: there is no question yet to follow up on" in ask(conversing, f"+{WHO}")


def test_commands_show_rows_cells_and_attention(ask, trained):
    printed = ask(trained, WHO, ":rows", ":why", ":help")
    assert "Santa Cruz" in printed
    assert "#1" in printed
    assert printed.count("cell: ") == 5
    assert "attention of the question to columns: " in printed
    assert ":why" in printed


@pytest.fixture
def session(trained, tmp_path):
    """A session in which one question was asked."""
    (tmp_path / "towns.csv").write_text(TOWNS)
    config = load_run_config(trained)
    answerer = Answerer(RunFolder(trained), config, HardwareConfig(name="cpu", accelerator="cpu", micro_batch=1))
    session = Session(answerer, config, read_table(str(tmp_path / "towns.csv")), 5, None)
    session.ask(WHO)
    return session


def test_attention_without_a_preference_goes_to_each_part_by_its_tokens(session):
    for layer in attention_layers(session.answerer.model):
        torch.nn.init.zeros_(layer.query.weight)
        torch.nn.init.zeros_(layer.query.bias)
    table = session.example.table
    pieces = session.answerer.tokenizer.batch([cell.text for row in table.rows for cell in row])
    tokens = np.array([len(pieces.of(cell)) for cell in range(9)]).reshape(3, 3)
    attention = session.attention()
    np.testing.assert_allclose(attention.columns, tokens.sum(axis=0) / tokens.sum(), atol=1e-6)
    np.testing.assert_allclose(attention.rows, tokens.sum(axis=1) / tokens.sum(), atol=1e-6)


def test_attention_is_that_of_the_rows_that_were_read_again(session, monkeypatch):
    monkeypatch.setattr(
        TableReader, "again", lambda reader, reading, *answer: reader._encoded([reading.asked], [(0, 2)])[0]
    )
    rows = session.attention().rows
    assert rows[1] == 0
    assert rows[0] > 0 < rows[2]


def test_attention_that_cannot_be_looked_at_is_said(session):
    session.trained.model.heads = "linformer"
    with pytest.raises(UserError, match="attends to projections of the input"):
        session.attention()


def test_an_answer_put_together_from_parts_has_no_attention(session, monkeypatch):
    monkeypatch.setattr(session.answerer, "read", lambda example, advance: Assembled(example, None, parts=7))
    with pytest.raises(UserError, match="from those of 7 parts of the table, each with its own attention"):
        session.attention()


def test_a_graph_shows_no_attention(session):
    session.answerer.model = OnnxModel(session.answerer.model.config, None, 512)
    with pytest.raises(UserError, match="this model is a graph, which shows no attention; ask the run"):
        session.attention()


def test_a_file_that_is_no_plain_csv_is_described_or_what_was_found_is_said(mate, monkeypatch, trained, capsys):
    def ask(*words: str) -> tuple[str, str]:
        monkeypatch.setattr("sys.stdin", io.StringIO(""))
        assert mate("ask", "towns.csv", f"run={trained}", "hardware=cpu", *words) == 0
        return tuple(capsys.readouterr())

    Path("towns.csv").write_text("city;mayor\nAlder;Ann Lee\nBirch;Bob Moe\n")
    out, error = ask()
    assert "2 rows, 2 columns" in out
    assert "separator=;" in error
    out, error = ask("separator=;", "header_row=0")
    assert "3 rows, 2 columns" in out
    assert error == ""
    monkeypatch.setattr("sys.stdin", io.StringIO(""))
    assert mate("ask", "towns.csv", f"run={trained}", "separator=;;") == 2
    assert "separator=;;: must be one character" in capsys.readouterr().err
