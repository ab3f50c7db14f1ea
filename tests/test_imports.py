"""Imports of the package: they point one way, in the order that CONTRIBUTING gives, and have no circle."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from graphlib import TopologicalSorter
from pathlib import Path

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "mate_cli"


def modules() -> dict[str, ast.Module]:
    """Every module of the package by its full name, parsed."""
    files = {file: file.relative_to(ROOT).with_suffix("").parts for file in sorted(PACKAGE.rglob("*.py"))}
    return {
        ".".join(parts).removesuffix(".__init__"): ast.parse(file.read_text(encoding="utf-8"))
        for file, parts in files.items()
    }


def imported(module: ast.Module, known: set[str]) -> Iterator[str]:
    """The modules of the package that a module imports, also inside functions and for types alone."""
    for node in ast.walk(module):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in known)
        elif isinstance(node, ast.ImportFrom) and node.module in known:
            whole = [f"{node.module}.{alias.name}" for alias in node.names]
            yield from (name for name in whole if name in known)
            if not all(name in known for name in whole):
                yield str(node.module)


def graph() -> dict[str, set[str]]:
    """Module -> the modules that it imports."""
    parsed = modules()
    assert len(parsed) > 250
    return {name: set(imported(module, set(parsed))) - {name} for name, module in parsed.items()}


def folders() -> list[str]:
    """The folders of the package, lowest first, as CONTRIBUTING lists them."""
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    (line,) = re.findall(r"^Imports point one way: (.*)$", text, re.MULTILINE)
    return re.findall(r"`(\w+)`", line)


def test_there_is_no_circle() -> None:
    order = list(TopologicalSorter(graph()).static_order())  # raises CycleError, which names the circle
    assert "mate_cli.training.fit" in order


def test_imports_point_one_way() -> None:
    order = folders()
    assert {path.name for path in PACKAGE.iterdir() if (path / "__init__.py").is_file()} == set(order)
    place = {f"mate_cli.{folder}": number for number, folder in enumerate(order)}

    def of(name: str) -> int | None:
        return place.get(".".join(name.split(".")[:2]))

    wrong = [
        f"{name} imports {other}"
        for name, others in graph().items()
        for other in others
        if (here := of(name)) is not None and other != "mate_cli" and ((there := of(other)) is None or there > here)
    ]
    assert wrong == []


def test_no_command_imports_another() -> None:
    wrong = [
        f"{name} imports {other}"
        for name, others in graph().items()
        for other in others
        if name.startswith("mate_cli.commands.") and other.startswith("mate_cli.commands.")
    ]
    assert wrong == []


def test_a_class_name_means_one_class() -> None:
    places = defaultdict(list)
    for name, module in modules().items():
        for node in ast.walk(module):
            if isinstance(node, ast.ClassDef):
                places[node.name].append(name)
    assert {name: where for name, where in places.items() if len(where) > 1} == {}


def test_the_top_of_the_package_is_small() -> None:
    assert len(list(PACKAGE.glob("*.py"))) <= 6


def test_no_file_is_long() -> None:
    long = [file.relative_to(ROOT) for file in PACKAGE.rglob("*.py") if len(file.read_text().splitlines()) > 300]
    assert long == []
