"""What is taken where the kernel of ``native`` does not work, and where it does."""

import numpy as np
import pytest
import torch

from mate_cli.attention import build_plan
from mate_cli.attention.native.build import is_loadable, library
from mate_cli.attention.native.compiler import KernelUnavailable
from mate_cli.models.configuration import MateConfig
from mate_cli.models.variants import make_planner
from mate_cli.system.errors import UserError
from tests.attention.layouts import document, layout
from tests.compilers import needs_compiler

KERNEL = torch.float64, 4

pytestmark = pytest.mark.usefixtures("nothing_loaded")


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
    size = {"hidden_size": 64, "num_attention_heads": 4}
    config = MateConfig(**size)
    assert make_planner(config)(table).backend == "native"
    assert make_planner(config, "dense")(table).backend == "dense"
    assert make_planner(MateConfig(**size, heads="row_or_column"))(table).backend == "native"
    assert build_plan(table, ("row", "column")).backend == "dense"  # nobody has looked for the kernel
    assert capfd.readouterr().err == ""


@pytest.mark.parametrize("backend", ["native", "ragged"])
def test_backends_for_a_cpu_refuse_other_devices(backend):
    with pytest.raises(UserError, match="needs a CPU"):
        make_planner(MateConfig(), backend, "cuda")
