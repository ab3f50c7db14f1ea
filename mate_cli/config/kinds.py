"""The kinds of task, and what the command line must know about each before PyTorch is imported.

Everything else about a kind is in its module of ``mate_cli.kinds``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Role = Literal["selector", "reader"]
"""The stages of PointR."""


@dataclass(frozen=True)
class Traits:
    """
    Attributes:
        asked: what ``mate predict`` asks the model; None: it answers nothing by itself.
        converses: whether a question may follow up on the one before it.
        role: the stage of PointR that a run can be; its examples have candidate cells.
        learns_from_corpus: whether it learns from tables alone, without questions (``task.format=corpus``).
    """

    asked: Literal["question", "statement"] | None = None
    converses: bool = False
    role: Role | None = None
    learns_from_corpus: bool = False


KINDS = {
    "cell_selection": Traits(asked="question", role="selector"),
    "span_reading": Traits(role="reader"),
    "table_qa": Traits(asked="question", converses=True),
    "entailment": Traits(asked="statement"),
    "masked_language": Traits(learns_from_corpus=True),
}
