"""Ask questions on a table of your own, one after the other, by a model that stays in memory; or only one."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from typing import TYPE_CHECKING

from rich.console import Console

from mate_cli.config.inference import AskConfig
from mate_cli.inference.stages import open_asked
from mate_cli.system.distribution import STATEMENTS, released_model
from mate_cli.system.errors import Mistakes, Preempted, UserError
from mate_cli.system.importing import without_collection
from mate_cli.tables.table import Table
from mate_cli.tables.user_csv import CsvFormat
from mate_cli.tables.user_table import open_table

if TYPE_CHECKING:
    from mate_cli.inference.session import Session
    from mate_cli.inference.stages import Stage

_PROMPT = "? "
_FOLLOWS_UP = "+"
_STATES = "!"


def run(config: AskConfig) -> None:
    """Answer the question given, or each line of the standard input, until it ends or says ``:quit``."""
    table, stage = _read(config)
    console = Console(soft_wrap=True, highlight=False)
    session = _session(stage, table, config)

    @cache
    def judging() -> Session:
        if stage.config.task.traits.asked == "statement":
            return session
        if config.run is not None:
            raise UserError(f"{config.run} answers questions; leave out run= to have statements judged")
        return _session(open_asked(None, config.paths, STATEMENTS), table, config)

    if config.question is not None:
        _answer(config.question.strip(), session, judging, console)
        return
    by = released_model() if config.run is None else config.run
    console.print(f"{config.table}: {table.num_rows} rows, {table.num_columns} columns; {by} answers", markup=False)
    console.print(":help lists commands, :quit or Ctrl-D ends", markup=False)
    _converse(session, judging, console)


def _read(config: AskConfig) -> tuple[Table, Stage]:
    """Return the table and the run, before PyTorch is imported, so that mistakes are reported at once.

    What is odd about the file is said.

    Raises:
        UserError: some of them cannot be used; a line for each.
    """
    mistakes, table, remark, stage = Mistakes(), None, None, None
    with mistakes.collected():
        table, remark = open_table(config.table, CsvFormat.named(config.encoding, config.separator, config.header_row))
    with mistakes.collected():
        stage = open_asked(config.run, config.paths)
    mistakes.check()
    assert table is not None
    assert stage is not None
    if remark is not None:
        print(f"warning: {remark}", file=sys.stderr)
    return table, stage


def _session(stage: Stage, table: Table, config: AskConfig) -> Session:
    with without_collection():
        from mate_cli.inference.answerer import Answerer
        from mate_cli.inference.session import Session

    answerer = Answerer(stage.folder, stage.config, config.hardware, config.max_tokens, config.rows)
    return Session(answerer, stage.config, table, config.top, config.threshold)


def _converse(answering: Session, judging: Callable[[], Session], console: Console) -> None:
    """Answer lines, as ``_answer``. Commands are about the last answer."""
    from mate_cli.reporting.session import COMMANDS

    with suppress(ImportError):  # not on Windows; with it, the arrow keys bring back earlier questions
        import readline  # noqa: F401
    session = answering
    while (line := _line(console)) is not None:
        try:
            if line.startswith(":"):
                if line in (":quit", ":q"):
                    return
                _command(line, COMMANDS)(session, console)
            elif line:
                session = _answer(line, answering, judging, console)
        except UserError as error:
            console.print(f"error: {error}", markup=False, style="red")
        except Preempted:  # which asks the command to end, and Ctrl-C the answer
            raise
        except KeyboardInterrupt:
            console.print("stopped")


def _answer(line: str, answering: Session, judging: Callable[[], Session], console: Console) -> Session:
    """Print the answer to a line; return the session that gave it: for a statement the one that ``judging`` opens.

    Raises:
        UserError: the line asks for nothing, or statements cannot be judged.
    """
    from mate_cli.reporting.answer import answer_line
    from mate_cli.reporting.progress import reading

    text = _text(line)
    session = judging() if line.startswith(_STATES) else answering
    with reading(session.example.table) as advance:
        record = session.ask(text, line.startswith(_FOLLOWS_UP), advance)
    console.print(answer_line(record), markup=False)
    for warning in record["warnings"]:
        console.print(f"warning: {warning}", markup=False, style="yellow")
    return session


def _text(line: str) -> str:
    """Return the question or statement of a line without its sign.

    Raises:
        UserError: there is none.
    """
    text = line.removeprefix(_FOLLOWS_UP).removeprefix(_STATES).strip()
    if not text:
        what = "statement" if line.startswith(_STATES) else "question"
        raise UserError(f"there is no {what} after {line}: write it on the same line")
    return text


def _line(console: Console) -> str | None:
    """Return the next line without blanks around it; None at the end, and at Ctrl-C."""
    try:
        return input(_PROMPT if sys.stdin.isatty() else "").strip()
    except Preempted:
        raise
    except (EOFError, KeyboardInterrupt):
        console.print()
        return None


def _command(line: str, commands: dict[str, Callable[[Session, Console], None]]) -> Callable[[Session, Console], None]:
    """Return the command of a line.

    Raises:
        UserError: there is none of that name.
    """
    if line not in commands:
        raise UserError(f"{line} is no command: choose from {', '.join([*commands, ':quit'])}")
    return commands[line]
