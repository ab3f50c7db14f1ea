"""Training, evaluation and prediction through the command line, and what happens when they cannot."""

import csv
import json
import shutil
from pathlib import Path

import pytest
import torch
import yaml
from safetensors.torch import load_file

from mate_cli.runs.records import read_run
from mate_cli.system.errors import UserError
from mate_cli.training import devices, fit
from tests.training.conftest import TINY, train_once


@pytest.fixture(scope="module")
def trained(tmp_path_factory, cache):
    """A finished run of two steps."""
    return train_once(tmp_path_factory, cache, *TINY, "name=first") / "runs" / "sample" / "first"


def test_a_run_folder_is_enough(trained):
    config = yaml.safe_load((trained / "config.yaml").read_text())
    environment = json.loads((trained / "environment.json").read_text())
    status = json.loads((trained / "status.json").read_text())
    metrics = json.loads((trained / "metrics.json").read_text())
    assert config["task"]["name"] == "sample"
    assert config["seed"] == 0
    assert environment["packages"]["torch"]
    assert status["state"] == "done"
    assert status["step"] == status["steps"] == 2
    assert status["seconds"] > 0
    assert status["hardware"]["device"]
    assert status["attention"] in ("native", "ragged", "dense")
    weights = load_file(trained / "best" / "model.safetensors")
    assert status["parameters"] == sum(tensor.numel() for tensor in weights.values())
    tokens = read_run(trained).tokens
    assert 2 * config["task"]["schedules"]["smoke"]["batch"] * 50 < tokens  # a table has more than 50 tokens
    assert read_run(trained).flops == tokens * status["flops_per_token"]
    with (trained / "metrics.csv").open() as file:
        assert [float(row["loss"]) > 0 for row in csv.DictReader(file) if row["loss"]] == [True, True]
    (split,) = metrics
    predictions = [json.loads(line) for line in (trained / f"predictions-{split}.jsonl").read_text().splitlines()]
    assert len(predictions) == metrics[split]["questions"]
    for prediction in predictions:
        assert sum(prediction["probabilities"]) == pytest.approx(1, abs=1e-3)
    assert {path.name for path in (trained / "best").iterdir()} >= {
        "config.json",
        "model.safetensors",
        "vocab.txt",
    }


def test_the_score_is_that_of_the_predictions(trained):
    """Counted again from the files, with nothing of ours but the sample's own questions."""
    from mate_cli.config.paths import PathsConfig
    from mate_cli.runs.folder import load_run_config
    from mate_cli.tables.data_folder import data_folder
    from mate_cli.tables.hybridqa import read_split

    (split, record), *_ = json.loads((trained / "metrics.json").read_text()).items()
    data = data_folder(load_run_config(trained).task, None, PathsConfig())
    candidates = {e.id: set(e.candidates) for e in read_split(data, split).examples}
    lines = (trained / f"predictions-{split}.jsonl").read_text().splitlines()
    ranked = {p["id"]: [tuple(cell) for cell in p["cells"]] for p in map(json.loads, lines)}
    for k in (1, 3, 5):
        hits = sum(not candidates[i].isdisjoint(ranked[i][:k]) for i in candidates)
        assert record["model"]["all"][f"hits@{k}"] == pytest.approx(hits / len(candidates))


def test_the_last_step_is_validated_and_saved_whatever_the_interval(mate, tmp_path):
    words = ("task.schedules.smoke.steps=3", "task.schedules.smoke.validate_every=2", "name=odd")
    assert mate("train", *TINY, *words) == 0
    folder = tmp_path / "runs" / "sample" / "odd"
    with (folder / "metrics.csv").open() as file:
        assert sum(bool(row["dev_hits@1"]) for row in csv.DictReader(file)) == 2
    assert torch.load(folder / "last.ckpt", weights_only=True)["global_step"] == 3


def test_exact_and_dense_mask_train_alike(mate, tmp_path):
    def losses(name, backend):
        assert mate("train", *TINY, f"model.attention.backend={backend}", f"name={name}") == 0
        with (tmp_path / "runs" / "sample" / name / "metrics.csv").open() as file:
            return [float(row["loss"]) for row in csv.DictReader(file) if row["loss"]]

    assert losses("ragged", "ragged") == pytest.approx(losses("dense", "dense"), abs=1e-5)


def test_evaluate_adds_a_split(mate, trained, capsys):
    assert mate("evaluate", f"run={trained}", "split=dev", "hardware=cpu") == 0
    assert "Hits@1" in capsys.readouterr().out
    assert "dev" in json.loads((trained / "metrics.json").read_text())


def test_blank_questions_are_a_split_of_their_own(mate, trained):
    assert mate("evaluate", f"run={trained}", "split=dev", "blank_question=true", "hardware=cpu") == 0
    assert (trained / "predictions-dev-blank.jsonl").exists()
    assert "dev-blank" in json.loads((trained / "metrics.json").read_text())


def test_a_run_is_scored_on_whole_passages_as_one_trained_on_them(mate, trained, tmp_path):
    other = tmp_path / "other"
    shutil.copytree(trained, other)
    config = (other / "config.yaml").read_text()
    assert config.count("expansion: tfidf") == 1
    (other / "config.yaml").write_text(config.replace("expansion: tfidf", "expansion: all"))
    assert mate("evaluate", f"run={trained}", "split=test", "expansion=all", "hardware=cpu") == 0
    assert mate("evaluate", f"run={other}", "split=test", "hardware=cpu") == 0
    whole = (trained / "predictions-test-all.jsonl").read_text()
    assert whole == (other / "predictions-test.jsonl").read_text()
    assert whole != (trained / "predictions-test.jsonl").read_text()


def test_an_expansion_that_changes_nothing_is_refused(mate, trained, tmp_path, capsys):
    other = tmp_path / "other"
    shutil.copytree(trained, other)
    config = (other / "config.yaml").read_text()
    assert config.count("input: both") == 1
    (other / "config.yaml").write_text(config.replace("input: both", "input: table"))
    before = (other / "metrics.json").read_text()
    for expansion in ("all", "tfidf"):
        assert mate("evaluate", f"run={other}", f"expansion={expansion}", "hardware=cpu") == 2
        assert f"error: expansion={expansion}: run={other} of task=sample reads no linked" in capsys.readouterr().err
    assert (other / "metrics.json").read_text() == before


def test_predict_gives_ranked_cells(mate, trained, tmp_path, capsys):
    (tmp_path / "cities.csv").write_text("city,country\nParis,France\nRome,Italy\n")
    question = 'Which country holds "Rome", {or not} [a=b]?'
    words = ("predict", f"run={trained}", "table=cities.csv", f"question={question}", "hardware=cpu")
    assert mate(*words, "output=json", "top=4") == 0
    record = json.loads(capsys.readouterr().out)
    assert record["question"] == question
    assert sum(cell["probability"] for cell in record["cells"]) == pytest.approx(1, abs=1e-4)
    assert sorted(cell["text"] for cell in record["cells"]) == ["France", "Italy", "Paris", "Rome"]
    assert mate(*words) == 0
    assert "#1" in capsys.readouterr().out


def one_line(capsys):
    error = capsys.readouterr().err.strip()
    assert error.startswith("error: ")
    assert "Traceback" not in error
    return error


def test_a_finished_run_is_not_overwritten(mate, trained, capsys):
    runs = trained.parent.parent
    before = (trained / "status.json").read_text()
    assert mate("train", *TINY, "name=first", f"paths.runs={runs}") == 2
    assert "resume=true" in one_line(capsys)
    assert (trained / "status.json").read_text() == before


def test_a_run_without_a_model_is_not_scored(mate, trained, tmp_path, capsys):
    (tmp_path / "begun").mkdir()
    (tmp_path / "begun" / "config.yaml").write_bytes((trained / "config.yaml").read_bytes())
    assert mate("evaluate", f"run={tmp_path / 'begun'}") == 2
    assert "begun has no model yet (it is not started); train it to the end with resume=true" in one_line(capsys)


def test_a_failed_start_does_not_cost_the_old_run(mate, trained, capsys):
    words = ("name=first", f"paths.runs={trained.parent.parent}", "overwrite=true")
    assert mate("train", *TINY[1:], *words, "backbone=folder", "backbone.path=/nowhere") == 2
    assert "/nowhere" in one_line(capsys)
    assert (trained / "best" / "model.safetensors").exists()


def test_resuming_with_other_settings_is_refused(mate, trained, capsys):
    runs = trained.parent.parent
    assert mate("train", *TINY, "name=first", f"paths.runs={runs}", "resume=true", "seed=7") == 2
    assert "another seed" in one_line(capsys)


@pytest.mark.parametrize("hardware", ["gpu", "gpu_ddp", "gpu_fsdp", "tpu_v3"])
def test_missing_devices_leave_nothing_behind(mate, hardware, tmp_path, capsys):
    assert mate("train", "backbone=tiny", "schedule=smoke", f"hardware={hardware}") == 2
    assert f"hardware={hardware}" in one_line(capsys)
    assert not (tmp_path / "runs").exists()


def test_an_unwritable_run_folder(mate, capsys, tmp_path):
    # A file in the way stops even root, whom permissions do not.
    (tmp_path / "taken").write_text("")
    assert mate("train", *TINY, f"paths.runs={tmp_path / 'taken'}") == 2
    assert "cannot write the run folder" in one_line(capsys)


def test_bad_data_leaves_no_run_folder(mate, tmp_path, capsys):
    (tmp_path / "data" / "released_data").mkdir(parents=True)
    words = ("train", "task=hybridqa", "backbone=tiny", "hardware=cpu", "schedule=smoke")
    assert mate(*words, f"data_dir={tmp_path / 'data'}") == 2
    assert "tables_tok" in one_line(capsys)
    assert not list(tmp_path.glob("runs/*/*"))


def test_a_checkpoint_of_another_model(mate, trained, tmp_path, capsys):
    import shutil

    other = tmp_path / "other"
    shutil.copytree(trained, other)
    config = json.loads((other / "best" / "config.json").read_text())
    (other / "best" / "config.json").write_text(json.dumps({**config, "heads": "full"}))
    assert mate("evaluate", f"run={other}", "hardware=cpu") == 2
    assert "another model" in one_line(capsys)


def test_a_batch_that_leaves_a_remainder_takes_smaller_passes(mate):
    for most in (2, 3):
        assert mate("train", *TINY, f"hardware.micro_batch={most}", f"name=at-most-{most}") == 0
    two, three = (Path("runs", "sample", f"at-most-{most}", "metrics.csv").read_text() for most in (2, 3))
    assert two == three


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("a,b\n1,2\n3\n", "line 3"),
        ("a,b\n", "no rows"),
        ("a,b\n" + "1,2\n" * 100_000, "rows"),
        ("\n".join([",".join("a" * 1000)] * 20), "ask about fewer rows or columns"),
    ],
)
def test_bad_tables(mate, trained, tmp_path, capsys, content, expected):
    (tmp_path / "bad.csv").write_text(content)
    assert mate("predict", f"run={trained}", "table=bad.csv", "question=why") == 2
    assert expected in one_line(capsys)


@pytest.mark.parametrize("is_slow", [True, False])
def test_slow_bf16_is_said_before_it_is_used(mate, is_slow, monkeypatch, capsys):
    def stop(*_):
        raise UserError("far enough")

    monkeypatch.setattr(fit, "_fit", stop)
    monkeypatch.setattr(fit, "bf16_speedup", lambda: 0.25)
    monkeypatch.setattr(devices, "bf16_speedup", lambda: 0.25 if is_slow else 2.0)
    assert mate("train", *TINY, "hardware.precision=bf16-mixed") == 2
    assert ("bf16 take 4.0 times as long" in " ".join(capsys.readouterr().out.split())) == is_slow
