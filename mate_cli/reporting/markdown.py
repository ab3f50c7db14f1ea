"""Markdown of ours as HTML that needs no other file: pictures inside, raw HTML shown as the text it is."""

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
"""Where ``mate reproduce`` writes by default."""

_PICTURES = {".png": "image/png", ".svg": "image/svg+xml", ".jpg": "image/jpeg"}


@dataclass(frozen=True)
class Document:
    """
    Attributes:
        title: its first heading, else the name of its file.
        body: HTML without that heading.
    """

    title: str
    file: str
    body: Markup


def documents(folders: Sequence[str] | None) -> list[Document]:
    """All Markdown below some folders, in the order of the names as people count.

    Args:
        folders: None for that of ``mate reproduce``, where there is one.

    Raises:
        UserError: one is no folder, or a file is not text.
    """
    if folders is None:
        folders = [REPRODUCED] if Path(REPRODUCED).is_dir() else []
    if missing := [folder for folder in folders if not Path(folder).is_dir()]:
        raise UserError(f"tables={missing[0]} is no folder; mate reproduce to=FOLDER makes one")
    return [_document(file, Path(folder)) for folder in folders for file in _in_order(Path(folder).rglob("*.md"))]


def picture(data: bytes, kind: str) -> str:
    """An address that holds the picture itself.

    Args:
        kind: the media type, as ``image/png``.
    """
    return f"data:{kind};base64,{base64.b64encode(data).decode()}"


def _in_order(files: Iterator[Path]) -> list[Path]:
    def counted(file: Path) -> list[tuple[bool, int, str]]:
        return [(part.isdigit(), int(part) if part.isdigit() else 0, part) for part in re.split(r"(\d+)", str(file))]

    return sorted(files, key=counted)


def _document(file: Path, root: Path) -> Document:
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
            for own in token.children:
                _put_inside(own, file.parent, root)
    return Document(title, str(file), Markup(parser.renderer.render(tokens, parser.options, {})))


def _without_files(tokens: list[Token]) -> Iterator[Token]:
    """Links to files, which the page does not carry, become plain text; those to elsewhere stay."""
    leads_away = True
    for token in tokens:
        if token.type == "link_open":
            leads_away = "://" in str(token.attrs["href"])
        if leads_away or token.type not in ("link_open", "link_close"):
            yield token


def _put_inside(token: Token, folder: Path, root: Path) -> None:
    """Give a picture its bytes; one that is not there, or lies outside the folder, becomes a line that says so."""
    if token.type != "image":
        return
    name = str(token.attrs["src"])
    file = (folder / name).resolve()
    if file.is_relative_to(root.resolve()) and file.suffix in _PICTURES and file.is_file():
        token.attrs["src"] = picture(file.read_bytes(), _PICTURES[file.suffix])
        return
    token.type, token.children, token.content = "text", None, f"[no picture {name}]"
