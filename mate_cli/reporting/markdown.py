"""Markdown files as self-contained HTML: pictures are embedded, raw HTML is shown as text."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from markdown_it import MarkdownIt
from markdown_it.token import Token
from markupsafe import Markup

from mate_cli.system.errors import UserError

REPRODUCED = "./reproduced"
"""The default folder of ``mate reproduce``."""

_PICTURES = {".png": "image/png", ".svg": "image/svg+xml", ".jpg": "image/jpeg"}


@dataclass(frozen=True)
class MarkdownFile:
    """
    Attributes:
        title: the first heading, or else the name of the file.
        body: HTML without that heading.
    """

    title: str
    file: str
    body: Markup


def documents(folders: Sequence[str] | None) -> list[MarkdownFile]:
    """Read all Markdown files below some folders; "table9" comes before "table10".

    Args:
        folders: None for the folder of ``mate reproduce``, if it exists.

    Raises:
        UserError: a file is not text.
    """
    if folders is None:
        folders = [REPRODUCED] if Path(REPRODUCED).is_dir() else []
    return [_document(file, Path(folder)) for folder in folders for file in _sorted(Path(folder).rglob("*.md"))]


def picture(data: bytes, kind: str) -> str:
    """A ``data:`` URL with the picture itself.

    Args:
        kind: the media type, such as ``image/png``.
    """
    return f"data:{kind};base64,{base64.b64encode(data).decode()}"


def _sorted(files: Iterator[Path]) -> list[Path]:
    def key(file: Path) -> list[tuple[bool, int, str]]:
        return [(part.isdigit(), int(part) if part.isdigit() else 0, part) for part in re.split(r"(\d+)", str(file))]

    return sorted(files, key=key)


def _document(file: Path, root: Path) -> MarkdownFile:
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        raise UserError(f"{file} cannot be read: {str(error).splitlines()[0]}") from error
    parser = MarkdownIt("commonmark", {"html": False}).enable("table")
    tokens, title = parser.parse(text), str(file.relative_to(root))
    if len(tokens) > 1 and tokens[0].tag == "h1":
        title, tokens = tokens[1].content, tokens[3:]
    for token in tokens:
        if token.type in ("heading_open", "heading_close"):
            token.tag = f"h{min(int(token.tag[1]) + 2, 6)}"
        if token.children:
            token.children = list(_without_files(token.children))
            for child in token.children:
                _embed(child, file.parent, root)
    return MarkdownFile(title, str(file), Markup(parser.renderer.render(tokens, parser.options, {})))


def _without_files(tokens: list[Token]) -> Iterator[Token]:
    """Turn links to files, which are not on the page, into plain text; keep links to the web."""
    is_web = True
    for token in tokens:
        if token.type == "link_open":
            is_web = "://" in str(token.attrs["href"])
        if is_web or token.type not in ("link_open", "link_close"):
            yield token


def _embed(token: Token, folder: Path, root: Path) -> None:
    """Embed a picture; one that is missing or outside the folder becomes a line that says so."""
    if token.type != "image":
        return
    name = str(token.attrs["src"])
    file = (folder / name).resolve()
    if file.is_relative_to(root.resolve()) and file.suffix in _PICTURES and file.is_file():
        token.attrs["src"] = picture(file.read_bytes(), _PICTURES[file.suffix])
        return
    token.type, token.children, token.content = "text", None, f"[no picture {name}]"
