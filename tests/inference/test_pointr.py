"""Selector and reader together, through the command line, on tiny models: what is read, chosen, kept and refused."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

from mate_cli.analysis.outcomes import open_outcomes
from mate_cli.config.paths import PathsConfig
from mate_cli.encoding.source import DataSource, DrawnSource, PartSource
from mate_cli.metrics.baselines import tfidf_cell_ranking
from mate_cli.metrics.hybridqa import exact_match, f1
from mate_cli.runs.folder import read_record
from mate_cli.tables.hybridqa import read_split
from mate_cli.tables.reading import reading_text
from mate_cli.tables.table import Example
from tests.printed import one_line

Mate = Callable[..., int]


@pytest.fixture(scope="module")
def dev(data: Path) -> dict[str, Example]:
    return {example.id: example for example in read_split(data, "dev").examples}


def _records(folder: Path, split: str = "dev") -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / f"records-{split}.jsonl").read_text().splitlines()]


def test_the_reader_reads_the_selectors_cells_and_the_joint_score_decides(
    mate: Mate, stages: tuple[str, str], dev: dict[str, Example], tmp_path: Path
) -> None:
    assert mate("evaluate", *stages, "top=3", "weight=0.5", "to=out", "hardware=cpu") == 0
    records = _records(tmp_path / "out")
    assert {record["id"] for record in records} == set(dev)
    for record in records:
        example, cells = dev[record["id"]], record["cells"]
        assert [cell["probability"] for cell in cells] == sorted((c["probability"] for c in cells), reverse=True)
        assert len(cells) == 3
        for cell in cells:
            text = reading_text(example, (cell["row"], cell["column"]))
            assert cell["text"] == example.table.rows[cell["row"]][cell["column"]].text
            assert cell["span"] == text[cell["start"] : cell["end"]] != ""
            assert 0 < cell["span_probability"] <= 1
        sums = [np.log(cell["probability"]) + 0.5 * np.log(cell["span_probability"]) for cell in cells]
        assert record["chosen"] == int(np.argmax(sums))
        assert record["prediction"] == cells[record["chosen"]]["span"]
        assert record["gold"] == list(example.answers or ())
        assert record["exact"] == exact_match(record["prediction"], record["gold"])
        assert record["f1"] == pytest.approx(f1(record["prediction"], record["gold"]))


def test_scores_and_submission_are_those_of_the_records(mate: Mate, stages: tuple[str, str], tmp_path: Path) -> None:
    """Counted again from the files; the first cell alone is the answer for top 1."""
    assert mate("evaluate", *stages, "top=3", "weight=1.0", "to=out", "hardware=cpu") == 0
    records, submission = (
        _records(tmp_path / "out"),
        json.loads((tmp_path / "out" / "predictions-dev.json").read_text()),
    )
    assert submission == [{"question_id": record["id"], "pred": record["prediction"]} for record in records]
    metrics = json.loads((tmp_path / "out" / "metrics.json").read_text())["dev"]
    assert metrics["limit"] is None
    assert list(metrics["scores"]) == ["top 1", "top 3"]
    for name, number in (("top 1", 1), ("top 3", 3)):
        for group, subset in (("In-Table", "table"), ("In-Passage", "passage"), ("Total", "")):
            in_group = [record for record in records if not subset or record["subset"] == subset]
            answers = [max(record["cells"][:number], key=lambda cell: cell["joint"])["span"] for record in in_group]
            share = np.mean([f1(answer, record["gold"]) for answer, record in zip(answers, in_group, strict=True)])
            assert metrics["scores"][name][group]["questions"] == len(in_group)
            assert metrics["scores"][name][group]["f1"]["mean"] == pytest.approx(share)
    (gain,) = metrics["gains"]
    assert (gain["of"], gain["over"]) == ("top 3", "top 1")
    expected = metrics["scores"]["top 3"]["Total"]["f1"]["mean"] - metrics["scores"]["top 1"]["Total"]["f1"]["mean"]
    assert gain["f1"]["mean"] == pytest.approx(expected)


def test_a_weight_is_fitted_on_training_questions_and_kept(
    mate: Mate, stages: tuple[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ("evaluate", *stages, "top=3", "hardware=cpu", "limit=20")
    assert mate(*words) == 2
    assert "split=train" in one_line(capsys)
    assert not (tmp_path / "runs").exists()
    assert mate(*words, "split=train") == 0
    folder = tmp_path / "runs" / "pointr" / "selector+reader"
    weight = json.loads((folder / "metrics.json").read_text())["weight"]
    assert weight["questions"] == len(_records(folder, "train")) == 20
    assert max(weight["exact"].values()) == weight["exact"][f"{weight['value']:g}"]
    assert mate(*words) == 0
    metrics = json.loads((folder / "metrics.json").read_text())
    assert metrics["dev"]["weight"] == weight["value"]
    assert metrics["dev"]["questions"] == metrics["dev"]["limit"] == metrics["train"]["limit"] == 20
    assert metrics["weight"] == weight


def test_a_weight_is_fitted_on_tables_that_neither_stage_was_trained_on(
    mate: Mate, data: Path, stages: tuple[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = []
    for stage, share in zip(stages, (0.6, 0.4), strict=True):
        name, path = stage.split("=")
        config = yaml.safe_load((copied := shutil.copytree(path, tmp_path / name) / "config.yaml").read_text())
        config["task"]["schedules"][config["schedule"]]["held_out"] = share
        copied.write_text(yaml.safe_dump(config))
        words.append(f"{name}={tmp_path / name}")
    assert mate("evaluate", *words, "top=3", "to=out", "hardware=cpu", "split=train", "limit=30") == 0
    assert "trained on" not in capsys.readouterr().out
    held_out = {e.id for e in PartSource(DataSource("hybridqa", data, "train"), 0.4, held_out=True).read().examples}
    answered = {record["id"] for record in _records(Path("out"), "train")}
    assert answered <= held_out
    assert len(answered) == min(30, len(held_out))


def test_answers_to_other_data_leave_those_to_the_stages_own(
    mate: Mate, data: Path, stages: tuple[str, str], tmp_path: Path
) -> None:
    other = shutil.copytree(data, tmp_path / "other")
    for file in (other / "released_data").glob("dev*"):
        file.write_text(json.dumps(json.loads(file.read_text())[:12]))
    words = ("evaluate", *stages, "top=3", "to=out", "hardware=cpu")
    for split in ("train", "dev"):
        assert mate(*words, f"split={split}", "limit=20") == 0
    own = {path.name: path.read_bytes() for path in Path("out").glob("*-*.json*")}
    metrics = read_record(Path("out", "metrics.json"))
    assert mate(*words, f"data_dir={other}") == 0
    (file,) = Path("out").glob("records-dev-data-*.jsonl")
    mark = file.stem.removeprefix("records-dev")
    assert len(_records(Path("out"), f"dev{mark}")) == 12
    assert mate(*words, "split=train", "limit=15", f"data_dir={other}") == 0
    assert {name: Path("out", name).read_bytes() for name in own} == own
    after = read_record(Path("out", "metrics.json"))
    assert {name: after[name] for name in metrics} == metrics
    assert after.keys() - metrics.keys() == {f"dev{mark}", f"train{mark}", f"weight{mark}"}
    opened = [open_outcomes("out", "dev", folder, PathsConfig()) for folder in (None, str(other))]
    assert [len(outcomes.examples) for outcomes in opened] == [20, 12]


@pytest.mark.parametrize(("selector", "name"), [("oracle", "oracle"), ("tfidf_cell", "tfidf_cell")])
def test_selectors_without_a_run(
    mate: Mate, stages: tuple[str, str], dev: dict[str, Example], tmp_path: Path, selector: str, name: str
) -> None:
    assert mate("evaluate", f"selector={selector}", stages[1], "hardware=cpu") == 0
    records = _records(tmp_path / "runs" / "pointr" / f"{name}+reader")
    first = tfidf_cell_ranking([dev[record["id"]] for record in records])
    for record in records:
        read = [(cell["row"], cell["column"]) for cell in record["cells"]]
        example = dev[record["id"]]
        assert read == (list(example.candidates) if selector == "oracle" else first[example.id][:1])
        if not read:
            assert (record["prediction"], record["chosen"]) == ("", None)
        else:
            sure = [cell["span_probability"] for cell in record["cells"]]
            assert record["chosen"] == sure.index(max(sure))
    assert any(len(record["cells"]) > 1 for record in records) == (selector == "oracle")


def test_the_reader_sees_no_more_than_the_selector(
    mate: Mate, runs: Path, stages: tuple[str, str], tmp_path: Path
) -> None:
    assert mate("evaluate", f"selector={runs}/hybridqa/table-selector", stages[1], "to=out", "hardware=cpu") == 0
    for record in _records(tmp_path / "out"):
        (cell,) = record["cells"]
        assert cell["end"] <= len(cell["text"])
        assert cell["span"] == cell["text"][cell["start"] : cell["end"]]


def test_a_blind_split_gets_answers_and_no_score(
    mate: Mate, data: Path, stages: tuple[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    capsys.readouterr()
    assert mate("evaluate", *stages, "split=test", "to=out", "hardware=cpu") == 0
    assert "blind" in capsys.readouterr().out
    submission = json.loads((tmp_path / "out" / "predictions-test.json").read_text())
    questions = json.loads((data / "released_data" / "test.traced.json").read_text())
    assert [item["question_id"] for item in submission] == [question["question_id"] for question in questions]
    assert all(item["pred"] for item in submission)
    records = _records(tmp_path / "out", "test")
    assert {(record["gold"], record["exact"], record["f1"]) for record in records} == {(None, None, None)}


def test_a_question_on_a_users_table_with_passages(
    mate: Mate, stages: tuple[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "towns.csv").write_text("town,mayor\n[[Alder]],[[ann|Ann Lee]]\nBirch,Bob\n")
    passages = {"ann": "Ann Lee was born in Oslo.", "Alder": "Alder is old.", "unused": "x"}
    (tmp_path / "passages.json").write_text(json.dumps(passages))
    question = 'Where was Alder\'s mayor [born], "really"?'
    words = ("predict", *stages, "table=towns.csv", "passages=passages.json", f"question={question}", "hardware=cpu")
    capsys.readouterr()
    assert mate(*words, "output=json", "top=4") == 0
    record = json.loads(capsys.readouterr().out)
    assert record["warnings"][0] == "passages.json: no cell links to 'unused'"
    assert record["question"] == question
    texts = {cell["text"]: cell for cell in record["cells"]}
    assert set(texts) == {"Alder", "Ann Lee", "Birch", "Bob"}
    assert texts["Ann Lee"]["span"] in f"Ann Lee : {passages['ann']}"
    joint = [cell["joint"] for cell in record["cells"]]
    assert record["chosen"] == joint.index(max(joint))
    assert record["answer"] == record["cells"][record["chosen"]]["span"]
    assert mate(*words, "weight=0") == 0
    out, _ = capsys.readouterr()
    assert f"answer: {record['cells'][0]['span']}" in out

    (tmp_path / "passages.json").write_text('{"Alder": "Alder is old."}')
    assert mate(*words) == 2
    assert "no passage for the link 'ann' (column 'mayor' of row 0)" in one_line(capsys)


def test_a_file_of_answers(mate: Mate, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    reference = {"reference": {"a": "the red", "b": "blue"}, "table": ["a"], "passage": ["b"]}
    (tmp_path / "ref.json").write_text(json.dumps(reference))
    (tmp_path / "pred.json").write_text('[{"question_id": "a", "pred": "Red"}, {"question_id": "b", "pred": "x"}]')
    words = ("evaluate", "predictions=pred.json", "reference=ref.json")
    assert mate(*words) == 0
    assert "answers: EM 50.0 (9.5 to 90.5), F1 50.0 (9.5 to 90.5)" in capsys.readouterr().out
    (tmp_path / "pred.json").write_text('[{"question_id": "a", "pred": "Red"}]')
    assert mate(*words) == 2
    assert "1 of 2 questions have no answer, first b" in one_line(capsys)


def test_a_drawn_part_of_a_split(data: Path) -> None:
    whole = DataSource("sample", data, "train")
    drawn = DrawnSource(whole, 30)
    ids = [example.id for example in whole.read().examples]
    part = [example.id for example in drawn.read().examples]
    assert part == [example.id for example in drawn.read().examples]
    assert part == sorted(set(part), key=ids.index)
    assert len(part) == drawn.read().questions == 30
    assert ids.index(part[-1]) > len(ids) // 2  # not the first ones
    assert [e.id for e in DrawnSource(whole, 10**6).read().examples] == ids
    assert len({source.fingerprint() for source in (whole, drawn, DrawnSource(whole, 31))}) == 3


def test_the_analyses_read_what_was_answered(
    mate: Mate, stages: tuple[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A perfect selector is never to blame; against itself the trained one gains nothing."""
    assert mate("evaluate", *stages, "to=trained", "hardware=cpu") == 0
    assert mate("evaluate", "selector=oracle", stages[1], "to=oracle", "hardware=cpu") == 0
    for name in ("trained", "oracle"):
        assert mate("analyze", "analysis=errors", f"run={name}", f"to={name}-errors") == 0
    sheets = {
        name: [json.loads(line) for line in (tmp_path / f"{name}-errors" / "errors.jsonl").read_text().splitlines()]
        for name in ("trained", "oracle")
    }
    wrong = {record["id"]: record for record in _records(tmp_path / "trained") if not record["exact"]}
    assert [line["id"] for line in sheets["trained"]] == list(wrong)
    for line in sheets["trained"]:
        cell = wrong[line["id"]]["cells"][0]
        right = [cell["row"], cell["column"]] in line["candidates"]
        assert (line["blamed"] in ("reader", "reader_input")) == right
        assert line["prediction"] == cell["span"]
    assert {line["blamed"] for line in sheets["oracle"]} <= {"no_candidate", "reader", "reader_input"}
    capsys.readouterr()
    assert mate("analyze", "analysis=compare", "runs=[oracle,trained,trained]", "to=compared") == 0
    compared = json.loads((tmp_path / "compared" / "compare.json").read_text())
    exact = [np.mean([record["exact"] for record in _records(tmp_path / name)]) for name in ("oracle", "trained")]
    assert [run["measures"]["EM"]["mean"] for run in compared] == pytest.approx([exact[0], exact[1], exact[1]])
    assert compared[2]["differences"]["EM"]["mean"] == pytest.approx(exact[1] - exact[0])
    reader = stages[1].removeprefix("reader=")
    assert mate("analyze", "analysis=errors", f"run={reader}") == 2
    assert "a reader; name the folder that mate evaluate selector=" in one_line(capsys)
