"""The mean of several trainings, exported as one model."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.numpy import load_file as load_arrays
from safetensors.torch import load_file, save_file

from mate_cli.commands import export
from mate_cli.config.commands import ExportConfig
from mate_cli.inference.calibration import fit_calibration
from mate_cli.metrics.confidence import Confidence
from mate_cli.reporting.model_card import update_card
from mate_cli.runs.folder import RunFolder
from mate_cli.system.errors import UserError
from tests.training.exports import FILES, exported
from tests.training.made_runs import make_run


@pytest.fixture
def seeds(selector: RunFolder, tmp_path: Path) -> list[RunFolder]:
    """Three runs of one model, whose weights differ by noise."""
    runs = []
    for seed in range(3):
        run = RunFolder(Path(shutil.copytree(selector.path, tmp_path / f"s{seed}")))
        noise = torch.Generator().manual_seed(seed)
        tensors = {name: x + torch.randn(x.shape, generator=noise) for name, x in load_file(run.weights_file).items()}
        save_file(tensors, run.weights_file, metadata={"format": "pt"})
        runs.append(run)
    return runs


def averaged(runs: list[RunFolder], to: Path) -> Path:
    first, *others = (str(run.path) for run in runs)
    export.run(ExportConfig(first, str(to), average=others))
    return to


def message_of(runs: list[RunFolder], to: Path) -> str:
    with pytest.raises(UserError) as caught:
        averaged(runs, to)
    assert not to.exists()
    return str(caught.value)


def test_every_tensor_is_the_mean(seeds: list[RunFolder], tmp_path: Path) -> None:
    to = averaged(seeds, tmp_path / "to")
    assert {path.name for path in to.iterdir()} == FILES
    stored = [load_arrays(run.weights_file) for run in seeds]
    for name, tensor in load_arrays(to / "model.safetensors").items():
        np.testing.assert_allclose(tensor, np.mean([one[name] for one in stored], axis=0), rtol=1e-5, atol=1e-6)


def test_an_export_counts_as_the_run_that_it_is_of(seeds: list[RunFolder], tmp_path: Path) -> None:
    of_runs = averaged(seeds, tmp_path / "of-runs")
    exports = [RunFolder(exported(run, tmp_path / f"export-{run.path.name}")) for run in seeds]
    of_exports = averaged(exports, tmp_path / "of-exports")
    assert (of_exports / "model.safetensors").read_bytes() == (of_runs / "model.safetensors").read_bytes()


def test_scores_and_calibration_of_one_training_are_not_those_of_the_mean(
    seeds: list[RunFolder], tmp_path: Path
) -> None:
    calibrate(seeds[0])
    assert "## Probabilities" in (exported(seeds[0], tmp_path / "one") / "README.md").read_text(encoding="utf-8")
    card = (averaged(seeds, tmp_path / "to") / "README.md").read_text(encoding="utf-8")
    assert "the mean of those of 3 trainings" in card
    assert "`s1`, `s2`" in card
    assert not re.search("hits@1|## Probabilities", card)
    assert "one seed" not in card
    assert card.count("mate train task=sample") == 1, "the three have one command"


def test_evaluations_of_the_mean_are_written_into_its_card(seeds: list[RunFolder], tmp_path: Path) -> None:
    to = RunFolder(averaged(seeds, tmp_path / "to"))
    card = to.path / "README.md"
    before = card.read_text(encoding="utf-8")
    assert "writes its own here" in before
    update_card(to)
    assert card.read_text(encoding="utf-8") == before, "nothing was measured"
    to.write_metrics("dev", {"questions": 8, "model": {"all": {"hits@1": 0.25, "by_kind": {"x": 1.0}}}})
    update_card(to)
    calibrate(to)
    to.write_metrics("test", {"questions": 9, "model": {"all": {"hits@1": 0.5}}})
    update_card(to)
    after = card.read_text(encoding="utf-8")
    sections = re.split(r"^## (.*)$\n", after, flags=re.MULTILINE)
    told = dict(zip(sections[1::2], sections[2::2], strict=True))
    assert list(told) == ["Use", "Data", "Settings", "Scores", "Probabilities", "Commands", "Limits"]
    assert told["Scores"].split("\n\n")[1:] == [
        "| `dev` | |\n|---|---|\n| questions | 8 |\n| model all hits@1 | 0.2500 |",
        "| `test` | |\n|---|---|\n| questions | 9 |\n| model all hits@1 | 0.5000 |",
        "",
    ]
    start, end = before.index("## Scores"), before.index("## Commands")
    assert after.startswith(before[:start])
    assert after.endswith("\n\n" + before[end:])
    update_card(to)
    assert card.read_text(encoding="utf-8") == after


def test_a_card_with_scores_of_the_training_or_of_another_hand_stays(selector: RunFolder, tmp_path: Path) -> None:
    run = RunFolder(Path(shutil.copytree(selector.path, tmp_path / "run")))
    run.write_metrics("dev", {"questions": 8, "model": {"hits@1": 0.25}})
    to = RunFolder(exported(run, tmp_path / "to"))
    card = to.path / "README.md"
    to.write_metrics("test", {"questions": 9, "model": {"hits@1": 0.5}})
    for text in (card.read_text(encoding="utf-8"), "# Mine\n\n## Results\n\nGood.\n"):
        card.write_text(text, encoding="utf-8")
        update_card(to)
        assert card.read_text(encoding="utf-8") == text


def calibrate(run: RunFolder) -> None:
    said = [Confidence(0.5 + 0.005 * number, 1, "NONE", 1.0) for number in range(100)]
    right = [number % 2 == 0 or number > 50 for number in range(100)]
    calibration = fit_calibration(run, said, right, [f"t{number % 20}" for number in range(100)], 0.9, "dev")
    calibration.write(run.calibration_file)


def test_other_models_have_no_mean(selector: RunFolder, bert: Path, tmp_path: Path) -> None:
    start = ("backbone=folder", f"backbone.path={bert}")
    full = make_run(tmp_path / "full", "task=sample", "model=tapas", "schedule=smoke", *start)
    answers = make_run(tmp_path / "answers", "task=wtq", *start)
    words = make_run(tmp_path / "words", "task=sample", "model=mate", "schedule=smoke", *start)
    vocabulary = words.best_model / "vocab.txt"
    vocabulary.write_text(vocabulary.read_text(encoding="utf-8").replace("\nthe\n", "\nteh\n"), encoding="utf-8")
    for other, field in ((full, "heads"), (answers, "kind"), (words, "vocabulary")):
        message = message_of([selector, other], tmp_path / "to")
        start_of_it, named = message.split("; name")[0].split(" in ")
        assert start_of_it == f"average: {other.best_model} differs from {selector.best_model}"
        assert field in named.split(", ")
    assert "is not a run folder" in message_of([selector, RunFolder(tmp_path / "none")], tmp_path / "to")
    again = RunFolder(selector.path / ".." / selector.path.name)
    assert "would count twice" in message_of([selector, full, again], tmp_path / "to")


def test_how_long_inputs_were_is_no_difference(seeds: list[RunFolder], bert: Path, tmp_path: Path) -> None:
    start = ("schedule=smoke", "backbone=folder", f"backbone.path={bert}", "task.schedules.smoke.max_tokens=200")
    short = make_run(tmp_path / "short", "task=sample", "model=mate", *start)
    assert (averaged([seeds[0], short], tmp_path / "to") / "model.safetensors").is_file()
