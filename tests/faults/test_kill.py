"""kill -9 at random moments: a rerun succeeds, and ends as an undisturbed run does (``make test-kill``).

The moments are drawn with a seed and spread over the life of each command: before a change to its files, some
milliseconds into one, or after some time; the process alone, all that it started too, or, of mate reproduce, a step.
"""

from __future__ import annotations

import importlib
import json
import os
import random
import shutil
import signal
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from mate_cli.tables import sample
from tests.faults.killing import WHOM, Ended, Kill, run, wait_for_the_end_of
from tests.faults.results import check_whole, digests, leftovers

pytestmark = [pytest.mark.kill, pytest.mark.timeout(3600)]

POINTS = {"prepare": 12, "train": 22, "evaluate": 8, "reproduce": 8}
PRELOADED = (
    *("datasets", "sklearn.feature_extraction.text", "mate_cli.training.fit", "mate_cli.inference.evaluate"),
    *("mate_cli.reproduction.carry_out", "mate_cli.reproduction.report"),
    *(f"mate_cli.commands.{name}" for name in POINTS),
)
"""So that forks need not."""

BEFORE = {"prepare": None, "train": "prepare", "evaluate": "train", "reproduce": "prepare"}
TINY = ("backbone=tiny", "schedule=smoke")
STEPS = "task.schedules.smoke"
TRAIN = (
    *("train", "task=hybridqa", *TINY, "hardware=cpu", "data_dir=../data", "name=run", "-m"),
    *(f"{STEPS}.steps=10", f"{STEPS}.save_every=2", f"{STEPS}.validate_every=4"),
    *(f"{STEPS}.dropout=0.1", f"{STEPS}.attention_dropout=0.1"),
)
DATA = ("data.hybridqa=../data", "data.tables=../data/WikiTables-WithLinks")
WORDS = {
    "prepare": ("prepare", "task=hybridqa", *TINY, "data_dir=../data", "to=counts", "workers=2"),
    "train": TRAIN,
    "evaluate": ("evaluate", "run=runs/hybridqa/run", "split=train", "hardware=cpu", "data_dir=../data"),
    "reproduce": ("reproduce", "what=ratio", "only=1:1", *TINY, "words=hardware=cpu", *DATA),
}


@dataclass
class Tally:
    """A row of the table: what was tried with a command, and what came of it."""

    kinds: list[str] = field(default_factory=list)
    whole: int = 0
    succeeded: int = 0
    equal: int = 0


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a small release of HybridQA, cut out of the generated sample."""
    for name in PRELOADED:
        importlib.import_module(name)
    folder = tmp_path_factory.mktemp("kill")
    sample.write_sample(folder / "data")
    for name, count in (
        ("train.traced.json", 96),
        ("dev.traced.json", 16),
        ("test.traced.json", 16),
        ("test.json", 16),
    ):
        file = folder / "data" / "released_data" / name
        file.write_text(json.dumps(json.loads(file.read_text())[:count]))
    return folder


@pytest.fixture(scope="module")
def tallies() -> Iterator[dict[str, Tally]]:
    """Filled by the tests; shown when all are through, and kept where ``KILL_TABLE`` names a file.

    Not before: a table in the checkout makes the code that the runs record a changed one.
    """
    found: dict[str, Tally] = {}
    yield found
    table = "\n".join(_table(found))
    print(f"\n{table}")
    if "KILL_TABLE" in os.environ:
        file = Path(os.environ["KILL_TABLE"])
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"{table}\n")


def environment(folder: Path) -> dict[str, str]:
    return {"MATE_CACHE": str(folder / "cache"), "OMP_NUM_THREADS": "1"}


def kills(command: str, undisturbed: Ended) -> list[Kill]:
    """Spread evenly: of six, three before a change, two within one, one by time."""
    draw, number, found = random.Random(f"0 {command}"), POINTS[command], []
    for place in range(number):
        share = (place + draw.random()) / number
        operation = None if place % 6 == 5 else 1 + int(share * undisturbed.operations)
        delay = share * undisturbed.seconds if operation is None else draw.uniform(0.001, 0.04) * (place % 6 > 2)
        # Without the steps that it starts, mate reproduce fails, and says so; what it does then is not its end.
        found.append(Kill(operation, delay, draw.choice(WHOM if command == "reproduce" else WHOM[:2])))
    return found


@pytest.fixture(scope="module")
def undisturbed(place: Path) -> dict[str, Ended]:
    """All commands, none of them killed, each in a copy of what the one before it left."""
    ended = {}
    for command, before in BEFORE.items():
        folder = place / f"after-{command}"
        begin(folder, before and place / f"after-{before}")
        ended[command] = run(WORDS[command], folder, environment(folder))
        assert ended[command].code == 0, ended[command].log
    return ended


def begin(folder: Path, before: Path | None) -> None:
    if before is None:
        folder.mkdir()
    else:
        shutil.copytree(before, folder)


def killed_in(folder: Path, before: Path | None, command: str, kill: Kill) -> Ended:
    """Start in a copy of ``before``, and kill; sooner, and anew, where the machine is faster than it was."""
    while True:
        begin(folder, before)
        ended = run(WORDS[command], folder, environment(folder), kill)
        if ended.code == -signal.SIGKILL or (ended.code == 1 and kill.whom == "children"):
            return ended
        assert ended.code == 0, f"{kill}: {ended.log}"
        shutil.rmtree(folder)
        kill = sooner(kill)


def sooner(kill: Kill) -> Kill:
    """What the first run of all changes, such as caches that libraries fill, a later one need not."""
    if kill.delay:
        return replace(kill, delay=0.8 * kill.delay if kill.delay > 0.001 else 0.0)
    assert kill.operation, f"{kill}: never come to"
    return replace(kill, operation=kill.operation - 1)


@pytest.mark.parametrize(("command", "before"), BEFORE.items())
def test_killed_and_run_again(
    place: Path, undisturbed: dict[str, Ended], tallies: dict[str, Tally], command: str, before: str | None
) -> None:
    tally = tallies.setdefault(command, Tally())
    wanted = digests(place / f"after-{command}")
    for number, kill in enumerate(kills(command, undisturbed[command])):
        folder = place / f"{command}-{number}"
        killed = killed_in(folder, before and place / f"after-{before}", command, kill)
        tally.kinds.append(kill.kind)
        assert check_whole(folder) >= 0, kill
        tally.whole += 1
        again = run(WORDS[command], folder, environment(folder))
        assert again.code == 0, f"{kill}: {again.log}"
        assert "Traceback" not in again.log
        wait_for_the_end_of(killed.children)
        tally.succeeded += 1
        assert digests(folder) == wanted, kill
        assert leftovers(folder) == [], kill
        tally.equal += 1
        shutil.rmtree(folder)


def _table(tallies: dict[str, Tally]) -> Iterator[str]:
    titles = ("points", "before a change", "within one", "by time", "files whole", "reruns succeeded", "results equal")
    yield f"| command | {' | '.join(titles)} |"
    yield "|---" * (len(titles) + 1) + "|"
    rows = {**tallies, "all": _sum(tallies)}
    for command, own in rows.items():
        kinds = [own.kinds.count(kind) for kind in ("operation", "writing", "time")]
        cells = [command, len(own.kinds), *kinds, own.whole, own.succeeded, own.equal]
        yield "| " + " | ".join(map(str, cells)) + " |"
    yield ""
    yield "`make test-kill`, seed 0."


def _sum(tallies: dict[str, Tally]) -> Tally:
    total = Tally()
    for own in tallies.values():
        total.kinds += own.kinds
        total.whole, total.succeeded = total.whole + own.whole, total.succeeded + own.succeeded
        total.equal += own.equal
    return total
