"""Everyday statements: true and false ones of each kind in pairs, judged here by reading their words."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path
from random import Random

import pytest

from mate_cli.system.errors import UserError
from mate_cli.tables.formats import FORMATS
from mate_cli.tables.statements.everyday_kinds import KINDS
from mate_cli.tables.table import Example

HEADER = ["Station", "Line", "Passengers", "Price", "Opened"]
STATIONS = "ashgate birchmere coldham deerley elmham fernford goldbrook hareton".split()  # noqa: SIM905
LINES = ["red", "blue", "green"]
Row = dict[str, str]


def rows_of(number: int) -> list[list[str]]:
    random = Random(number)
    stations = random.sample(STATIONS, 6)
    passengers = [str(random.choice([120, 250, 300, 470, 555, 980])) for _ in stations]
    prices = map(str, random.sample(range(1001, 1999), 6))
    years = [str(random.choice([1901, 1934, 1950, 1978, 1999])) for _ in stations]
    lines = [random.choice(LINES) for _ in stations]
    return [list(row) for row in zip(stations, lines, passengers, prices, years, strict=True)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    """Questions about 400 tables, as ``mate prepare`` writes them."""
    folder: Path = tmp_path_factory.mktemp("questions")
    tables = [{"id": f"t{n}", "title": "", "header": HEADER, "rows": rows_of(n)} for n in range(400)]
    texts = {"tables.jsonl": tables, "train.jsonl": [{"table": f"t{n}"} for n in range(395)]}
    texts["dev.jsonl"] = [{"table": f"t{n}"} for n in range(395, 400)]
    for name, lines in texts.items():
        (folder / name).write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    return folder


@pytest.fixture(scope="module")
def made(folder: Path) -> tuple[Example, ...]:
    return FORMATS["everyday"].read_split(folder, "train").examples


def test_each_kind_has_as_many_true_as_false_statements(made: tuple[Example, ...], folder: Path) -> None:
    counts = Counter((example.groups[0], example.label) for example in made)
    assert {kind for kind, _ in counts} == {*KINDS}
    assert all(counts[kind, 1] == counts[kind, 0] >= 10 for kind in KINDS)
    assert len({example.id for example in made}) == len(made)
    assert made == FORMATS["everyday"].read_split(folder, "train").examples  # always the same ones
    dev = FORMATS["everyday"].read_split(folder, "dev").examples
    assert {example.table.id for example in dev} == {f"t{n}" for n in range(395, 400)}


def test_truth(made: tuple[Example, ...]) -> None:
    judged = Counter[str]()
    for example in made:
        body = [[cell.text for cell in row] for row in example.table.rows]
        verdict = judge(example.question.rstrip("."), [dict(zip(HEADER, row, strict=True)) for row in body])
        if verdict is not None:
            judged[example.groups[0]] += 1
            assert verdict == example.label, (example.question, body)
    assert {kind for kind, count in judged.items() if count > 20} == {*KINDS} - {"only", "same"}


def judge(text: str, rows: list[Row]) -> bool | None:
    """Return the truth of a statement in one of a few wordings; None for others."""
    by_name = {row["Station"]: row for row in rows}
    passengers = {name: int(row["Passengers"]) for name, row in by_name.items()}
    prices = {name: int(row["Price"]) for name, row in by_name.items()}
    name = f"({'|'.join(by_name)})"
    if found := re.fullmatch(rf"{name} (?:had|has) (more|fewer|less) passengers than {name}", text):
        one, other = passengers[found[1]], passengers[found[3]]
        return one > other if found[2] == "more" else one < other
    if found := re.fullmatch(rf"{name} (?:is|was) (more expensive|cheaper) than {name}", text):
        return (prices[found[1]] > prices[found[3]]) == (found[2] == "more expensive")
    if found := re.fullmatch(rf"{name} (?:had|has|have) (at least|at most|over|under) (\d+) passengers", text):
        one, limit = passengers[found[1]], int(found[3])
        return {"at least": one >= limit, "at most": one <= limit, "over": one > limit, "under": one < limit}[found[2]]
    if found := re.fullmatch(rf"{name} (?:is|was) the (most expensive|cheapest)", text):
        return prices[found[1]] == (max if found[2] == "most expensive" else min)(prices.values())
    if found := re.fullmatch(r"the (highest|lowest|largest|smallest) price (?:is|was) (\d+)", text):
        return int(found[2]) == (max if found[1] in ("highest", "largest") else min)(prices.values())
    if found := re.fullmatch(
        rf"(?:there are )?(\d+) stations? (?:on|were|are|with|that are|had) .*?\b({'|'.join(LINES)})", text
    ):
        return int(found[1]) == sum(row["Line"] == found[2] for row in rows)
    if found := re.fullmatch(rf"{name} .*\b({'|'.join(LINES)})\b.*", text):
        return by_name[found[1]]["Line"] == found[2] if " only " not in text else None
    return None


def test_a_broken_file_is_named(tmp_path: Path) -> None:
    for name, text in (("train.jsonl", '{"table": "t"}\n'), ("dev.jsonl", ""), ("tables.jsonl", '{"id": "t"}\n')):
        (tmp_path / name).write_text(text)
    with pytest.raises(UserError, match=r"train\.jsonl: not a file of questions of mate \(KeyError: 'header'\)"):
        FORMATS["everyday"].read_split(tmp_path, "train")
