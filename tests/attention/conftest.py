"""A stand-in for the C++ compiler, and a process that has loaded no library of the kernel."""

import pytest

from mate_cli.attention.native import build
from mate_cli.attention.native.build import why_not


def forget():
    build._library.cache_clear()
    build.dropout_library.cache_clear()
    why_not.cache_clear()
    build._warned.clear()


@pytest.fixture
def nothing_loaded(monkeypatch):
    monkeypatch.delenv("CXX", raising=False)
    forget()
    yield
    forget()


class StandIn:
    """A compiler that does some other work, and counts how often it does."""

    def __init__(self, folder):
        self.log, self.path = folder / "log", folder / "c++"
        self.log.touch()
        self.write("exit 1")

    def write(self, work):
        self.path.write_text(
            f'#!/bin/sh\ncase "$*" in *--version) echo "stand-in 1.0"; exit;; esac\n'
            f'for out; do :; done\necho "$@" >> {self.log}\n{work}\n'
        )
        self.path.chmod(0o755)

    @property
    def runs(self):
        return len(self.log.read_text().splitlines())


@pytest.fixture
def stand_in(tmp_path, monkeypatch):
    folder = tmp_path / "bin"
    folder.mkdir()
    stand_in = StandIn(folder)
    monkeypatch.setenv("CXX", str(stand_in.path))
    monkeypatch.setenv("MATE_CACHE", str(tmp_path / "cache"))
    forget()
    return stand_in
