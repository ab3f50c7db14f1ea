"""`mate analyze analysis=errors`: who is to blame, the sheet, and a page that shows any text as text."""

from __future__ import annotations

import json
from collections import Counter
from html.parser import HTMLParser
from pathlib import Path

import pytest

from mate_cli.analysis.errors import BLAMED, Errors, WrongAnswer, sample_errors
from mate_cli.analysis.outcomes import open_outcomes
from mate_cli.cli.main import main
from mate_cli.config.paths import PathsConfig
from mate_cli.reporting.error_page import MAX_ROWS, error_page, rows_to_show
from mate_cli.reporting.errors import TO_ANNOTATE
from mate_cli.system.errors import UserError
from mate_cli.tables.hybridqa import LAYOUT
from mate_cli.tables.table import Cell, Example, Table

NASTY = "<script>alert(1)</script>"
QUOTES = '" onmouseover="alert(2)" \' {{ 7 * 7 }} </td></table>'


def elsewhere(example):
    """A cell that does not hold the answer."""
    table = example.table
    places = ((row, column) for row in range(table.num_rows) for column in range(table.num_columns))
    return next(place for place in places if place not in example.candidates)


def answered(number, example):
    """In turn: the right answer, more than it, a part of it from the wrong cell, nothing from no cell."""
    gold = (example.answers or ("",))[0]
    right = example.candidates[0] if example.candidates else elsewhere(example)
    return [(right, gold), (right, f"{gold} quickly"), (elsewhere(example), "zzz"), (None, "")][number % 4]


def test_stages_and_classes_of_a_pipeline(trained, pipeline):
    outcomes = open_outcomes(str(pipeline("p", answered)), "test", None, PathsConfig())
    errors = sample_errors(outcomes, 1000, seed=0)
    expected = [example for number, example in enumerate(trained.examples) if number % 4]
    assert (errors.questions, errors.wrong, errors.read) == (170, len(expected), True)
    assert [answer.example.id for answer in errors.sample] == [example.id for example in expected]
    numbers = [number for number in range(len(trained.examples)) if number % 4]
    for number, answer in zip(numbers, errors.sample, strict=True):
        if not answer.example.candidates:
            assert answer.blamed == "no_candidate"
        else:
            assert answer.blamed == {1: "reader", 2: "selector", 3: "selector"}[number % 4]
        assert answer.miss == {1: "extra_words", 2: "other", 3: "other"}[number % 4]
        assert answer.f1 == outcomes.records[answer.example.id]["f1"]


def test_a_reader_that_could_not_see_the_answer_is_not_to_blame(trained, pipeline):
    """The stand-in for a reader reads 256 tokens; passages longer than that push the answer out."""
    outcomes = open_outcomes(str(pipeline("p", answered)), "test", None, PathsConfig())
    example = next(example for example in trained.examples if example.subset == "passage")
    (row, column), gold = example.candidates[0], (example.answers or ("",))[0]
    link = example.table.rows[row][column].links[0]
    long = {**example.passages, link: " ".join(["word"] * 400) + f" {gold}"}
    buried = Example(example.id, example.question, example.table, example.answers, long, example.candidates)
    object.__setattr__(outcomes, "examples", (buried,))
    outcomes.records[example.id].update(chosen=0, exact=0, prediction="word", cells=[{"row": row, "column": column}])
    (answer,) = sample_errors(outcomes, 10, seed=0).sample
    assert answer.blamed == "reader_input"


def test_a_selector_alone(trained):
    outcomes = open_outcomes(str(trained.run), "test", None, PathsConfig())
    errors = sample_errors(outcomes, 1000, seed=0)
    scores = json.loads((trained.run / "metrics.json").read_text())["test"]["model"]["all"]
    assert errors.wrong == round(170 * (1 - scores["hits@1"]))
    blamed = Counter(answer.blamed for answer in errors.sample)
    assert blamed.keys() <= {"no_candidate", "selector_input", "selector"}
    assert blamed["no_candidate"] == sum(not example.candidates for example in trained.examples)
    assert all(answer.miss is None for answer in errors.sample)
    for answer in errors.sample:
        assert answer.chosen not in answer.example.candidates
        assert answer.prediction == answer.example.table.rows[answer.chosen[0]][answer.chosen[1]].text


def test_what_the_selector_could_not_see_is_told_by_its_tokens(trained):
    """With three sentences a question, some answers stand in a sentence that was not chosen."""
    outcomes = open_outcomes(str(trained.run), "test", None, PathsConfig())
    stage = outcomes.selector
    before = Counter(answer.blamed for answer in sample_errors(outcomes, 1000, 0).sample)
    stage.config.task.sentences = 0
    after = Counter(answer.blamed for answer in sample_errors(outcomes, 1000, 0).sample)
    assert after["selector_input"] > before["selector_input"]
    assert after.total() == before.total()


def test_the_draw_is_a_function_of_the_seed(trained):
    outcomes = open_outcomes(str(trained.run), "test", None, PathsConfig())
    drawn = {seed: [answer.example.id for answer in sample_errors(outcomes, 20, seed).sample] for seed in (0, 0, 1)}
    assert [answer.example.id for answer in sample_errors(outcomes, 20, 0).sample] == drawn[0]
    assert drawn[0] != drawn[1]
    assert len(set(drawn[0])) == 20
    order = [example.id for example in trained.examples]
    assert drawn[0] == sorted(drawn[0], key=order.index)


def test_the_command_writes_a_page_and_a_sheet_that_it_never_overwrites(pipeline, tmp_path, capsys):
    folder, to = pipeline("p", answered), tmp_path / "out"
    words = ["analyze", "analysis=errors", f"run={folder}", "split=test", f"to={to}", "analysis.sample=12"]
    assert main(words) == 0
    shown = capsys.readouterr().out
    assert "how near: 12 of 127 wrong answers" in shown
    assert "55%" in shown
    rows = [json.loads(line) for line in (to / "errors.jsonl").read_text().splitlines()]
    assert len(rows) == 12
    assert {row["blamed"] for row in rows} <= set(BLAMED)
    assert all(row["annotation"] == dict.fromkeys(TO_ANNOTATE) for row in rows)
    assert (to / "errors.html").read_text().count("<article") == 12
    assert main(words) == 0  # an empty sheet may be drawn anew
    rows[3]["annotation"]["note"] = "wrong year"
    (to / "errors.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    capsys.readouterr()
    assert main(words) == 2
    assert capsys.readouterr().err == f"error: {to}/errors.jsonl has annotations; write elsewhere with to=FOLDER\n"


@pytest.mark.parametrize(
    ("words", "line"),
    [
        ([], "run is missing: write run=..."),
        (["run=/nowhere"], "run=/nowhere: there is no such folder; mate runs lists those that exist"),
        (["run={run}", "task=sample"], "task belongs to analysis=coverage or flow"),
        (
            ["run={run}", "split=dev"],
            "{run}/predictions-dev.jsonl does not exist; create it with mate evaluate run={run}",
        ),
        (["run={run}", "runs=[{run},{run}]"], "runs belongs to analysis=compare"),
    ],
)
def test_a_mistake_is_one_line(words, line, trained, capsys):
    assert main(["analyze", "analysis=errors", *(word.format(run=trained.run) for word in words)]) == 2
    error = capsys.readouterr().err
    assert error.startswith(f"error: {line.format(run=trained.run)}")
    assert error.count("\n") == 1


@pytest.fixture
def other_questions(trained, tmp_path, monkeypatch):
    """Puts other questions in the place of those of the sample's test split."""

    def put(change):
        other = tmp_path / "data"
        (other / "released_data").mkdir(parents=True)
        (other / "WikiTables-WithLinks").symlink_to(trained.sample / "WikiTables-WithLinks")
        questions = LAYOUT.question_file(trained.sample, "test")
        changed = change(json.loads(questions.read_text()))
        (other / "released_data" / questions.name).write_text(json.dumps(changed))
        monkeypatch.setattr("mate_cli.training.splits.data_folder", lambda *_: other)

    return put


def all_but_the_first(questions):
    return questions[1:]


def blind(questions):
    return [{key: own[key] for key in own.keys() - {"answer-text", "answer-node"}} for own in questions]


@pytest.mark.parametrize(
    ("analysis", "change", "line"),
    [
        ("errors", all_but_the_first, "was scored on other questions than test has here"),
        ("errors", blind, "split=test is blind"),
        ("robustness", blind, "split=test is blind"),
    ],
)
def test_other_data_is_refused(trained, other_questions, capsys, analysis, change, line):
    other_questions(change)
    assert main(["analyze", f"analysis={analysis}", f"run={trained.run}", "split=test"]) == 2
    assert line in capsys.readouterr().err


def test_other_data_of_a_pipeline_is_refused(pipeline, other_questions):
    folder = pipeline("whole", lambda number, example: (None, "nothing"))
    other_questions(all_but_the_first)
    with pytest.raises(UserError, match="whole answers other questions than test has here"):
        open_outcomes(str(folder), "test", None, PathsConfig())


class Page(HTMLParser):
    """Tags with their attributes' names, texts, and whether every tag is closed."""

    def __init__(self):
        super().__init__()
        self.tags, self.attributes, self.texts, self.open = Counter(), set(), [], []

    def handle_starttag(self, tag, attributes):
        self.tags[tag] += 1
        self.attributes |= {name for name, _ in attributes}
        if tag not in ("meta", "br"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.texts.append(data)


def wrong(rows=3, chosen=(0, 1), candidates=((2, 0),), text="text"):
    cells = tuple((Cell(f"{text} {row}", (NASTY,)), Cell(QUOTES)) for row in range(rows))
    table = Table(NASTY, (Cell(NASTY), Cell(QUOTES)), cells, QUOTES)
    example = Example(QUOTES, NASTY, table, (NASTY, QUOTES), {NASTY: QUOTES + NASTY}, candidates)
    score = {"row": 2, "column": 0, "probability": 0.123, "span": NASTY, "span_probability": 0.5, "joint": 0.1}
    return WrongAnswer(example, NASTY, chosen, "selector", "other", 0.0, [score])


def page_of(*answers):
    page = Page()
    page.feed(error_page(Errors(9, len(answers), True, answers), NASTY))
    assert page.open == []
    return page


def test_texts_of_the_data_never_become_markup():
    page = page_of(wrong(text=NASTY), wrong(text=QUOTES))
    assert "script" not in page.tags
    assert page.attributes <= {"lang", "charset", "name", "content", "id", "class", "title", "colspan"}
    everything = "".join(page.texts)
    assert everything.count(NASTY) > 10
    assert everything.count(QUOTES) > 10
    assert "49" not in everything


def test_the_page_needs_nothing_else():
    text = error_page(Errors(9, 1, True, (wrong(),)), "t")
    assert not any(word in text for word in ("http://", "https://", "src=", "href=", "@import", "url("))


def test_cells_are_marked_by_colour_and_by_symbol():
    text = error_page(Errors(9, 1, True, (wrong(chosen=(0, 1), candidates=((2, 0), (1, 1))),)), "t")
    cells = [line for line in text.splitlines() if line.startswith("<td class=") and "left-out" not in line]
    marks = [("★" in cell, "◆" in cell) for cell in cells[:6]]
    assert marks == [(False, False), (False, True), (False, False), (True, False), (True, False), (False, False)]
    classes = [cell.split('"')[1].split() for cell in cells[:6]]
    assert classes == [["gold"] * gold + ["chosen"] * chosen for gold, chosen in marks]
    both = error_page(Errors(9, 1, True, (wrong(chosen=(2, 0)),)), "t")
    assert both.count('<td class="gold chosen">') == 2  # in the table and among the scores


def test_a_large_table_shows_the_rows_around_the_marked():
    assert rows_to_show(MAX_ROWS, [5]) == list(range(MAX_ROWS))
    assert rows_to_show(1000, [500, 999]) == [0, 1, 2, 3, 498, 499, 500, 501, 502, 997, 998, 999]
    many = rows_to_show(1000, [700, *range(900)])
    assert len(many) == MAX_ROWS
    assert 700 in many
    page = page_of(wrong(rows=1000, chosen=(500, 1)))
    shown = "".join(page.texts)
    assert "493 rows left out" in shown
    assert "497 rows left out" in shown
    assert page.tags["tr"] < 30


def test_passages_are_bounded_by_the_marked_cells():
    text = error_page(Errors(9, 1, True, (wrong(rows=50, candidates=tuple((row, 0) for row in range(50))),)), "t")
    assert text.count("<blockquote>") == 11  # the chosen cell has no link
    assert "and 39 more cells with the answer" in text


def test_a_question_that_nobody_could_read_has_a_page(pipeline, trained, tmp_path):
    folder = pipeline("none", lambda number, example: (None, ""), trained.examples[:3])
    assert main(["analyze", "analysis=errors", f"run={folder}", "split=test", f"to={tmp_path / 'o'}"]) == 0
    assert Path(tmp_path / "o" / "errors.html").read_text().count("(nothing)") == 3
