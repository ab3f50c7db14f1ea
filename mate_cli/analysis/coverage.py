"""Share of the pairs in rows and columns that the paper's bucketed attention computes, by G and R (paper section 3.1).

Documents are grouped by length, up to each power of two.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import product
from typing import Any, NamedTuple

from mate_cli.attention import Buckets, Kind, Layout
from mate_cli.attention.coverage import bucket_coverage
from mate_cli.attention.generated import table_layout
from mate_cli.attention.plan import sort_by_line
from mate_cli.config.bench import SHAPES

LENGTHS = (512, 1024, 2048, 4096, 8192, 16384)
KINDS: tuple[Kind, ...] = ("row", "column")


class Document(NamedTuple):
    """A table; ``case`` is the shape or data set that it is an example of."""

    case: str
    layout: Layout


class Group(NamedTuple):
    """Documents counted together: ``tokens`` is the power of two that none of them exceeds."""

    case: str
    tokens: int
    kind: str
    buckets: Buckets


@dataclass
class Count:
    """Counts of a group.

    Attributes:
        pairs, seen: ordered pairs of two table tokens of one row (or column), and those computed.
        documents, exact: documents, and those whose result equals that of the dense mask.
    """

    pairs: int = 0
    seen: int = 0
    documents: int = 0
    exact: int = 0

    @property
    def share(self) -> float:
        return self.seen / self.pairs if self.pairs else 1.0


Counts = dict[Group, Count]


def generated_documents() -> Iterator[Document]:
    """Yield a table of each shape and length."""
    for shape, tokens in product(SHAPES, LENGTHS):
        yield Document(shape, table_layout(shape, tokens))


def encoded_documents(case: str, rows: Iterable[Any]) -> Iterator[Document]:
    """Yield the examples of an encoded split, given as the rows of ``row_of``."""
    for row in rows:
        arrays = (row[name].astype(int) for name in ("row", "column", "segment"))
        yield Document(case, Layout(row["row"].astype(int) * 0, *arrays))


def count_coverage(documents: Iterable[Document], settings: Sequence[Buckets]) -> Counts:
    """Count each document in every setting, in time linear in its tokens."""
    counts: Counts = {}
    for case, layout in documents:
        tokens = 1 << (len(layout.document) - 1).bit_length()
        for kind in KINDS:
            order = sort_by_line(kind, layout)
            for buckets in settings:
                coverage = bucket_coverage(order, *buckets)
                count = counts.setdefault(Group(case, tokens, kind, buckets), Count())
                count.pairs += coverage.pairs
                count.seen += coverage.seen
                count.documents += 1
                count.exact += coverage.exact
    return dict(sorted(counts.items(), key=lambda item: _place(item[0])))


def coverage_record(counts: Counts) -> list[dict[str, Any]]:
    """Return the counts as plain data, one entry per group."""
    return [
        {
            "case": group.case,
            "tokens": group.tokens,
            "heads": group.kind,
            **group.buckets._asdict(),
            **asdict(count),
            "share": round(count.share, 6),
        }
        for group, count in counts.items()
    ]


def _place(group: Group) -> tuple[Any, ...]:
    case = SHAPES.index(group.case) if group.case in SHAPES else len(SHAPES)
    return case, group.case, group.tokens, KINDS.index(group.kind), group.buckets
