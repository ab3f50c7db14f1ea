"""The compiled kernels: built once for this machine, kept in the cache folder, loaded with ``ctypes``."""

from __future__ import annotations

import ctypes
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

import torch

from mate_cli.attention.native.compiler import Compiler, KernelUnavailable, find_compiler
from mate_cli.config.paths import PathsConfig, cache_folder
from mate_cli.system.errors import UserError
from mate_cli.system.files import in_turn, replacing, write_text
from mate_cli.system.processor import processor_flags, processor_name
from mate_cli.system.ranks import is_first_rank

STORAGE = {torch.float32: "float", torch.float64: "double", torch.bfloat16: "BFloat16"}
"""Dtypes of the tensors that a library can take, and their names in the kernel."""

_ATTENTION, _DROPOUT, _HEADER = (Path(__file__).with_name(name) for name in ("kernel.cpp", "drop.cpp", "numbers.h"))
_FILE, _HASH = "kernel.so", "hash"
_WIDTH_MULTIPLE = 16  # the kernel's rows are whole vectors, whatever the processor
_warned: list[str] = []  # problems of this process


class Library(NamedTuple):
    """A loaded library.

    Attributes:
        functions: ``mate_forward`` and ``mate_backward`` of ``kernel.cpp``.
        width: numbers in a row of the kernel: ``head_dim``, rounded up.
        instructions: the vector instructions that it uses.
        compiler: name and version of what made it.
        folder: where it lies; None if the cache folder cannot keep it.
    """

    functions: ctypes.CDLL
    width: int
    instructions: str
    compiler: str
    folder: Path | None


def is_loadable(dtype: torch.dtype, head_dim: int) -> bool:
    """Say whether the kernel works here, building it if need be; if it does not, print why, once in a process."""
    problem = why_not(dtype, head_dim)
    if problem is not None:
        _warn(problem)
    return problem is None


def check_loadable(dtype: torch.dtype, head_dim: int) -> None:
    """Build and load the kernel.

    Raises:
        UserError: it does not work here.
    """
    if problem := why_not(dtype, head_dim):
        raise UserError(f"model.attention.backend=native does not work here: {problem}; take auto")


@cache
def why_not(dtype: torch.dtype, head_dim: int) -> str | None:
    """Return the reason why the kernel does not work here, None if it does, after building it if need be."""
    try:
        library(dtype, head_dim)
    except KernelUnavailable as error:
        return str(error)
    return None


def _warn(problem: str) -> None:
    if not _warned and is_first_rank():
        print(f"warning: attention takes a slower backend than native: {problem}", file=sys.stderr)
    _warned.append(problem)


def library(dtype: torch.dtype, head_dim: int) -> Library:
    """Return the library for tensors of a dtype of ``STORAGE`` and heads of a width; built at first use.

    Raises:
        KernelUnavailable: it cannot be built or loaded.
    """
    return _library(STORAGE[dtype], -(-head_dim // _WIDTH_MULTIPLE) * _WIDTH_MULTIPLE)


@cache
def _library(storage: str, width: int) -> Library:
    macros = (f"-DSTORAGE={storage}", f"-DHEAD_DIM={width}")
    functions, compiler, folder = _loaded(_Build(_ATTENTION, macros, find_compiler()), f"{storage}-{width}")
    for function, tensors in ((functions.mate_forward, 3), (functions.mate_backward, 7)):
        function.argtypes, function.restype = [ctypes.c_void_p] * (1 + tensors), None
    functions.mate_instructions.restype = ctypes.c_char_p
    return Library(functions, width, functions.mate_instructions().decode(), compiler, folder)


@cache
def dropout_library() -> ctypes.CDLL | None:
    """Return the functions of ``drop.cpp``, ``drop_float`` and so on by the names in ``STORAGE``; None if they do not
    work here.
    """
    try:
        functions, _, _ = _loaded(_Build(_DROPOUT, (), find_compiler()), "drop")
    except KernelUnavailable:
        return None
    for storage in STORAGE.values():
        function = getattr(functions, f"drop_{storage}")
        words, sizes = [ctypes.c_void_p] * 3, [ctypes.c_int64] * 2
        function.argtypes = [*words, *sizes, ctypes.c_int32, ctypes.c_double, ctypes.c_int32, ctypes.c_void_p]
        function.restype = None
    return functions


class _Build(NamedTuple):
    source: Path
    macros: tuple[str, ...]
    compiler: Compiler

    def hash(self) -> str:
        """Hash all that the library follows from."""
        # A cache folder may serve several machines, and -march=native means another thing on each.
        machine = (processor_name(), *sorted(processor_flags()))
        texts = (file.read_text(encoding="utf-8") for file in (self.source, _HEADER))
        parts = (*texts, *self.compiler.command, self.compiler.version, *machine, *self.macros)
        return sha256(chr(0).join(parts).encode()).hexdigest()[:16]

    @contextmanager
    def built(self) -> Iterator[Path]:
        """Build a library outside the cache: a compiler whose parent was killed goes on and writes its file."""
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / _FILE
            self.compiler.build(self.source, self.macros, path)
            yield path


def _loaded(build: _Build, name: str) -> tuple[ctypes.CDLL, str, Path | None]:
    """Return the functions, the compiler's version, and the folder in the cache; None if the cache cannot keep it.

    Raises:
        KernelUnavailable: it cannot be built or loaded.
    """
    folder = cache_folder(PathsConfig()) / "native" / f"{name}-{build.hash()}"
    try:
        return _from_cache(folder, build), build.compiler.version, folder
    except OSError:  # the folder cannot be written, or what lies in it cannot be run
        return _built_aside(build), build.compiler.version, None


def _from_cache(folder: Path, build: _Build) -> ctypes.CDLL:
    """Load a library from its folder in the cache; build it if it is not there or has been spoilt.

    Raises:
        KernelUnavailable: it cannot be built.
        OSError: the cache cannot be used.
    """
    path = folder / _FILE
    if not _is_whole(folder):
        with in_turn(folder.with_name(f"{folder.name}.lock")):
            if not _is_whole(folder):  # no other process has built it while this one waited
                shutil.rmtree(folder, ignore_errors=True)  # what a killed process or a bad disk left
                folder.mkdir(exist_ok=True)
                with build.built() as built, replacing(path) as temporary:
                    shutil.copyfile(built, temporary)
                write_text(folder / _HASH, _hash(path))
    return ctypes.CDLL(str(path))


def _is_whole(folder: Path) -> bool:
    """Compare a library with its hash: to load one that was cut short can end the process."""
    try:
        return (folder / _HASH).read_bytes() == _hash(folder / _FILE).encode()
    except OSError:
        return False


def _hash(file: Path) -> str:
    return sha256(file.read_bytes()).hexdigest()


def _built_aside(build: _Build) -> ctypes.CDLL:
    """Build and load a library for this process alone; its file is removed at once."""
    try:
        with build.built() as path:
            return ctypes.CDLL(str(path))
    except OSError as error:
        raise KernelUnavailable(f"the compiled attention kernel cannot be loaded ({error})") from error
