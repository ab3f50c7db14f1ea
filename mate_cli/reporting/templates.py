"""Rendering of the Jinja templates beside this file."""

from __future__ import annotations

from pathlib import Path
from typing import Any


def render(template: str, **values: Any) -> str:
    """Fill in a template; in HTML every value is escaped.

    Raises:
        jinja2.UndefinedError: ``values`` lacks a name that the template uses.
    """
    from jinja2 import Environment, FileSystemLoader, StrictUndefined, select_autoescape

    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent),
        autoescape=select_autoescape(),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template(template).render(**values)
