"""A run that was killed or interrupted ends, resumed, as an undisturbed one does: bit for bit."""

import json
import signal
import time

import pytest
from safetensors.torch import load_file

from tests.training.conftest import TINY

STEPS = 24
RUN = (*TINY, f"task.schedules.smoke.steps={STEPS}", "task.schedules.smoke.save_every=4")
pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]


def folder_of(tmp_path, name):
    (folder,) = (tmp_path / "runs").glob(f"*/{name}")
    return folder


def weights(tmp_path, name):
    return load_file(folder_of(tmp_path, name) / "best" / "model.safetensors")


def wait_for_step(process, tmp_path, name, step):
    """Until the run has saved that step; fails when it ends before."""
    deadline = time.monotonic() + 240
    while time.monotonic() < deadline:
        assert process.poll() is None, process.communicate()[0]
        try:
            if json.loads((folder_of(tmp_path, name) / "status.json").read_text()).get("step", 0) >= step:
                return
        except (OSError, ValueError):  # no folder yet, half a file
            pass
        time.sleep(0.02)
    raise AssertionError(f"step {step} was not reached")


def finish(process):
    output, _ = process.communicate(timeout=300)
    assert process.returncode == 0, output


def assert_same_end(tmp_path, name):
    undisturbed, resumed = weights(tmp_path, "whole"), weights(tmp_path, name)
    assert undisturbed.keys() == resumed.keys()
    assert all(undisturbed[key].equal(resumed[key]) for key in undisturbed)
    status = json.loads((folder_of(tmp_path, name) / "status.json").read_text())
    assert (status["state"], status["step"]) == ("done", STEPS)


@pytest.mark.parametrize("task", ["sample", "sample_reader"])
def test_killed_three_times(mate_process, tmp_path, task):
    finish(mate_process("train", f"task={task}", *RUN, "name=whole"))
    for step in (4, 12, 20):
        process = mate_process("train", "-m", f"task={task}", *RUN, "name=killed")  # begins, or goes on
        wait_for_step(process, tmp_path, "killed", step)
        process.kill()
        process.wait()
    finish(mate_process("train", f"task={task}", *RUN, "name=killed", "resume=true"))
    assert_same_end(tmp_path, "killed")


def test_interrupted(mate_process, tmp_path):
    finish(mate_process("train", *RUN, "name=whole"))
    process = mate_process("train", *RUN, "name=stopped")
    wait_for_step(process, tmp_path, "stopped", 4)
    process.send_signal(signal.SIGINT)
    output, _ = process.communicate(timeout=120)
    assert process.returncode == 130, output
    assert "Traceback" not in output
    assert (folder_of(tmp_path, "stopped") / "last.ckpt").exists()
    finish(mate_process("train", *RUN, "name=stopped", "resume=true"))
    assert_same_end(tmp_path, "stopped")
