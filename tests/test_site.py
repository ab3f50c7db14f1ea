"""The site builds without warnings and without the network, its links lead somewhere, and its notebook runs."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote

import pytest

from mate_cli.cli.help import COMMANDS
from mate_cli.system import distribution

ROOT = Path(__file__).parent.parent


class Page(HTMLParser):
    """The identifiers of a page, and what it links to or shows."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.names: set[str] = set()
        self.links: set[str] = set()
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attrs):
        given = dict(attrs)
        self.names.add(given.get("id") or "")
        if tag != "link":  # style sheets of the theme, which have versions in their addresses
            self.links.update(given[name] for name in ("href", "src") if given.get(name))


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The folder of the site."""
    folder = tmp_path_factory.mktemp("site")
    words = ("--quiet", "--fail-on-warning", "--keep-going", "-c", "docs/site", ".", str(folder))
    built = subprocess.run([sys.executable, "-m", "sphinx", *words], cwd=ROOT, capture_output=True, text=True)
    assert built.returncode == 0, built.stderr
    return folder


@pytest.mark.slow
def test_every_link_leads_somewhere(site):
    pages = {path.resolve(): Page(path) for path in site.rglob("*.html")}
    assert len(pages) > 60
    broken = []
    for path, page in pages.items():
        for link in page.links:
            address, _, name = link.partition("#")
            if "://" in address or address.startswith(("mailto:", "data:")):
                continue
            target = (path.parent / unquote(address.partition("?")[0])).resolve() if address else path
            if not target.exists() or (name and target in pages and unquote(name) not in pages[target].names):
                broken.append(f"{path.relative_to(site)}: {link}")
    assert not broken


@pytest.mark.slow
def test_every_command_has_its_keys(site):
    folder = site / "docs/site/reference"
    assert {path.stem for path in folder.glob("*.html")} == set(COMMANDS)
    assert "task.masking.share" in (folder / "train.html").read_text(encoding="utf-8")
    assert "LoadedRun" in (site / "docs/site/python.html").read_text(encoding="utf-8")


def test_the_notebook_runs():
    if distribution.package_folder(distribution.RELEASED) is None:
        pytest.skip("needs the released weights: pip install ./weights")
    cells = json.loads((ROOT / "docs/ask-a-table.ipynb").read_text(encoding="utf-8"))["cells"]
    names: dict[str, object] = {}
    shown = [result for cell in cells if cell["cell_type"] == "code" for result in run("".join(cell["source"]), names)]
    (answer, formula, probability, _), frame, parameters = shown
    assert (answer, formula) == (["3"], "COUNT(runner of rows 1, 3, 5) = 3")
    assert 0.5 < probability < 1
    assert frame["answer"].iloc[0] == ["Paul Rono"]
    assert frame["best_guess"].iloc[1] == ["Luca Ferri"]
    assert frame["answer"].iloc[2] == []  # the table has no heights
    assert parameters > 20_000_000


def run(source, names):
    """Run a cell; what it shows, the value of a last expression."""
    tree = ast.parse(source)
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, "cell", "exec"), names)  # noqa: S102
    return [eval(compile(ast.Expression(last.value), "cell", "eval"), names)] if last else []  # noqa: S307
