"""Let PyPI's torch for CUDA be imported without CUDA's libraries, which it links but never calls on a processor.

torch-xla needs a torch that PyPI has for CUDA alone, and the libraries of that weigh over four gigabytes. Here each
missing one is made as a shared library of a few kilobytes, in which every function ends the process. Needs cc, nm
and readelf. Run by ``make test-xla`` with the environment that it builds.
"""

from __future__ import annotations

import importlib.util
import re
import subprocess
import tempfile
from pathlib import Path

LIBRARIES = re.compile(
    r"lib(cublas|cublasLt|cudnn|cufft|cufile|curand|cusolver|cusparse|cusparseLt|nccl|nvshmem_host)\.so"
)
FUNCTIONS = re.compile(r"(cublas|cudnn|cufft|cuFile|curand|cusolver|cusparse|nccl|nvshmem)\w+")


def main() -> None:
    """Write the missing libraries beside torch's own, where it looks for them."""
    package = importlib.util.find_spec("torch")
    assert package is not None, "torch is not installed"
    assert package.origin is not None
    folder = Path(package.origin).parent / "lib"
    own = list(folder.glob("lib*.so*"))
    needed = {name for file in own for name in re.findall(r"NEEDED.*\[(.+)\]", _output("readelf", "-d", file))}
    missing = sorted(name for name in needed if LIBRARIES.match(name) and not (folder / name).exists())
    undefined = [line.split()[-1] for file in own for line in _output("nm", "-D", "-u", file).splitlines()]
    functions = sorted({name.partition("@")[0] for name in undefined if FUNCTIONS.match(name)})
    asked = "".join(_output("readelf", "-V", "-W", file) for file in own)
    versions = dict(re.findall(r"File: (\S+) .*\n.*Name: (\S+) ", asked))
    for name in missing:
        _build(folder / name, functions, versions.get(name, "STUB"))
    print(f"{len(missing)} libraries of {len(functions)} functions that are never called: {', '.join(missing)}")


def _build(library: Path, functions: list[str], version: str) -> None:
    with tempfile.TemporaryDirectory() as name:
        source, script = Path(name) / "stubs.c", Path(name) / "versions"
        bodies = "".join(f"void {function}(void) {{ abort(); }}\n" for function in functions)
        source.write_text("#include <stdlib.h>\n" + bodies)
        script.write_text(f"{version} {{ global: *; }};\n")
        linker = f"-Wl,-soname,{library.name},--version-script,{script}"
        subprocess.run(["cc", "-shared", "-fPIC", "-w", "-o", library, source, linker], check=True)


def _output(*command: str | Path) -> str:
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


if __name__ == "__main__":
    main()
