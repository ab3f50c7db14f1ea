"""The sample as SQA, WikiTableQuestions and TabFact: read in their own formats, checked against the sample's tables."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random

import pytest

from mate_cli.tables import hybridqa, sqa, tabfact, wtq
from mate_cli.tables.split import Split
from mate_cli.tables.statements.counterfactual import counterfactuals
from mate_cli.tables.table import Cell, Example, Table

SPLITS = ("train", "dev", "test")


def texts(example: Example) -> list[list[str]]:
    return [[cell.text for cell in row] for row in (example.table.header, *example.table.rows)]


def lookups(folder: Path, split: str) -> dict[str, Example]:
    return {own.question: own for own in hybridqa.read_split(folder, split).examples if own.reasoning == "lookup"}


@pytest.mark.parametrize("split", SPLITS)
@pytest.mark.parametrize("data_format", [sqa, wtq], ids=["sqa", "wtq"])
def test_questions_have_the_answers_of_the_sample(sample_folder: Path, data_format: object, split: str) -> None:
    asked = lookups(sample_folder, split)
    found: Split = data_format.read_split(sample_folder / data_format.__name__.rsplit(".", 1)[1], split)  # type: ignore[attr-defined]
    assert found.missing_tables == 0
    assert len(found.examples) > 30
    for own in found.examples:
        original = asked[own.question]
        assert own.answers == original.answers
        if data_format is sqa:
            assert own.candidates == original.candidates
            assert texts(own) == texts(original)
    assert len(found.unsupervised) < len(found.examples) / 10


def test_conversations_go_on(sample_folder: Path) -> None:
    examples = sqa.read_split(sample_folder / "sqa", "dev").examples
    assert max(example.position for example in examples) >= 2
    assert any(example.previous for example in examples)


@pytest.mark.parametrize("split", SPLITS)
def test_statements_hold_where_they_say_so(sample_folder: Path, split: str) -> None:
    """Of "the HEADER of KEY is VALUE": whether VALUE stands in that row and column of the table."""
    examples = tabfact.read_split(sample_folder / "tabfact", split).examples
    for own in examples:
        header, *rows = texts(own)
        held = {f"the {name} of {row[0]} is {value}" for row in rows for name, value in zip(header, row, strict=True)}
        assert own.label == (own.question in held)
        assert ("simple" in own.groups) != ("complex" in own.groups)
    labels = [own.label for own in examples]
    assert 0.4 < sum(map(int, filter(None, labels))) / len(labels) <= 0.6
    assert any("small" in own.groups for own in examples) == (split == "test")


def test_texts_name_two_cells_of_a_row_and_all_else_is_the_samples(sample_folder: Path) -> None:
    """So that false statements can be made of them."""
    sources = [sample_folder / "WikiTables-WithLinks", sample_folder / "tables"]
    names = [{file.name for file in (source / "tables_tok").iterdir()} for source in sources]
    assert names[0] == names[1]
    for name in sorted(names[0])[::20]:
        plain, told = (json.loads((source / "request_tok" / name).read_text()) for source in sources)
        table = json.loads((sources[1] / "tables_tok" / name).read_text())
        assert table == json.loads((sources[0] / "tables_tok" / name).read_text())
        assert all(told[link].startswith(text) for link, text in plain.items())
        rows = [[text for text, links in row if links] for row in table["data"]]
        longer = [text.removeprefix(plain[link]) for link, text in told.items() if text != plain[link]]
        assert len(longer) == len(rows)
        assert all(any(all(cell in text for cell in row[:2]) for row in rows) for text in longer)
        corpus = table_and_texts(sources[1] / "tables_tok" / name)
        assert len(counterfactuals(*corpus, Random(0))) >= len(rows)


def table_and_texts(file: Path) -> tuple[Table, list[str]]:
    content = json.loads(file.read_text())
    rows = tuple(tuple(Cell(text, tuple(links)) for text, links in row) for row in content["data"])
    header = tuple(Cell(text) for text, _ in content["header"])
    texts = json.loads((file.parent.parent / "request_tok" / file.name).read_text())
    return Table(file.stem, header, rows), list(texts.values())
