"""The statistics of the splits of a data set, and of all of them together, as plain data (paper tables 2 and 3)."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict, dataclass, field
from typing import Any

from mate_cli.tables.split import Split
from mate_cli.tables.split_statistics import SplitStatistics, statistics


@dataclass
class SplitCounts:
    """Takes in one split after the other, and keeps of each its statistics and the names of its tables."""

    splits: dict[str, SplitStatistics] = field(default_factory=dict)
    _tables: set[str] = field(default_factory=set)

    def add(self, name: str, split: Split) -> SplitStatistics:
        self.splits[name] = statistics(split)
        self._tables |= {example.table.id for example in split.examples}
        return self.splits[name]

    def plain(self) -> dict[str, Any]:
        """Split -> its statistics; under ``total`` the sums, where a table of several splits counts once, and subsets
        are left out if the answers of a split are hidden."""
        own = self.splits.values()
        total: dict[str, Any] = {"questions": sum(s.questions for s in own), "tables": len(self._tables)}
        if all(s.subsets for s in own):
            total["subsets"] = dict(sum((Counter(s.subsets) for s in own), Counter()))
        return {**{name: asdict(s) for name, s in self.splits.items()}, "total": total}
