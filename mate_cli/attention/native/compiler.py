"""The C++ compiler of this machine."""

from __future__ import annotations

import os
import platform
import shlex
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

_NAMES = ("c++", "g++", "clang++")


class KernelUnavailable(Exception):
    """The attention kernel cannot be compiled or loaded here; says why in one line."""


@dataclass(frozen=True)
class Compiler:
    """
    Attributes:
        command: the compiler and its flags for a shared library.
        version: first line of what it says of itself.
    """

    command: tuple[str, ...]
    version: str

    def build(self, source: Path, macros: tuple[str, ...], to: Path) -> None:
        """Compile a library.

        Raises:
            KernelUnavailable: the compiler fails.
        """
        for threads in ("-fopenmp", "-pthread"):  # not every compiler has OpenMP; Apple's does not
            words = [*self.command, *macros, threads, str(source), "-o", str(to)]
            done = subprocess.run(words, capture_output=True, text=True)
            if done.returncode == 0:
                return
        said = [line.strip() for line in done.stderr.splitlines() if "error" in line]
        reason = said[0] if said else f"exit code {done.returncode}"
        raise KernelUnavailable(f"{self.command[0]} cannot compile the attention kernel ({reason})")


def find_compiler() -> Compiler:
    """Return ``$CXX`` if that is set, else the first compiler that is there, with ``$CXXFLAGS`` behind our flags.

    Raises:
        KernelUnavailable: there is none, or it does not run.
    """
    if os.name == "nt":
        raise KernelUnavailable("the attention kernel has not been made for Windows")
    named = os.environ.get("CXX") or next((name for name in _NAMES if shutil.which(name)), None)
    if named is None:
        raise KernelUnavailable("no C++ compiler (g++, for example) is there to build the attention kernel")
    words = shlex.split(named)
    try:
        said = subprocess.run([*words, "--version"], capture_output=True, text=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError) as error:
        raise KernelUnavailable(f"the C++ compiler {named} does not run ({error})") from error
    # GCC and Clang have the option for this machine's processor under -march on x86, under -mcpu elsewhere.
    target = "-march=native" if platform.machine() in ("x86_64", "i686") else "-mcpu=native"
    flags = ("-O3", target, "-std=c++17", "-ffp-contract=fast", "-fPIC", "-shared")
    more = shlex.split(os.environ.get("CXXFLAGS", ""))  # behind ours, so that -march there counts
    return Compiler((*words, *flags, *more), said.split("\n")[0])
