"""Jobs as processes, with short programs in the place of ``mate``."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from mate_cli.cli.sweep import process
from mate_cli.cli.sweep.jobs import Ending, Job
from mate_cli.cli.sweep.starters import local
from mate_cli.config.sweep import LocalConfig

ROOT = Path(__file__).parents[2]


@pytest.fixture
def program(monkeypatch: pytest.MonkeyPatch) -> None:
    """A job runs its one word as Python code."""
    monkeypatch.setattr(process, "PROGRAM", (sys.executable, "-c", "import sys; exec(sys.argv[2])"))


@pytest.mark.usefixtures("program")
@pytest.mark.parametrize(
    ("code", "ending"),
    [
        ("print('all is well')", Ending()),
        ("sys.exit(3)", Ending(3, "exit code 3")),
        ("print('error: no data', file=sys.stderr); sys.exit(2)", Ending(2, "no data")),
        ("import os; os.kill(os.getpid(), 9)", Ending(1, "killed by SIGKILL")),
        ("sys.exit(130)", Ending(130, "interrupted")),
        ("import subprocess; subprocess.Popen(['sleep', '1']); print('x')", Ending()),
    ],
)
def test_an_ending_says_what_happened(code: str, ending: Ending, tmp_path: Path) -> None:
    assert process.run_job(1, "train", [code], str(tmp_path)) == ending


@pytest.mark.usefixtures("program")
def test_a_job_runs_in_the_folder_of_the_sweep_and_its_lines_bear_its_number(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shown = "os.getcwd(), sys.argv[1], os.environ['PYTHONSAFEPATH']"
    code = f"import os; print({shown}, flush=True); print('b\\udc80'.encode())"
    process.run_job(7, "train", [code], str(tmp_path))
    assert capsys.readouterr().out.splitlines()[0] == f"[7] {tmp_path} train 1"


@pytest.mark.usefixtures("program")
def test_at_most_so_many_run_at_once(tmp_path: Path) -> None:
    """Each notes when it ran; two at a time of four that sleep overlap, three never do."""
    code = f"import time; a = time.time(); time.sleep(0.4); open('{tmp_path}/%d', 'w').write(f'{{a}} {{time.time()}}')"
    jobs = [Job(number, "train", (code % number,), None) for number in range(4)]
    assert {(job.number, ending) for job, ending in local(LocalConfig(at_once=2), jobs)} == {
        (number, Ending()) for number in range(4)
    }
    spans = [tuple(map(float, (tmp_path / str(number)).read_text().split())) for number in range(4)]
    running = [sum(start <= moment < end for start, end in spans) for moment, _ in spans]
    assert max(running) <= 2


@pytest.fixture
def pressed() -> Iterator[None]:
    """Ctrl-C interrupts, also where the tests were started in the background, in which shells ignore it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("program", "pressed")
def test_ctrl_c_reaches_the_jobs_once_and_starts_no_more(tmp_path: Path) -> None:
    code = (
        "import signal, time; count = []; signal.signal(2, lambda *_: count.append(1)); "
        f"open('{tmp_path}/ready', 'w'); [time.sleep(0.05) for _ in range(400) if not count]; time.sleep(0.3); "
        f"open('{tmp_path}/ended', 'a').write(str(len(count))); sys.exit(130)"
    )

    def press() -> None:
        while not (tmp_path / "ready").exists():
            time.sleep(0.02)
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)

    threading.Thread(target=press).start()
    jobs = [Job(number, "train", (code,), None) for number in (1, 2)]
    told: list[tuple[Job, Ending]] = []
    with pytest.raises(KeyboardInterrupt):
        told.extend(local(LocalConfig(), jobs))
    assert (tmp_path / "ended").read_text() == "1"
    assert told == [(jobs[0], Ending(130, "interrupted"))]


@pytest.mark.usefixtures("program", "pressed")
def test_a_job_that_starts_during_ctrl_c_is_stopped_alone(tmp_path: Path) -> None:
    """A second request would make the others stop without saving their state."""
    code = (
        "import os, signal, time; count = []; "
        f"signal.signal(2, lambda *_: (count.append(1), open('{tmp_path}/asked', 'w'))); "
        f"open('{tmp_path}/ready', 'w'); "
        f"[time.sleep(0.02) for _ in range(2000) if not os.path.exists('{tmp_path}/go')]; "
        "sys.exit(len(count))"
    )
    processes, endings = process.Processes(), list[Ending]()
    first = threading.Thread(target=lambda: endings.append(processes.run(1, "train", [code], str(tmp_path))))
    first.start()
    wait_for(tmp_path / "ready")
    processes.interrupt()
    wait_for(tmp_path / "asked")  # two signals that wait are one
    assert processes.run(2, "train", ["import time; time.sleep(60)"], str(tmp_path)) == Ending(130, "interrupted")
    (tmp_path / "go").touch()
    first.join()
    assert endings == [Ending(1, "exit code 1")]


PARENT = """
import subprocess, sys, time
child = subprocess.Popen([sys.executable, "-c", '''
import signal, time
from mate_cli.system.stopping import stop_with_parent
signal.signal(signal.SIGTERM, lambda *_: (open("stopped", "w"), exit(0)))
stop_with_parent()
open("ready", "w")
time.sleep(60)
'''])
time.sleep(60)
"""


def test_a_job_does_not_outlive_a_killed_sweep(tmp_path: Path) -> None:
    parent = subprocess.Popen([sys.executable, "-c", PARENT], cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(ROOT)})
    wait_for(tmp_path / "ready")
    parent.kill()
    parent.wait()
    wait_for(tmp_path / "stopped")


def wait_for(file: Path) -> None:
    deadline = time.monotonic() + 60
    while not file.exists():
        assert time.monotonic() < deadline, file
        time.sleep(0.02)
