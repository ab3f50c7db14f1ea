"""Sphinx's settings for the site (`make docs`): README, guides, reference and results, as the repository has them."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING

sys.path.insert(0, str(Path(__file__).parent))

import reference

import mate_cli

if TYPE_CHECKING:
    from sphinx.application import Sphinx

ROOT = Path(__file__).parents[2]

project = "mate"
author = "the developers of mate"
copyright = author
release = version = mate_cli.__version__
root_doc = "docs/site/index"
# The files that a reader of the site may want; the source folder is the repository.
include_patterns = ["README.md", "C*.md", "SECURITY.md", "docs/**.md", "results/**.md", "weights/README.md"]
exclude_patterns = ["results/runs"]
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
myst_heading_anchors = 4
autodoc_typehints = "signature"
# Links lead to the pages of single results, the menu does not; the guides show commands together with their output.
suppress_warnings = ["toc.not_included", "misc.highlighting_failure"]
html_theme = "furo"
html_title = f"mate {release}"
html_copy_source = False
html_show_sphinx = False

LINK = re.compile(r"\[([^\[\]]*)\]\(([^)\s#]+)\)")


def name_folders_by_their_page(app: Sphinx, page: str, source: list[str]) -> None:
    """Let a link to a folder lead to its README; without one, only its words stay."""
    here = (ROOT / page).parent

    def replaced(link: re.Match[str]) -> str:
        target = here / link[2]
        if "://" in link[2] or not target.is_dir():
            return link[0]
        return f"[{link[1]}]({link[2].rstrip('/')}/README.md)" if (target / "README.md").is_file() else link[1]

    source[0] = LINK.sub(replaced, source[0])


def lead_to_the_front_page(app: Sphinx, error: Exception | None) -> None:
    """Write index.html, which servers show for the address of the folder."""
    page = f'<meta http-equiv="refresh" content="0; url={root_doc}.html"><a href="{root_doc}.html">mate</a>\n'
    (Path(app.outdir) / "index.html").write_text(page, encoding="utf-8")


def setup(app: Sphinx) -> None:
    reference.write(Path(__file__).parent / "reference")
    app.connect("source-read", name_folders_by_their_page)
    app.connect("build-finished", lead_to_the_front_page)
