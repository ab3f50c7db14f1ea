"""Peak memory, measured in processes of their own."""

from __future__ import annotations

import io
import json
import os
import signal
import sys
from dataclasses import asdict, replace

import pytest

from mate_cli.bench import memory
from mate_cli.bench.memory import MemoryServer
from mate_cli.bench.point import Point

POINT = Point("minilm", 1, "grid", 1024, 1, "forward", "fp32", "cpu")


def peak(server: MemoryServer, model: str, point: Point) -> int:
    answer = server.peak(model, point)
    assert set(answer) == {"bytes"}, answer
    return int(answer["bytes"])


def test_a_peak_is_about_the_size_of_what_is_needed(memory_server: MemoryServer) -> None:
    ballast = bytearray(500 * 2**20)  # of this process, and none of the server's business
    feed_forward = 2048 * 1536 * 4
    assert feed_forward < peak(memory_server, "limit", replace(POINT, length=2048)) < 20 * feed_forward
    scores = 12 * 1024**2 * 4
    assert scores < peak(memory_server, "hf_tapas", POINT) - peak(memory_server, "limit", POINT) < 4 * scores
    assert len(ballast)


def test_every_measurement_starts_anew(memory_server: MemoryServer) -> None:
    large, small = (peak(memory_server, "limit", replace(POINT, length=length)) for length in (4096, 1024))
    assert small < large / 2


def test_training_keeps_more(memory_server: MemoryServer) -> None:
    assert peak(memory_server, "mate", replace(POINT, mode="training")) > 1.3 * peak(memory_server, "mate", POINT)


def test_a_failure_is_one_line_and_the_server_goes_on(memory_server: MemoryServer) -> None:
    assert memory_server.peak("mat", POINT)["error"].startswith("UserError: unknown model 'mat': did you mean mate?")
    assert peak(memory_server, "limit", POINT) > 0


def test_a_measurement_that_is_killed_is_told(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    task = json.dumps({"model": "mate", "point": asdict(POINT), "threads": 1})
    monkeypatch.setattr(sys, "stdin", io.StringIO(task + "\n"))
    monkeypatch.setattr(signal, "signal", lambda *_: None)
    monkeypatch.setattr(memory, "_answer", lambda _: os.kill(os.getpid(), signal.SIGKILL))
    memory.serve()
    assert json.loads(capfd.readouterr().out) == {"error": "killed by signal 9: out of memory?"}


def test_a_server_that_is_gone_is_told() -> None:
    gone = MemoryServer(threads=1)
    gone._process = memory._start()
    gone._process.kill()
    gone._process.wait()
    assert "has ended" in gone.peak("limit", POINT)["error"]
    gone.close()
