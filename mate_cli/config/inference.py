"""The configuration of `mate predict` and `mate ask`."""

from __future__ import annotations

from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from omegaconf import MISSING

from mate_cli.config.hardware import HardwareConfig
from mate_cli.config.paths import PathsConfig
from mate_cli.config.rules import key, none_given, several_given
from mate_cli.config.runs import OUTPUTS
from mate_cli.config.task import LEAST_TOKENS
from mate_cli.system.distribution import RELEASED

ANSWERS = (".jsonl", ".csv", ".tsv")
"""What the name of a file of answers ends in; without an ending it is JSON lines."""

ANSWERS_FILE = "answers.jsonl"
"""Where the answers to a file of questions go unless ``to`` names another file."""


# What answers, and what is asked: the keys of one line belong together, those of two exclude each other.
PREDICTING = (("run",), ("selector", "reader"))
ASKED = (("table",), ("tables",))
ASKING = (("question",), ("questions",), ("statement",))

MOST_TOKENS = 16_384
"""Most tokens of a user's table that are read where ``max_tokens`` is null: about 1,000 rows of six columns."""

ROWS = CHOSEN_ROWS, ALL_ROWS = "chosen", "all"
"""Which rows of a large table are read."""


def _encoding() -> Any:
    return key(None, "CSV: encoding of the file, such as cp1252 or utf-16; null: found")


def _separator() -> Any:
    return key(None, "CSV: what separates fields, one character or tab; null: found", text=True)


def _header_row() -> Any:
    return key(None, "CSV: row of the header, from 1, blank rows included; 0: there is none; null: found", low=0)


def _max_tokens(of: str = "") -> Any:
    text = f"{of}tokens of an input, longer cells are cut; null: as many as its table needs, up to {MOST_TOKENS:,}"
    return key(None, text, low=LEAST_TOKENS)


def _rows(of: str = "") -> Any:
    text = "of a table beyond the tokens of the training: those that are named or that the model finds in its parts; "
    return key(CHOSEN_ROWS, f"{of}{text}or all rows, together", choices=ROWS)


def _csv_problems(config: PredictConfig | AskConfig) -> list[str]:
    """The encoding must be one that Python knows, the separator one character."""
    problems = []
    try:
        "a".encode(config.encoding or "utf-8")
    except (LookupError, UnicodeError):
        problems.append(f"encoding={config.encoding}: no such encoding; write one such as cp1252, utf-16 or gb18030")
    if config.separator not in (None, "tab") and (len(config.separator) != 1 or config.separator in '"\r\n'):
        problems.append(f"separator={config.separator}: must be one character, no quote, or tab")
    return problems


def _blank(**asked: str | list[str] | None) -> list[str]:
    """A line for each key that asks for nothing; ``text`` refuses values without any character."""
    texts = {name: [value] if isinstance(value, str) else value for name, value in asked.items() if value}
    return [
        f"{name} has only blanks: write what is asked"
        for name, values in texts.items()
        if not all(value.strip() for value in values)
    ]


@dataclass
class PredictConfig:
    """Answer a question on a table of your own, or on the table of a folder that it is about."""

    run: str | None = key(
        None,
        "run folder: the answer is a cell, cells and an operator, or a label; null: the released model, if installed",
        text=True,
        reads="run",
    )
    selector: str | None = key(None, "stage 1: run folder of a cell selector", text=True, reads="run")
    reader: str | None = key(
        None, "stage 2: run folder of a reader: the answer is a span of a cell", text=True, reads="run"
    )
    table: str | None = key(
        None,
        "CSV or TSV file, the header first; or HTML, JSON, Parquet, Excel, OpenDocument, SQLite, DuckDB: "
        "FILE#SHEET, FILE#TABLE, FILE#QUERY",
        text=True,
        reads="table",
    )
    tables: str | None = key(
        None,
        "folder of tables, with those below it: the question is asked of the one nearest to it by words (BM25), and by "
        "meaning where MiniLM is installed",
        text=True,
        reads="folder",
    )
    encoding: str | None = _encoding()
    separator: str | None = _separator()
    header_row: int | None = _header_row()
    passages: str | None = key(
        None,
        "JSON file {key: passage}; a cell links by [[key]] or [[key|words shown]] in the table",
        text=True,
        reads="file",
    )
    question: str | None = key(None, "the question, as it is", text=True)
    statement: str | None = key(
        None,
        "instead of a question: a statement that the table may entail or refute; run: of task=tabfact",
        text=True,
    )
    questions: str | None = key(
        None,
        "run: file of questions, one a line (.txt), or in the column or key question (.csv, .tsv, .jsonl)",
        text=True,
        reads="file",
    )
    to: str | None = key(
        None,
        "questions: file for the answers, a table (.csv, .tsv) or one JSON record a line (.jsonl); goes on with it; "
        f"null: {ANSWERS_FILE}",
        text=True,
        writes="file",
    )
    max_tokens: int | None = _max_tokens("run, selector: ")
    rows: str = _rows("run: ")
    before: list[str] | None = key(
        None, "the questions before it in the conversation, first to last; run: of task=sqa or queries"
    )
    hardware: HardwareConfig = field(default_factory=HardwareConfig)
    paths: PathsConfig = field(default_factory=PathsConfig)
    top: int = key(5, "how many cells to show, and to read where there is a reader", low=1)
    weight: float = key(1.0, "weight of the reader in p(cell) p(span)^weight", low=0)
    threshold: float | None = key(
        None, "give no answer below this probability, only the best guess; null: always answer", low=0, high=1
    )
    output: str = key("rich", "a marked table, or JSON", choices=OUTPUTS)

    def missing(self) -> list[str]:
        """A line where no table, no question or no run is named, and no released model is installed."""
        lines = none_given(self, ASKED) + none_given(self, ASKING)
        return lines + ([] if find_spec(RELEASED) else none_given(self, PREDICTING))

    def problems(self) -> list[str]:
        """One run, or one of each stage."""
        alone = ["weight belongs to selector and reader"] if self.selector is None and self.weight != 1 else []
        alone += ["rows belongs to run"] if self.selector is not None and self.rows != CHOSEN_ROWS else []
        before = ["before belongs to run"] if self.selector is not None and self.before else []
        many = "questions" if self.questions else None
        single = [f"{many} are asked of a run: leave out selector and reader"] if many and self.selector else []
        single += [f"{many} follow up on nothing: leave out before"] if many and self.before else []
        single += ["to belongs to questions"] if self.to is not None and not many else self._to_problems()
        if many and self.output != "rich":
            single.append(f"output=json is for one question; {many} are answered into the file to")
        if self.statement and (self.selector or self.before):
            single.append("a statement is judged by itself, by one run: leave out selector, reader and before")
        ways = [line for way in (PREDICTING, ASKED, ASKING) for line in several_given(self, way)]
        blank = _blank(question=self.question, statement=self.statement, before=self.before)
        return _csv_problems(self) + ways + alone + before + single + blank

    def _to_problems(self) -> list[str]:
        """A line if the answers cannot be written in the format that the name of their file ends in."""
        if self.to is None or Path(self.to).suffix.lower() in ("", *ANSWERS):
            return []
        return [f"to={self.to}: answers are written to a file in {', '.join(ANSWERS)}; name one"]


@dataclass
class AskConfig:
    """Ask questions on a table of your own, one after the other, or only one."""

    run: str | None = key(
        None, "run folder, as for mate predict; null: the released model, if installed", text=True, reads="run"
    )
    table: str = key(MISSING, "file with the table, as for mate predict", text=True, reads="table")
    question: str | None = key(
        None, "the only question, or a statement after !; null: those of the terminal, one a line", text=True
    )
    encoding: str | None = _encoding()
    separator: str | None = _separator()
    header_row: int | None = _header_row()
    max_tokens: int | None = _max_tokens()
    rows: str = _rows()
    hardware: HardwareConfig = field(default_factory=HardwareConfig)
    paths: PathsConfig = field(default_factory=PathsConfig)
    top: int = key(5, "how many cells to name where the answer is one of them", low=1)
    threshold: float | None = key(
        None, "give no answer below this probability, only the best guess; null: always answer", low=0, high=1
    )

    def missing(self) -> list[str]:
        """A line where no run is named and no released model installed."""
        return [] if find_spec(RELEASED) else none_given(self, (("run",),))

    def problems(self) -> list[str]:
        """A CSV file can be read so, and a question asks for something."""
        return _csv_problems(self) + _blank(question=self.question)
