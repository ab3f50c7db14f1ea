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
        role: the stage of PointR that a run can be.
        tapas_class: the class of ``transformers`` that computes the model with full attention, or its encoder.
        published_tasks: options of ``task`` whose data a published model of that class is asked (``runs.published``):
            one without operators on cells, and one with them; a single one for a class without operators; or none.
        made_formats: values of ``task.format`` whose examples are made from tables and can be mixed into its training.
        learns_from_corpus: whether it learns from tables alone, without questions (``task.format=corpus``).
        uses: of the keys that some kinds use and others do not, those that this kind uses; ``schedule`` is the schedule
            in use. Two runs that differ in other such keys are the same run (``mate_cli.runs.identity``). None: all.
    """

    asked: Literal["question", "statement"] | None = None
    converses: bool = False
    role: Role | None = None
    tapas_class: str = "TapasModel"
    published_tasks: tuple[str, ...] = ()
    made_formats: tuple[str, ...] = ()
    learns_from_corpus: bool = False
    uses: tuple[str, ...] | None = None


_QUESTIONS = ("task.input", "task.expansion", "task.sentences", "schedule.held_out")

KINDS = {
    "cell_selection": Traits(asked="question", role="selector", uses=(*_QUESTIONS, "task.objective", "task.ambiguous")),
    # It reads whole passages. Like a selector, it has no label and no operator to read from the pooled state.
    "span_reading": Traits(role="reader", uses=("task.input", "task.ambiguous", "task.span", "schedule.held_out")),
    "table_qa": Traits(
        asked="question",
        converses=True,
        tapas_class="TapasForQuestionAnswering",
        published_tasks=("sqa", "wtq"),
        made_formats=("queries",),
        uses=(*_QUESTIONS, "task.qa", "task.mixed", "schedule.temperature", "schedule.contrast", "backbone.pooling"),
    ),
    "entailment": Traits(
        asked="statement",
        tapas_class="TapasForSequenceClassification",
        published_tasks=("tabfact",),
        made_formats=("cs", "counterfactual", "synthetic", "synthetic_opposite", "everyday"),
        uses=(*_QUESTIONS, "task.mixed", "schedule.mentions", "backbone.pooling"),
    ),
    "masked_language": Traits(
        learns_from_corpus=True,
        tapas_class="TapasForMaskedLM",
        published_tasks=("mlm",),
        uses=("task.masking", "backbone.pooling"),
    ),
}
