"""The library of the kernel: built once, whatever happens to the build, the cache and the compiler."""

import multiprocessing
import os
import platform
import signal
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import torch

from mate_cli.attention import attend, build_plan, mate_pattern
from mate_cli.attention.native import build
from mate_cli.attention.native.build import check_loadable, is_loadable, library, why_not
from mate_cli.attention.native.compiler import KernelUnavailable
from mate_cli.models.configuration import MateConfig
from mate_cli.models.variants import make_planner
from mate_cli.system.errors import UserError
from tests.attention.layouts import document, layout
from tests.compilers import NATIVE, needs_compiler

KERNEL = torch.float64, 4


def forget():
    build._library.cache_clear()
    why_not.cache_clear()
    build._warned.clear()


@pytest.fixture(autouse=True)
def nothing_loaded(monkeypatch):
    monkeypatch.delenv("CXX", raising=False)
    forget()
    yield
    forget()


@pytest.fixture(scope="module")
def real():
    """A library that the real compiler has built."""
    if not NATIVE:
        pytest.skip("needs a C++ compiler")
    return library(*KERNEL).folder / "kernel.so"


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


@pytest.fixture
def compiler(real, stand_in):
    """A compiler that copies a library built before."""
    stand_in.write(f"cp {real} $out")
    return stand_in


def again():
    """Load as a new process would."""
    forget()
    return library(*KERNEL)


def test_a_library_is_built_once(compiler, tmp_path):
    first = again()
    assert first == library(*KERNEL)
    assert again().folder == first.folder
    assert compiler.runs == 1
    assert first.folder.parent == tmp_path / "cache" / "native"
    assert sorted(file.name for file in first.folder.iterdir()) == ["hash", "kernel.so"]
    assert first.width == 16
    assert first.compiler == "stand-in 1.0"


def test_other_compilers_flags_and_processors_have_other_libraries(compiler, monkeypatch):
    folders = {again().folder}
    monkeypatch.setattr(build, "processor_name", lambda: "another")
    folders.add(again().folder)
    monkeypatch.setattr(build, "processor_flags", lambda: frozenset({"avx2"}))
    folders.add(again().folder)
    monkeypatch.setenv("CXX", f"{compiler.path} -O2")
    folders.add(again().folder)
    compiler.path.write_text(compiler.path.read_text().replace("1.0", "2.0"))
    folders.add(again().folder)
    assert len(folders) == compiler.runs == 5


def start_loading():
    """A forked process that ends well if it finds or builds a library in the cache folder."""
    process = multiprocessing.get_context("fork").Process(target=load_afresh)
    process.start()
    return process


def load_afresh():
    forget()
    assert library(*KERNEL).folder is not None


def load_in_a_process():
    process = start_loading()
    process.join(60)
    assert process.exitcode == 0


def test_eight_processes_at_once_build_once(compiler):
    compiler.write(f"sleep 0.5\n{compiler.path.read_text().splitlines()[-1]}")
    processes = [start_loading() for _ in range(8)]
    for process in processes:
        process.join(60)
    assert [process.exitcode for process in processes] == [0] * 8
    assert compiler.runs == 1


def test_a_build_that_was_killed_is_done_again(compiler, tmp_path):
    copy = compiler.path.read_text().splitlines()[-1]
    compiler.write("echo half > $out\nexec sleep 30")
    process = start_loading()
    while not list((tmp_path / "cache").rglob("*.tmp")):
        assert process.is_alive()
        time.sleep(0.01)
    os.kill(process.pid, signal.SIGKILL)
    process.join(60)
    compiler.write(copy)
    found = again()
    assert compiler.runs == 2
    assert sorted(file.name for file in found.folder.iterdir()) == ["hash", "kernel.so"]


@pytest.mark.parametrize("name", ["hash", "kernel.so"])
def test_a_spoilt_library_is_built_again(compiler, tmp_path, name):
    """In processes of their own: this one must not load a library under a name that it knows."""
    load_in_a_process()
    (file,) = (tmp_path / "cache").rglob(name)
    good = file.read_bytes()
    for content in (good[: len(good) // 2], b"", None):
        before = compiler.runs
        file.unlink()
        if content is not None:
            file.write_bytes(content)
        load_in_a_process()
        assert file.read_bytes() == good
        assert compiler.runs == before + 1


def test_a_cache_that_cannot_be_written_is_done_without(compiler, tmp_path, monkeypatch):
    (tmp_path / "file").touch()
    monkeypatch.setenv("MATE_CACHE", str(tmp_path / "file" / "cache"))
    assert again().folder is None
    assert library(*KERNEL).functions.mate_forward
    assert compiler.runs == 1


def test_a_cache_that_cannot_be_written_can_be_read(compiler, monkeypatch):
    folder = again().folder

    def refuse(*_):
        raise PermissionError

    monkeypatch.setattr(build, "in_turn", refuse)
    assert again().folder == folder
    assert compiler.runs == 1


def test_a_compiler_without_openmp(compiler, monkeypatch):
    """The real compiler, so that the kernel's own threads run."""
    compiler.write('case "$*" in *-fopenmp*) echo "error: unsupported option" >&2; exit 1;; esac\nexec c++ "$@"')
    table = layout([document(9, True, 90, 3, np.random.default_rng(0))] * 3, [0, 1, 0])
    qkv = torch.randn(len(table.document), 3 * 4 * 4, dtype=torch.float64, requires_grad=True)
    before = torch.get_num_threads()
    torch.set_num_threads(3)
    try:
        forget()
        ours = attend(qkv, build_plan(table, ("row", "column"), "native"), mate_pattern(4))
        gradient = torch.autograd.grad(ours.square().sum(), qkv)
    finally:
        torch.set_num_threads(before)
    assert compiler.runs == 2
    expected = attend(qkv, build_plan(table, ("row", "column"), "eager"), mate_pattern(4))
    torch.testing.assert_close(ours, expected, rtol=0, atol=1e-10)
    torch.testing.assert_close(gradient, torch.autograd.grad(expected.square().sum(), qkv), rtol=0, atol=1e-10)


def no_compiler(stand_in, monkeypatch, tmp_path):
    monkeypatch.delenv("CXX")
    monkeypatch.setenv("PATH", str(tmp_path))


def missing(stand_in, monkeypatch, tmp_path):
    monkeypatch.setenv("CXX", str(tmp_path / "g++"))


def failing(stand_in, monkeypatch, tmp_path):
    stand_in.write("echo 'kernel.cpp:1: error: no such thing' >&2; exit 1")


def killed(stand_in, monkeypatch, tmp_path):
    stand_in.write("exit 137")


def not_a_library(stand_in, monkeypatch, tmp_path):
    stand_in.write("echo text > $out")


def windows(stand_in, monkeypatch, tmp_path):
    monkeypatch.setattr("mate_cli.attention.native.compiler.os", type("", (), {"name": "nt"}))


TROUBLES = {
    no_compiler: "no C\\+\\+ compiler",
    missing: "does not run",
    failing: "error: no such thing",
    killed: "exit code 137",
    not_a_library: "cannot be loaded",
    windows: "Windows",
}


@pytest.mark.parametrize("trouble", TROUBLES, ids=lambda trouble: trouble.__name__)
def test_without_the_kernel_auto_takes_another_backend_and_says_so_once(
    trouble, stand_in, monkeypatch, tmp_path, capfd
):
    trouble(stand_in, monkeypatch, tmp_path)
    with pytest.raises(KernelUnavailable, match=TROUBLES[trouble]):
        library(*KERNEL)
    config = MateConfig(hidden_size=64, num_attention_heads=4)
    table = layout([document(5, True, 200, 6, np.random.default_rng(0))], [0])
    assert [make_planner(config)(table).backend for _ in range(3)] == ["ragged"] * 3
    assert not is_loadable(*KERNEL)
    (line,) = capfd.readouterr().err.splitlines()
    assert line.startswith("warning: attention takes a slower backend than native: ")
    with pytest.raises(UserError, match=TROUBLES[trouble]) as error:
        make_planner(config, "native")
    assert len(str(error.value).splitlines()) == 1
    assert "take auto" in str(error.value)


@needs_compiler
def test_auto_takes_the_kernel_where_it_works(capfd):
    table = layout([document(5, True, 3, 6, np.random.default_rng(0))], [0])
    config = MateConfig(hidden_size=64, num_attention_heads=4)
    assert make_planner(config)(table).backend == "native"
    assert make_planner(config, "dense")(table).backend == "dense"
    assert make_planner(MateConfig(heads="row_or_column"))(table).backend == "dense"
    assert build_plan(table, ("row", "column")).backend == "dense"  # nobody has looked for the kernel
    assert capfd.readouterr().err == ""


def test_importing_builds_nothing(compiler):
    assert sys.modules["mate_cli.attention.native.attend"]
    assert compiler.runs == 0
    check_loadable(*KERNEL)
    assert compiler.runs == 1


def test_the_source_is_data_of_the_package():
    assert (Path(build.__file__).parent / "kernel.cpp").is_file()


@pytest.mark.parametrize("backend", ["native", "ragged"])
def test_backends_for_a_cpu_refuse_other_devices(backend):
    with pytest.raises(UserError, match="needs a CPU"):
        make_planner(MateConfig(), backend, "cuda")


@needs_compiler
@pytest.mark.skipif(platform.machine() != "x86_64", reason="names instructions of x86")
def test_cxxflags_limit_the_instructions(monkeypatch):
    monkeypatch.setenv("CXXFLAGS", "-march=x86-64-v2")
    assert library(torch.float32, 16).instructions == "128-bit vectors"
    monkeypatch.setenv("CXXFLAGS", "-march=x86-64-v3")
    forget()
    assert library(torch.float32, 16).instructions == "AVX2"
