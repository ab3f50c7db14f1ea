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
from mate_cli.attention.native.build import check_loadable, library
from tests.attention.conftest import forget
from tests.attention.layouts import document, layout
from tests.compilers import NATIVE, needs_compiler

KERNEL = torch.float64, 4


pytestmark = pytest.mark.usefixtures("nothing_loaded")


@pytest.fixture(scope="module")
def real():
    """A library that the real compiler has built."""
    if not NATIVE:
        pytest.skip("needs a C++ compiler")
    return library(*KERNEL).folder / "kernel.so"


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
    """Its compiler goes on without it, and must not write into the cache after the second build."""
    copy, ended = compiler.path.read_text().splitlines()[-1], tmp_path / "ended"
    compiler.write(f"echo half > $out\nsleep 1\necho late > $out\ntouch {ended}")
    process = start_loading()
    wait_until(lambda: compiler.runs == 1)
    os.kill(process.pid, signal.SIGKILL)
    process.join(60)
    compiler.write(copy)
    found = again()
    wait_until(ended.exists)
    assert compiler.runs == 2
    assert {file.suffix for file in found.folder.parent.iterdir()} <= {"", ".lock"}
    assert sorted(file.name for file in found.folder.iterdir()) == ["hash", "kernel.so"]


def wait_until(condition):
    end = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.01)


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


def test_a_compiler_without_openmp(compiler):
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


def test_importing_builds_nothing(compiler):
    assert sys.modules["mate_cli.attention.native.attend"]
    assert compiler.runs == 0
    check_loadable(*KERNEL)
    assert compiler.runs == 1


@pytest.mark.parametrize("name", ["kernel.cpp", "drop.cpp", "numbers.h"])
def test_the_sources_are_data_of_the_package(name):
    assert (Path(build.__file__).parent / name).is_file()


@pytest.mark.slow
@needs_compiler
@pytest.mark.skipif(platform.machine() != "x86_64", reason="names instructions of x86")
def test_cxxflags_limit_the_instructions(monkeypatch):
    monkeypatch.setenv("CXXFLAGS", "-march=x86-64-v2")
    assert library(torch.float32, 16).instructions == "128-bit vectors"
    monkeypatch.setenv("CXXFLAGS", "-march=x86-64-v3")
    forget()
    assert library(torch.float32, 16).instructions == "AVX2"
