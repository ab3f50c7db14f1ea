"""Size and shape of a split (paper tables 2 and 3, section 4)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from mate_cli.tables.split import Split
from mate_cli.tables.table import Table


@dataclass(frozen=True, slots=True)
class SplitStatistics:
    """Counts over a split. Means are over questions, as in the paper: a table counts once per question.

    Attributes:
        questions: all questions; missing_tables: those without a table, which count nowhere else.
        subsets: by the official answer nodes (empty for a blind split); groups: by the official groups of tables.
        reasonings: by kind of reasoning, if the data names it.
        conversations: distinct conversations; statements: questions that are true or false; entailed: the true ones.
        tables: distinct tables; linked_passages: their distinct passages.
        mean_rows, mean_columns, mean_cells: of the body of a question's table.
        mean_links: distinct passages that a question's table links to.
        mean_passage_words: words per passage, over ``linked_passages``.
        answered: questions with an answer field; with_candidate: those with a candidate cell; ambiguous: those with
            more than one; with_value: those whose answer is a number.
        unsupervised: why an answered question has no targets -> number of questions.
    """

    questions: int
    missing_tables: int
    subsets: dict[str, int]
    groups: dict[str, int]
    reasonings: dict[str, int]
    conversations: int
    statements: int
    entailed: int
    tables: int
    linked_passages: int
    mean_rows: float
    mean_columns: float
    mean_cells: float
    mean_links: float
    mean_passage_words: float
    answered: int
    with_candidate: int
    ambiguous: int
    with_value: int
    unsupervised: dict[str, int]

    @property
    def ambiguity(self) -> float:
        """Share of the answered questions with more than one candidate (paper section 4: about half)."""
        return self.ambiguous / self.answered if self.answered else 0.0


def statistics(split: Split) -> SplitStatistics:
    """Compute the statistics of a split; all zero for an empty one."""
    examples = split.examples
    tables = {id(example.table): example for example in examples}
    links = {key: _links(example.table) for key, example in tables.items()}
    passages = {text for example in tables.values() for text in example.passages.items()}
    answered = [example for example in examples if example.answers is not None]
    return SplitStatistics(
        questions=split.questions,
        missing_tables=split.missing_tables,
        subsets=_count(example.subset for example in examples),
        groups=_count(group for example in examples for group in example.groups),
        reasonings=_count(example.reasoning for example in examples),
        conversations=len({example.conversation for example in examples if example.conversation}),
        statements=sum(example.label is not None for example in examples),
        entailed=sum(example.label == 1 for example in examples),
        tables=len(tables),
        linked_passages=len(passages),
        mean_rows=_mean([example.table.num_rows for example in examples]),
        mean_columns=_mean([example.table.num_columns for example in examples]),
        mean_cells=_mean([example.table.num_rows * example.table.num_columns for example in examples]),
        mean_links=_mean([len(links[id(example.table)]) for example in examples]),
        mean_passage_words=_mean([len(text.split()) for _, text in passages]),
        answered=len(answered),
        with_candidate=sum(bool(example.candidates) for example in answered),
        ambiguous=sum(len(example.candidates) > 1 for example in answered),
        with_value=sum(example.value is not None for example in answered),
        unsupervised=_count(split.unsupervised.values()),
    )


def _links(table: Table) -> set[str]:
    return {link for row in (table.header, *table.rows) for cell in row for link in cell.links}


def _count(names: Iterable[str]) -> dict[str, int]:
    return dict(sorted(Counter(name for name in names if name).items()))


def _mean(values: Sequence[int]) -> float:
    return sum(values) / len(values) if values else 0.0
