"""Check that files, commands and links in the guides exist, and that their numbers and pictures are current."""

from __future__ import annotations

import importlib.util
import math
import re
import subprocess
import sys
from fnmatch import fnmatch
from pathlib import Path
from types import ModuleType

import pytest

from mate_cli.cli import help

ROOT = Path(__file__).parent.parent
GUIDES = [ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
PLACEHOLDER = re.compile(r"NAME|DIR|\*|…")


def code(guide: Path) -> list[str]:
    """Return the code spans of a guide, without its code blocks."""
    text = re.sub(r"^```.*?^```", "", guide.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE)
    return re.findall(r"`([^`]+)`", text)


def script(name: str) -> ModuleType:
    """Import a script of docs/."""
    spec = importlib.util.spec_from_file_location(name, ROOT / "docs" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


def test_there_are_guides() -> None:
    assert {guide.name for guide in GUIDES} >= {"architecture.md", "adding-a-model.md", "hardware.md", "scaling.md"}


@pytest.mark.parametrize("guide", GUIDES, ids=lambda guide: guide.name)
def test_every_link_has_a_target(guide: Path) -> None:
    links = re.findall(r"\]\(([^)#]+)[^)]*\)", guide.read_text(encoding="utf-8"))
    assert links
    assert [link for link in links if "://" not in link and not (guide.parent / link).exists()] == []


@pytest.mark.parametrize("guide", GUIDES, ids=lambda guide: guide.name)
def test_every_file_that_is_named_exists(guide: Path) -> None:
    ignored = (ROOT / ".gitignore").read_text(encoding="utf-8").split()  # runs/, for example, which make demo writes
    names = (folder.name for folder in ROOT.iterdir() if folder.is_dir())
    folders = tuple(f"{name}/" for name in names if not any(fnmatch(name, one.strip("/")) for one in ignored))
    words = (word.partition("::")[0] for word in code(guide))  # of a test its file
    named = [word for word in words if word.startswith(folders) and not PLACEHOLDER.search(word)]
    assert named
    assert [word for word in named if not (ROOT / word).exists()] == []


@pytest.mark.parametrize("guide", GUIDES, ids=lambda guide: guide.name)
def test_every_command_and_target_exists(guide: Path) -> None:
    targets = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE)
    for words in map(str.split, code(guide)):
        if words[0] == "make" and len(words) > 1:
            assert words[1] in targets
        if words[0] == "mate" and len(words) > 1 and not words[1].isupper():
            assert words[1] in help.COMMANDS


def test_the_name_of_somebody_elses_distribution_is_nowhere() -> None:
    """Find instructions to install a package that is not ours: the index has a mate-cli by others."""
    text = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    kinds = {".py", ".md", ".toml", ".yaml", ".html", ".txt", ""}
    named = [ROOT / line for line in text.splitlines() if not line.startswith("results/")]
    files = [file for file in named if file.suffix in kinds and file.is_file()]
    assert len(files) > 400
    ours = re.compile(r"pip install[^`\n]*?(mate[-_][\w-]+)")
    wrong = {f"{file.relative_to(ROOT)}: {name}" for file in files for name in ours.findall(file.read_text("utf-8"))}
    assert {line for line in wrong if "mate-tables" not in line} == set()


def test_the_pictures_are_small_and_drawn_by_the_program(tmp_path: Path) -> None:
    from mate_cli.reporting.pictures import draw_picture

    shipped = {file.stem: file.stat().st_size for file in (ROOT / "docs" / "pictures").iterdir()}
    assert shipped.keys() == {"heads", "buckets"}
    assert all(size < 100_000 for size in shipped.values())
    for name in shipped:
        draw_picture(name, tmp_path / f"{name}.png")
        assert (tmp_path / f"{name}.png").stat().st_size > 10_000


def test_the_figures_of_the_guide_are_measured() -> None:
    """Compute the coverage of columns at G=116 and R=42 that docs/architecture.md states."""
    from mate_cli.analysis.coverage import Document, count_coverage
    from mate_cli.attention import Buckets
    from mate_cli.attention.generated import table_layout

    documents = [Document("grid", table_layout("grid", tokens)) for tokens in (2048, 8192)]
    counts = count_coverage(documents, [Buckets(116, 42)])
    shares = [round(100 * count.share) for group, count in counts.items() if group.kind == "column"]
    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    assert f"sees {shares[0]}% of the pairs of one column" in text
    assert f"and {shares[1]}% at 8192" in text


def test_the_costs_of_the_guide_are_counted() -> None:
    """Count the pairs of row and column heads, as shares of full attention, by table shape."""
    from mate_cli.attention.generated import table_layout
    from mate_cli.bench.pairs import kind_pairs

    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    for shape, columns in (("column", "1"), ("grid", "6"), ("square", "as many as rows")):
        pairs = {}
        for tokens in (2048, 8192, 16384):
            layout = table_layout(shape, tokens)
            pairs[tokens] = (kind_pairs("row", layout) + kind_pairs("column", layout)) / 2
        shares = [f"{100 * count / tokens**2:.1f}%" for tokens, count in pairs.items()]
        exponent = math.log2(pairs[16384] / pairs[8192])
        assert f"| {columns} | {' | '.join(shares)} | {exponent:.2f} |" in text


def test_the_tables_of_costs_are_those_of_the_script(tmp_path: Path) -> None:
    guide, copy = ROOT / "docs" / "hardware.md", tmp_path / "hardware.md"
    copy.write_text(
        re.sub(r"(-->\n)\|.*?(<!-- end)", r"\1\2", guide.read_text(encoding="utf-8"), flags=re.DOTALL), "utf-8"
    )
    assert copy.read_text(encoding="utf-8") != guide.read_text(encoding="utf-8")
    script("costs").main(copy)
    assert copy.read_text(encoding="utf-8") == guide.read_text(encoding="utf-8")


def test_the_hardware_guide_lists_every_profile() -> None:
    rows = re.findall(r"^\| `(\w+)` \|", (ROOT / "docs" / "hardware.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert {file.stem for file in (ROOT / "conf" / "hardware").glob("*.yaml")} <= set(rows)
