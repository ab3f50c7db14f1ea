"""`mate analyze analysis=breakdown`: every question in one group of each kind, with the score of these alone."""

from __future__ import annotations

import gzip
import json
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mate_cli.analysis.breakdown import _ASKED, _binned, break_down
from mate_cli.analysis.outcomes import open_outcomes
from mate_cli.cli.main import main
from mate_cli.config.paths import PathsConfig
from mate_cli.system.errors import UserError
from mate_cli.tables.table import Example
from tests.analysis.conftest import Trained
from tests.analysis.test_table_outcomes import gold, opened, other, run  # noqa: F401 -- a fixture


@pytest.mark.parametrize("task", ["sqa", "wtq", "tabfact"])
def test_groups_of_a_kind_part_the_questions(task: str, run: Any) -> None:  # noqa: F811
    outcomes = opened(run(task, "half", lambda example: (gold, other)[example.question.count("a") % 2](example)))
    result = break_down(outcomes)
    values = outcomes.measures()[result.measure]
    everything, *groups = result.groups
    assert (everything.questions, everything.accuracy.mean) == (len(values), pytest.approx(values.mean()))
    parts = defaultdict(list)
    for group in groups:
        parts[group.by].append(group)
    assert "answer" in parts
    for by, own in parts.items():
        if by != "words in the question":  # of which a question may have several
            assert len(own) > 1
            assert sum(group.questions for group in own) <= len(values)
        if by not in ("operator chosen", "official class", "question of the conversation", "words in the question"):
            total = sum(group.questions * group.accuracy.mean for group in own)
            assert total == pytest.approx(values.sum())


def test_each_group_has_its_own_questions(run: Any) -> None:  # noqa: F811
    """Only first questions of a conversation are right: the others have 0, and the interval of that."""
    outcomes = opened(run("sqa", "first", lambda example: gold(example) if example.position == 0 else None))
    turns = {g.name: g for g in break_down(outcomes).groups if g.by == "question of the conversation"}
    assert [turns[name].accuracy.mean for name in turns] == [1.0, *[0.0] * (len(turns) - 1)]
    assert list(turns) == sorted(turns)
    number = sum(example.position == 0 for example in outcomes.examples)
    assert turns["1"].questions == number
    assert 0 < turns["1"].accuracy.low < 1


@pytest.mark.parametrize(
    ("question", "names"),
    [
        ("Who was next?", ["before, after"]),
        ("Was Ann before Bo or after?", ["before, after", "or", "is, was, did"]),
        ("how many more did she win", ["how many", "difference"]),
        ("Which is the tallest above 3 m?", ["before, after", "first, last"]),
        ("Where is the forest?", []),
    ],
)
def test_words_that_ask(question: str, names: list[str]) -> None:
    assert [words for words, pattern in _ASKED.items() if pattern.search(question)] == [
        words for words in _ASKED if words.startswith(tuple(names))
    ]


@pytest.mark.parametrize(
    ("rows", "name"), [(1, "1 to 5"), (5, "1 to 5"), (6, "6 to 10"), (50, "21 to 50"), (51, "over 50"), (0, "0 to 5")]
)
def test_bins_include_their_ends(rows: int, name: str) -> None:
    assert _binned(rows, (5, 10, 20, 50))[1] == name


def test_a_selector_and_a_pipeline(
    trained: Trained, pipeline: Callable[..., Path], tmp_path: Path, capsys: Any
) -> None:
    def answer(number: int, example: Example) -> tuple[Any, str]:
        return (example.candidates[0] if example.candidates else None), (example.answers or ("",))[0]

    for folder in (trained.run, pipeline("all-right", answer)):
        to = tmp_path / folder.name
        assert main(["analyze", "analysis=breakdown", f"run={folder}", "split=test", f"to={to}"]) == 0
        assert "kind of question" in capsys.readouterr().out
        record = json.loads((to / "breakdown.json").read_text())
        reasoning = {group["name"] for group in record["groups"] if group["by"] == "kind of question"}
        assert reasoning == {example.reasoning for example in trained.examples}
        assert f"| all |  | {len(trained.examples)} |" in (to / "breakdown.md").read_text()
    assert record["measure"] == "EM"
    assert np.mean([group["accuracy"]["mean"] for group in record["groups"]]) == 1.0


def test_packed_predictions_are_read(run: Any) -> None:  # noqa: F811
    folder = Path(run("tabfact", "run", gold))
    plain = folder / "predictions-dev.jsonl"
    whole = break_down(opened(str(folder)))
    packed = gzip.compress(plain.read_bytes())
    (folder / "predictions-dev.jsonl.gz").write_bytes(packed)
    plain.unlink()
    assert break_down(opened(str(folder))) == whole
    for broken in (packed[:-12], b"no gzip", packed[:20] + bytes(20) + packed[40:]):
        (folder / "predictions-dev.jsonl.gz").write_bytes(broken)
        with pytest.raises(UserError, match=r"cannot read .*predictions-dev\.jsonl\.gz .*create it again with mate"):
            open_outcomes(str(folder), "dev", None, PathsConfig())
