"""Length classes on torch-xla: a program for each class, and a run that goes on with its classes on any hardware."""

from __future__ import annotations

import shutil

import pytest
from safetensors.torch import load_file

from mate_cli.config.paths import PathsConfig
from mate_cli.inference.evaluate import EvaluatedRun
from mate_cli.runs.folder import RunFolder
from mate_cli.training import fit, shapes
from mate_cli.training.callbacks import Checkpoints
from tests.training.test_every_model import SILENT, composed
from tests.training.test_xla import losses_of
from tests.training.xla_runs import SMALL, device_before_the_first_gradient, train  # noqa: F401

pytestmark = [pytest.mark.xla, pytest.mark.timeout(2400)]
WORDS = (
    "name=it",
    "task.schedules.smoke.steps=12",
    "task.schedules.smoke.max_tokens=192",
    "task.schedules.smoke.save_every=5",
)


class Stopped(Exception):
    pass


@pytest.fixture(scope="module")
def trainings(tmp_path_factory, cache):
    """A run of twelve steps, what it compiled, and the same run stopped at step 5."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(shapes, "COMPILATION", 0)
        whole, counts = train(tmp_path_factory.mktemp("whole"), cache, *WORDS)

        def stop(checkpoints, trainer, original=Checkpoints.save_last):
            original(checkpoints, trainer)
            raise Stopped

        patch.setattr(Checkpoints, "save_last", stop)
        stopped = tmp_path_factory.mktemp("stopped")
        with pytest.raises(Stopped):
            train(stopped, cache, *WORDS)
    assert RunFolder(stopped / "sample" / "it").status()["step"] == 5
    return whole, counts, stopped


def test_each_class_has_a_program(trainings):
    whole, counts, _ = trainings
    status = whole.status()
    classes = status["length_classes"]
    assert 2 <= len(classes) <= 3
    assert [shape["tokens"] for shape in status["shapes"]] == classes
    assert status["tokens_of_pass"]["needed"] < status["tokens_of_pass"]["computed"]
    assert status["tokens_of_pass"]["computed"] < status["tokens_of_pass"]["computed_with_one_shape"]
    assert counts.compilations[-1] <= len(classes)
    assert counts.fallbacks == {}


def test_a_resumed_run_ends_as_an_undisturbed_one(trainings, cache, tmp_path):
    """Though ``COMPILATION`` says by now that so short a run has one class."""
    whole, _, stopped = trainings
    shutil.copytree(stopped, tmp_path / "runs")
    resumed, _ = train(tmp_path / "runs", cache, *WORDS, "resume=true")
    expected, got = (load_file(run.best_model / "model.safetensors") for run in (whole, resumed))
    assert expected.keys() == got.keys()
    assert all(expected[name].equal(got[name]) for name in expected)


def test_the_cpu_goes_on_with_the_same_batches(trainings, cache, tmp_path):
    whole, _, stopped = trainings
    shutil.copytree(stopped, tmp_path / "runs")
    paths = (f"paths.runs={tmp_path / 'runs'}", f"paths.cache={cache}")
    words = ("hardware=cpu", "hardware.precision='32'", *SMALL, *paths, *WORDS, "resume=true")
    resumed = fit.train(composed(*words), SILENT)
    expected, got = ([float(loss) for loss in losses_of(run)] for run in (whole, resumed))
    assert len(got) == len(expected) == 12
    assert got == pytest.approx(expected, abs=1e-4)


def test_predictions_have_the_same_shapes_and_are_those_of_the_cpu(trainings, cache):
    whole, _, _ = trainings
    cells = []
    for hardware in ("cpu", "xla_cpu"):
        config = composed(f"hardware={hardware}", "hardware.precision='32'", *SMALL, *WORDS)
        config.paths = PathsConfig(cache=str(cache))
        run = EvaluatedRun(whole, config, config.hardware, "dev", None, False, SILENT)
        cells.append({name: prediction.cells[0] for name, prediction in run.predict().items()})
    expected, got = cells
    assert list(got) == list(expected)
    same = sum(got[name] == expected[name] for name in expected)
    assert same >= 0.95 * len(expected) > 20
