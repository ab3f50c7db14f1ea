"""Write the reference of the command line for the site: a page for each command, from the schema of its keys."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from mate_cli.cli import help
from mate_cli.config.catalogue import default_options, options
from mate_cli.config.commands import ROOTS
from mate_cli.config.schema import keys


def write(folder: Path) -> None:
    """A Markdown file ``COMMAND.md`` for each command in the folder, which is made."""
    folder.mkdir(exist_ok=True)
    for command in help.COMMANDS:
        (folder / f"{command}.md").write_text("\n".join(page(command)) + "\n", encoding="utf-8")


def page(command: str) -> Iterator[str]:
    """The lines of the page of a command: usage, examples, groups, keys."""
    yield from (f"# mate {command}", "", help.one_line(command), "", "```text")
    yield from (f"mate {command}{help.ARGUMENTS.get(command, ' [KEY=VALUE ...]')}", "```", "", "## Examples", "")
    for line, meaning in help.EXAMPLES[command]:
        yield from (f"{meaning[0].upper()}{meaning[1:]}:", "", "```text", line, "```", "")
    if command in ROOTS:
        yield from groups(command)
        yield from ("## Keys", "", "| key | meaning | value | default |", "|---|---|---|---|")
        for key in keys(ROOTS[command]):
            if not key.name.endswith(".name"):  # set by the option itself
                default = "" if key.required else f"`{help.as_typed(key.default)}`"
                yield f"| `{key.name}` | {cell(key.meaning['doc'])} | {cell(key.words)} | {default} |"


def groups(command: str) -> Iterator[str]:
    """A table for each group of options: its names and what they are, the default in bold."""
    for group, default in default_options(command).items():
        yield from (f"## `{group}=`", "", "| name | what it is |", "|---|---|")
        for option in options(group):
            name = f"`{option.name}`"
            yield f"| {f'**{name}**' if option.name == default else name} | {cell(option.line)} |"
        yield ""


def cell(text: str) -> str:
    """Plain text in a cell of a table."""
    return text.replace("\\", "\\\\").replace("|", "\\|").replace("*", "\\*").replace("<", "\\<").replace("_", "\\_")
