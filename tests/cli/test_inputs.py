"""Paths that do not exist: named all at once, with the other mistakes, before anything heavy is imported."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from mate_cli.cli.inputs import nearest_run
from mate_cli.cli.main import main
from mate_cli.config.inference import PredictConfig
from mate_cli.config.paths import PathsConfig, expand_home
from mate_cli.config.runs import RunsConfig
from mate_cli.runs.folder import load_run_config
from mate_cli.system.errors import UserError


def made_run(path: Path) -> Path:
    """What makes a folder that of a run."""
    path.mkdir(parents=True)
    (path / "config.yaml").touch()
    return path


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MATE_CACHE", str(tmp_path / "cache"))
    made_run(tmp_path / "runs" / "sample" / "demo")
    return tmp_path


def errors(capsys: pytest.CaptureFixture[str], *words: str) -> list[str]:
    assert main(list(words)) == 2
    return capsys.readouterr().err.splitlines()


def test_every_wrong_path_is_named_beside_the_other_mistakes(capsys: pytest.CaptureFixture[str]) -> None:
    words = ("run=runs/sample/dmeo", "table=nope.csv", "passages=runs", "qestion=why", "top=0")
    assert errors(capsys, "predict", *words) == [
        "error: unknown key 'qestion': did you mean question?",
        "error: question is missing: write question=..., or questions=..., or statement=...",
        "error: run=runs/sample/dmeo: there is no such folder; did you mean runs/sample/demo?",
        "error: table=nope.csv: there is no such file",
        "error: passages=runs: this is a folder; name a file",
        "error: top=0: must be at least 1",
    ]


def test_a_folder_as_a_table_names_the_key_for_folders(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert errors(capsys, "predict", "run=runs/sample/demo", "table=runs", "question=why") == [
        "error: table=runs: this is a folder; name a file, or ask all its tables: mate predict tables=runs"
    ]


def test_a_missing_table_is_found_without_heavy_imports(folder: Path) -> None:
    code = (
        "import sys; from mate_cli.cli.main import main;"
        "assert main(['predict', 'run=runs/sample/demo', 'table=nope.csv', 'question=why']) == 2; print(*sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr == "error: table=nope.csv: there is no such file\n"
    loaded = {name.split(".")[0] for name in done.stdout.split()}
    assert not loaded & {"numpy", "torch", "transformers", "datasets", "pandas", "sklearn", "pytorch_lightning"}


def test_prediction_imports_no_training_library() -> None:
    code = "import sys, mate_cli.inference.predictor, mate_cli.reporting.answer; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = {name.split(".")[0] for name in done.stdout.split()}
    assert "torch" in loaded
    assert not loaded & {"pytorch_lightning", "lightning_fabric", "torchmetrics", "datasets", "pandas", "sklearn"}


def test_the_readers_of_tables_import_nothing_heavy() -> None:
    code = (
        "import importlib, pkgutil, sys, mate_cli.tables as t;"
        "[importlib.import_module(m.name) for m in pkgutil.walk_packages(t.__path__, 'mate_cli.tables.')];"
        "print(*sys.modules)"
    )
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert not set(loaded) & {"torch", "datasets", "pandas", "pyarrow", "sklearn"}


def test_broken_files_are_named_together(capsys: pytest.CaptureFixture[str]) -> None:
    Path("bad.csv").write_text("a,b\n1\n")
    Path("bad.json").write_text("[]")
    words = ("run=runs/sample/demo", "table=bad.csv", "passages=bad.json", "question=why")
    table, passages, run = errors(capsys, "predict", *words)
    assert "bad.csv: line 2 has 1 field" in table
    assert "bad.json: expected a JSON object" in passages
    assert "runs/sample/demo/config.yaml is not a configuration of mate train" in run


@pytest.mark.parametrize(
    ("words", "lines"),
    [
        (
            ("train", "task=own", "backbone=run", "backbone.path=runs/sample/dem", "data_dir=nowhere"),
            [
                "backbone.path=runs/sample/dem: there is no such folder; did you mean runs/sample/demo?",
                "data_dir=nowhere: there is no such folder",
            ],
        ),
        (("train", "backbone=folder", "backbone.path=nowhere"), ["backbone.path=nowhere: there is no such folder"]),
        (
            ("evaluate", "selector=demo", "reader=cache"),
            [
                "selector=demo: there is no such folder; did you mean runs/sample/demo?",
                "reader=cache: there is no such folder; mate runs lists those that exist, mate train makes one",
            ],
        ),
        (("evaluate", "selector=oracle", "reader=runs/sample/demo", "split=de"), ["unknown split 'de': did you mean"]),
        (
            ("evaluate", "predictions=a.json", "reference=b.json"),
            ["predictions=a.json: there is no such file", "reference=b.json: there is no such file"],
        ),
        (
            ("export", "run=runs/sample", "to=x"),
            ["run=runs/sample: is not a run folder: it has no config.yaml; mate runs"],
        ),
        (("runs", "compare=[sample/demo,sample/dmo]"), ["compare=sample/dmo: there is no such folder; did you mean"]),
        (("reproduce", "what=table5", "data.sqa=x"), ["data.sqa=x: there is no such folder"]),
        (("report", "tables=[x]"), ["tables=x: there is no such folder"]),
        (
            ("train", "task=hybridqa", "seed=two"),
            ["seed=two: must be a whole number", "task=hybridqa needs data_dir=DIR, a folder with released_data/"],
        ),
        (
            ("train", "data_dir=runs"),
            ["task=sample generates its data and reads no data_dir; leave it out, or train on your own questions:"],
        ),
        (("train", "data_dir="), ["data_dir is empty"]),
        (("train", "task=mlm"), ["task=mlm needs data_dir=FOLDER with tables"]),
    ],
)
def test_each_command_checks_its_paths(
    words: tuple[str, ...], lines: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    found = errors(capsys, *words)
    assert len(found) == len(lines)
    for error, line in zip(found, lines, strict=True):
        assert error.startswith(f"error: {line}")


def test_a_name_of_a_hub_says_how_to_fetch_it(capsys: pytest.CaptureFixture[str]) -> None:
    hub = "google/tapas-base-finetuned-wtq"
    (error,) = errors(capsys, "export", f"run={hub}", "to=x")
    assert error.endswith(f"fetch it with hf download {hub} --local-dir DIR, and name DIR")
    with pytest.raises(UserError, match="hf download"):
        load_run_config(hub)
    for path in ("runs/nothing", "a/b/c", "/opt/nothing", "nothing"):
        (error,) = errors(capsys, "export", f"run={path}", "to=x")
        assert "hf download" not in error


def test_a_checkpoint_of_tensorflow_says_what_it_is_for(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "tapas").mkdir()
    for name in ("bert_config.json", "model.ckpt.index"):
        (folder / "tapas" / name).touch()
    (error,) = errors(capsys, "export", "run=tapas", "to=x")
    assert "run=tapas: is a checkpoint of TensorFlow, not a run: backbone=folder backbone.path=tapas starts" in error
    with pytest.raises(UserError, match="is a checkpoint of TensorFlow"):
        load_run_config("tapas")


def test_the_home_folder_is_the_same_for_the_check_and_the_command(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    home = folder / "home"
    monkeypatch.setenv("HOME", str(home))
    made_run(home / "r" / "sample" / "x")
    assert main(["report", "paths.runs=~/r", "to=~/page.html"]) == 0
    assert (home / "page.html").is_file()
    (error,) = errors(capsys, "evaluate", "run=~/r/sample/x")[-1:]
    assert error.startswith(f"error: {home}/r/sample/x/config.yaml is not a configuration of mate train")
    assert errors(capsys, "report", "to=~/r") == [f"error: to={home}/r: this is a folder; name another file"]
    assert not (folder / "~").exists()


def test_all_that_is_read_or_written_may_be_in_the_home_folder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/me")
    paths = PathsConfig(runs="~/runs", cache="~")
    config = expand_home(PredictConfig(table="~/t.csv#2", to="a~", run="./~", question="~", paths=paths))
    assert (config.table, config.to, config.run, config.question) == ("/home/me/t.csv#2", "a~", "./~", "~")
    assert config.paths == PathsConfig(runs="/home/me/runs", cache="/home/me")
    assert expand_home(RunsConfig(remove=["~/a", "b"])).remove == ["/home/me/a", "b"]


def test_a_key_without_a_value_is_not_looked_for(capsys: pytest.CaptureFixture[str]) -> None:
    assert errors(capsys, "predict", "run=runs/sample/demo") == [
        "error: table is missing: write table=..., or tables=...",
        "error: question is missing: write question=..., or questions=..., or statement=...",
    ]


def test_texts_of_blanks_are_refused_without_heavy_imports() -> None:
    code = (
        "import sys; from mate_cli.cli.main import main;"
        "assert main(['predict', 'run=runs/sample/demo', 'table=own.csv', *sys.argv[1:]]) == 2; print(*sys.modules)"
    )
    Path("own.csv").write_text("a\n1\n")
    for words, names in (
        (("question=   ",), ["question"]),
        (("statement= \t",), ["statement"]),
        (("question=Who?", "before=[Where?,' ']"), ["before"]),
        ((" ", "threshold=0.5"), ["question"]),
    ):
        done = subprocess.run([sys.executable, "-c", code, *words], capture_output=True, text=True, check=True)
        assert done.stderr.splitlines() == [f"error: {name} has only blanks: write what is asked" for name in names]
        assert "torch" not in done.stdout.split()


def test_earlier_questions_are_of_a_run_or_of_the_released_model() -> None:
    asked = {"table": "own.csv", "question": "and?", "before": ["Who?"]}
    assert PredictConfig(**asked).problems() == []
    assert PredictConfig(**asked, run="runs/sample/demo").problems() == []
    assert "before belongs to run" in PredictConfig(**asked, selector="chosen", reader="read").problems()


def test_a_file_is_for_many_answers_and_json_for_one() -> None:
    one = {"table": "own.csv", "question": "Who?"}
    many = {"table": "own.csv", "questions": "asked.txt"}
    assert PredictConfig(**one, output="json").problems() == PredictConfig(**many, to="a.csv").problems() == []
    assert PredictConfig(**one, to="a.csv").problems() == ["to belongs to questions"]
    assert [PredictConfig(**many, to=to).problems() for to in ("a.JSONL", "a.csv", "a.tsv", "/dev/stdout")] == [[]] * 4
    assert PredictConfig(**many, to="a.xlsx").problems() == [
        "to=a.xlsx: answers are written to a file in .jsonl, .csv, .tsv; name one"
    ]
    (line,) = PredictConfig(**many, output="json").problems()
    assert line.startswith("output=json is for one question")


def test_addresses_and_shown_configurations_are_not_looked_for() -> None:
    assert main(["predict", "--cfg", "job", "run=nowhere", "table=nope.csv", "question=why"]) == 0
    assert main(["prepare", "task=mlm", "data_dir=s3://bucket/tables", "--cfg", "job"]) == 0


def test_the_nearest_run_is_the_one_of_that_path_or_of_that_name(folder: Path) -> None:
    made_run(folder / "runs" / "wtq" / "first")
    made_run(folder / "runs" / "sqa" / "first")
    runs = Path("runs")
    assert nearest_run("runs/wtq/frst", runs) == "runs/wtq/first"
    assert nearest_run("elsewhere/fist", runs) in ("runs/sqa/first", "runs/wtq/first")
    assert nearest_run("xyz", runs) is None
    assert nearest_run("demo", folder / "none") is None
