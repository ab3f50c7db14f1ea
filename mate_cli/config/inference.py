"""The configuration of `mate evaluate`, `mate predict` and `mate ask`."""

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
from mate_cli.config.task import EXPANSIONS, LEAST_TOKENS, SPLITS
from mate_cli.system.distribution import RELEASED

SELECTORS = ("oracle", "tfidf_cell", "tfidf_sentence")
ANSWERS = (".jsonl", ".csv", ".tsv")
"""What the name of a file of answers ends in; without an ending it is JSON lines."""

ANSWERS_FILE = "answers.jsonl"
"""Where the answers to a file of questions go unless ``to`` names another file."""


# What is scored, and what answers: the keys of one line belong together, those of two exclude each other.
EVALUATED = (("run",), ("selector", "reader"), ("predictions", "reference"))


PREDICTING = (("run",), ("selector", "reader"))
ASKED = (("table",), ("tables",))
ASKING = (("question",), ("questions",), ("statement",))

MOST_TOKENS = 16_384
"""Most tokens of a user's table that are read where ``max_tokens`` is null: about 1,000 rows of six columns."""

ROWS = ("chosen", "all")
"""Which rows of a large table are read."""


@dataclass
class EvaluateConfig:
    """Score a trained run, a selector with a reader, or a file of answers, with the official metric."""

    run: str | None = key(None, "run folder, scored by itself", text=True, reads="run")
    selector: str | None = key(
        None, f"stage 1: run folder of a cell selector, or one of {', '.join(SELECTORS)}", text=True, reads="run"
    )
    reader: str | None = key(None, "stage 2: run folder of a reader", text=True, reads="run")
    predictions: str | None = key(
        None, "file of answers in the format of HybridQA, SQA or WTQ", text=True, reads="file"
    )
    reference: str | None = key(
        None,
        "what to score predictions against: HybridQA's reference file, the file of SQA's or WTQ's questions",
        text=True,
        reads="file",
    )
    hardware: HardwareConfig = field(default_factory=HardwareConfig)
    paths: PathsConfig = field(default_factory=PathsConfig)
    split: str = key("dev", "which part of the data", choices=SPLITS)
    data_dir: str | None = key(None, "folder of the unpacked data; null: as in training", text=True, reads="folder")
    max_tokens: int | None = key(
        None, "run: tokens of an input, longer cells are cut; null: as in training", low=LEAST_TOKENS
    )
    expansion: str | None = key(
        None, "run: what cells get of their linked passages; null: as in training", choices=EXPANSIONS
    )
    blank_question: bool = key(False, "run: leave the questions empty, to see what the tables alone tell")
    seen: list[str] | None = key(
        None,
        "run: folders of other benchmarks that it learned from; questions on copies of their training tables are left "
        "out",
        reads="folder",
    )
    calibrate: float | None = key(
        None,
        "run: fit its probabilities on dev, or on what it held out of train, and a threshold over which this share of "
        "answers is right; writes calibration.json",
        above=0,
        high=1,
    )
    unanswerable: bool = key(
        False,
        "run: take the answers' rows out of the tables: the share of questions without an answer at the threshold",
    )
    top: int = key(1, "selector: how many of its cells the reader reads; the answer has the best joint score", low=1)
    weight: float | None = key(
        None,
        "selector, top above 1: weight in p(cell) p(span)^weight; null: as fitted on split=train",
        low=0,
    )
    limit: int | None = key(None, "selector: this many questions, drawn at random; null: all", low=1)
    to: str | None = key(
        None,
        "selector: folder for answers and scores; null: <paths.runs>/pointr/<selector>+<reader>",
        text=True,
        writes="folder",
    )

    def missing(self) -> list[str]:
        """A line where nothing is named to score."""
        return none_given(self, EVALUATED)

    def problems(self) -> list[str]:
        """One thing is scored, with the keys that belong to it."""
        problems = several_given(self, EVALUATED)
        has_weight = self.weight is not None
        of_selector = {"top": self.top > 1, "weight": has_weight, "limit": self.limit, "to": self.to}
        of_run: dict[str, Any] = {
            "blank_question": self.blank_question,
            "max_tokens": self.max_tokens,
            "expansion": self.expansion,
        }
        of_run |= {"seen": self.seen, "calibrate": self.calibrate, "unanswerable": self.unanswerable}
        purposes = [name for name in ("calibrate", "unanswerable", "blank_question") if of_run[name]]
        if self.selector is None:
            problems += [f"{name} belongs to selector and reader" for name, given in of_selector.items() if given]
        if self.run is None:
            problems += [f"{name} belongs to run" for name, given in of_run.items() if given]
        if len(purposes) > 1:
            problems.append(f"{' and '.join(purposes)} given: ask for one at a time")
        if self.calibrate is not None and self.split == "test":
            problems.append("calibrate: split=test is for scores; take split=dev or split=train")
        if self.selector in SELECTORS and (self.top > 1 or has_weight):
            problems.append(
                f"top and weight need a trained selector's probabilities; selector={self.selector} has none"
            )
        return problems


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
    text = (
        "of a table beyond the tokens of the training: those that the question names or the model finds in its parts; "
    )
    return key(ROWS[0], f"{of}{text}or all rows, together", choices=ROWS)


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
        alone += ["rows belongs to run"] if self.selector is not None and self.rows != ROWS[0] else []
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
        return _csv_problems(self) + ways + alone + before + single + self._blank()

    def _to_problems(self) -> list[str]:
        """A line if the answers cannot be written in the format that the name of their file ends in."""
        if self.to is None or Path(self.to).suffix.lower() in ("", *ANSWERS):
            return []
        return [f"to={self.to}: answers are written to a file in {', '.join(ANSWERS)}; name one"]

    def _blank(self) -> list[str]:
        """A line for each key that asks for nothing; ``text`` refuses values without any character."""
        asked = {"question": self.question, "statement": self.statement}
        names = [name for name, text in asked.items() if text and not text.strip()]
        names += ["before"] if not all(text.strip() for text in self.before or ()) else []
        return [f"{name} has only blanks: write what is asked" for name in names]


@dataclass
class AskConfig:
    """Ask questions on a table of your own, one after the other."""

    run: str | None = key(
        None, "run folder, as for mate predict; null: the released model, if installed", text=True, reads="run"
    )
    table: str = key(MISSING, "file with the table, as for mate predict", text=True, reads="table")
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
        """A CSV file can be read so."""
        return _csv_problems(self)
