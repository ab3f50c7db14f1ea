"""Runs of the real command line on a tiny random model."""

import subprocess
import sys

import pytest

TINY = ("backbone=tiny", "hardware=cpu", "schedule=smoke", "hardware.precision='32'")


def fast(*names, of):
    """Parameters: of the names that a test is for, the others are left to ``make test-slow``."""
    return [pytest.param(name, marks=() if name in names else pytest.mark.slow) for name in of]


def train_once(tmp_path_factory, cache, *words):
    """The folder, empty before, in which ``mate train`` has run with these words; for fixtures that tests share."""
    from mate_cli.cli.main import main

    folder = tmp_path_factory.mktemp("runs")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MATE_CACHE", str(cache))
        patch.chdir(folder)
        assert main(["train", *words]) == 0
    return folder


@pytest.fixture(scope="module")
def bert(tmp_path_factory):
    """A folder with a small random BERT."""
    from tests.training.made_runs import make_bert

    return make_bert(tmp_path_factory.mktemp("bert"))


@pytest.fixture(scope="module")
def selector(tmp_path_factory, bert):
    """A run that selects cells of the sample, without a training."""
    from tests.training.made_runs import make_run

    words = ("task=sample", "model=mate", "schedule=smoke", "backbone=folder", f"backbone.path={bert}")
    return make_run(tmp_path_factory.mktemp("runs") / "selector", *words)


@pytest.fixture
def mate(tmp_path, cache, monkeypatch):
    """Call ``mate`` in this process, in an empty folder; returns the exit code."""
    from mate_cli.cli.main import main

    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MATE_CACHE", str(cache))
    return lambda *words: main(list(words))


@pytest.fixture
def mate_process(tmp_path, cache):
    """Start ``mate`` as a process of its own in an empty folder."""
    import os

    def start(*words, **variables):
        program = [sys.executable, "-m", "mate_cli", *words]  # a module, which Lightning can start once more
        environment = {**os.environ, "MATE_CACHE": str(cache), "OMP_NUM_THREADS": "1", **variables}
        return subprocess.Popen(
            program,
            cwd=tmp_path,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    return start
