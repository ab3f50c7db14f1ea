"""BM25 over tables against its formula, computed word by word."""

from __future__ import annotations

import math
import random
from collections import Counter

import numpy as np

from mate_cli.tables.table import Cell, Table
from mate_cli.tables.table_index import HEAD_WEIGHT, K1, B, TableIndex

WORDS = ["river", "town", "lake", "hill", "ford", "mill", "harbor", "bridge"]  # their stems are themselves
PLURALS = ["rivers", "towns", "lakes", "hills", "fords", "mills", "harbors", "bridges"]


def made_table(draw: random.Random, number: int) -> Table:
    columns = draw.randint(1, 3)
    header, *rows = (
        tuple(Cell(" ".join(draw.choices(WORDS, k=draw.randint(0, 3)))) for _ in range(columns))
        for _ in range(draw.randint(2, 6))
    )
    return Table(f"t{number}", header, tuple(rows), draw.choice([*WORDS, ""]))


def counted(table: Table) -> Counter[str]:
    counts: Counter[str] = Counter()
    for text in [table.title, *(cell.text for cell in table.header)]:
        counts.update(text.split() * HEAD_WEIGHT)
    for row in table.rows:
        for cell in row:
            counts.update(cell.text.split())
    return counts


def by_formula(question: list[str], tables: list[Counter[str]]) -> list[float]:
    """Sum of idf * tf (k1 + 1) / (tf + k1 (1 - b + b length / mean length)) over the words of the question."""
    mean = sum(counts.total() for counts in tables) / len(tables)
    scores = []
    for counts in tables:
        score = 0.0
        for word in question:
            holders = sum(word in other for other in tables)
            rarity = math.log(1 + (len(tables) - holders + 0.5) / (holders + 0.5))
            score += rarity * counts[word] * (K1 + 1) / (counts[word] + K1 * (1 - B + B * counts.total() / mean))
        scores.append(score)
    return scores


def test_scores_are_those_of_the_formula() -> None:
    draw = random.Random(0)
    tables = [made_table(draw, number) for number in range(40)]
    questions = [draw.choices(WORDS, k=draw.randint(1, 6)) for _ in range(20)]
    scores = TableIndex(iter(tables)).scores([" ".join(question) for question in questions])
    counts = [counted(table) for table in tables]
    assert scores.shape == (20, 40)
    np.testing.assert_allclose(scores, [by_formula(question, counts) for question in questions], rtol=1e-5)


def test_case_accents_plurals_and_marks_do_not_matter() -> None:
    draw = random.Random(1)
    index = TableIndex([made_table(draw, number) for number in range(10)])
    plain = index.scores([" ".join(WORDS)])
    assert plain.any()
    np.testing.assert_array_equal(index.scores([f"Where are the {', '.join(PLURALS)}?".upper()]), plain)
    np.testing.assert_array_equal(index.scores([" ".join(WORDS).replace("i", "í")]), plain)
    assert not index.scores(["a § nothing"]).any()


def test_tables_without_a_word() -> None:
    index = TableIndex([Table("t", (Cell("1"),), ((Cell("§"),),))])
    assert index.openings == ["1. §"]
    np.testing.assert_array_equal(index.scores(["what?", ""]), np.zeros((2, 1)))
