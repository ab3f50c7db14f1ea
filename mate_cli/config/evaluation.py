"""The configuration of `mate evaluate`."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from mate_cli.config.hardware import HardwareConfig
from mate_cli.config.inference import ALL_ROWS, ROWS
from mate_cli.config.paths import PathsConfig
from mate_cli.config.rules import key, none_given, several_given
from mate_cli.config.task import EXPANSIONS, LEAST_TOKENS, MADE_FORMATS, SPLITS

SELECTORS = ("oracle", "tfidf_cell", "tfidf_sentence")

# What is scored: the keys of one line belong together, those of two exclude each other.
EVALUATED = (("run",), ("selector", "reader"), ("predictions", "reference"))


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
    format: str | None = key(
        None,
        "run: ask examples made from the tables of data_dir, in a format that task.mixed adds to its training; null: "
        "those of its data",
        choices=MADE_FORMATS,
    )
    max_tokens: int | None = key(
        None, "run: tokens of an input, longer cells are cut; null: as in training", low=LEAST_TOKENS
    )
    expansion: str | None = key(
        None, "run: what cells get of their linked passages; null: as in training", choices=EXPANSIONS
    )
    rows: str = key(
        ALL_ROWS,
        "run: of a table beyond the tokens of the training: all rows; or, as in mate predict, those that the question "
        "names or the model finds in its parts",
        choices=ROWS,
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
            "format": self.format,
            "blank_question": self.blank_question,
            "max_tokens": self.max_tokens,
            "expansion": self.expansion,
            "rows": self.rows != ALL_ROWS,
        }
        of_run |= {"seen": self.seen, "calibrate": self.calibrate, "unanswerable": self.unanswerable}
        purposes = [name for name in ("calibrate", "unanswerable", "blank_question") if of_run[name]]
        if self.selector is None:
            problems += [f"{name} belongs to selector and reader" for name, given in of_selector.items() if given]
        if self.run is None:
            problems += [f"{name} belongs to run" for name, given in of_run.items() if given]
        if len(purposes) > 1:
            problems.append(f"{' and '.join(purposes)} given: ask for one at a time")
        if self.rows != ALL_ROWS:
            also = {"max_tokens": self.max_tokens, "calibrate": self.calibrate, "unanswerable": self.unanswerable}
            problems += [f"{name} reads all rows; leave out rows={self.rows}" for name, given in also.items() if given]
        if self.calibrate is not None and self.split == "test":
            problems.append("calibrate: split=test is for scores; take split=dev or split=train")
        if self.selector in SELECTORS and (self.top > 1 or has_weight):
            problems.append(
                f"top and weight need a trained selector's probabilities; selector={self.selector} has none"
            )
        return problems
