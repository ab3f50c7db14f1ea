"""No generated question is about a table of a dev or test split, by content."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest

from mate_cli.tables.queries.sources import are_copies, benchmark_of, read_sources
from mate_cli.tables.table import Cell, Table
from tests.tables.made_tables import made_table
from tests.tables.releases import SQA_HEADER, WTQ_HEADER, write

RESERVED = [made_table(number) for number in range(6)]


def changed(table: Table, how: str) -> Table:
    """Return a table with the same facts in another form."""
    lines, random = [table.header, *table.rows], Random(0)
    header, *rows = lines
    if how == "other marks and case":
        rows = [tuple(Cell(f" {cell.text.upper().replace(',', '')}[1]") for cell in row) for row in rows]
    if how == "one more row":
        rows.append(tuple(Cell(f"new {place}") for place in range(len(header))))
    if how == "rows in another order":
        random.shuffle(rows)
    if how == "columns in another order":
        header, *rows = [tuple(reversed(line)) for line in lines]
    if how == "half of the rows":
        rows = rows[: (len(rows) + 1) // 2]
    if how == "without a column":
        header, *rows = [line[:-1] for line in lines]
    return replace(table, id=how, header=tuple(header), rows=tuple(rows))


WAYS = (
    "as it is",
    "other marks and case",
    "one more row",
    "rows in another order",
    "columns in another order",
    "half of the rows",
    "without a column",
)


@pytest.mark.parametrize("how", WAYS)
def test_a_copy_is_known_in_any_form(how: str) -> None:
    copies = [changed(table, how) for table in RESERVED]
    assert are_copies(copies, RESERVED).tolist() == [True] * len(copies)


def test_data_sets_write_numbers_and_marks_differently() -> None:
    """SQA and TabFact have this table of universities; only half of its texts are equal without regard to marks."""
    texts = ("Birkbeck, London|19,020|9,985|1,204", "East Anglia|19,585|16,482|3,103", "Essex|11,690|9,967|1,723")
    rows = [tuple(map(Cell, text.split("|"))) for text in texts]
    other = [tuple(Cell(cell.text.lower().replace(", ", " , ").replace(",", "")) for cell in row) for row in rows]
    tables = [Table("t", tuple(map(Cell, "abcd")), tuple(body)) for body in (rows, other)]
    assert are_copies(tables[:1], tables[1:]).tolist() == [True]


def test_another_table_of_the_same_kind_is_no_copy() -> None:
    others = [made_table(number) for number in range(100, 130)]
    assert are_copies(others, RESERVED).sum() <= 1  # few rounds and points alone may agree by chance
    assert are_copies(others, []).tolist() == [False] * len(others)
    assert are_copies([], RESERVED).tolist() == []


def csv_text(table: Table, quote: str = '""') -> str:
    lines = (",".join('"' + cell.text.replace('"', quote) + '"' for cell in row) for row in (table.header, *table.rows))
    return "\n".join(lines) + "\n"


def write_benchmarks(root: Path) -> list[Path]:
    """Write SQA and WikiTableQuestions, which share a table between splits, and a folder with a copy of another."""
    train, sqa_test, wtq_dev = made_table(10), made_table(11), made_table(12)
    sqa, wtq, other = root / "sqa", root / "wtq", root / "other"
    for name, number in (("random-split-1-train", 10), ("random-split-1-dev", 11), ("test", 11)):
        row = f"s-{number}\t0\t0\twhat?\ttable_csv/{number}.csv\t['(0, 0)']\t['x']"
        write(sqa / f"{name}.tsv", f"{SQA_HEADER}\n{row}\n")
    write(sqa / "table_csv" / "10.csv", csv_text(train))
    write(sqa / "table_csv" / "11.csv", csv_text(sqa_test))
    for name, number in (("random-split-1-train", 11), ("random-split-1-dev", 12), ("pristine-unseen-tables", 12)):
        write(wtq / "data" / f"{name}.tsv", f"{WTQ_HEADER}\nn-{number}\twhat?\tcsv/{number}.csv\tx\n")
    write(wtq / "csv" / "11.csv", csv_text(sqa_test, quote='\\"'))
    write(wtq / "csv" / "12.csv", csv_text(wtq_dev, quote='\\"'))
    write(other / "copy.csv", csv_text(changed(wtq_dev, "columns in another order")))
    for number in range(20, 26):
        write(other / f"{number}.csv", csv_text(made_table(number)))
    write(other / "again.csv", csv_text(changed(made_table(20), "rows in another order")))
    return [other, sqa, wtq]


def facts(table: Table) -> set[str]:
    return {cell.text.lower() for row in table.rows for cell in row if len(cell.text) > 4}


def test_no_table_of_a_dev_or_test_split_is_asked_about(tmp_path: Path) -> None:
    sources = read_sources(write_benchmarks(tmp_path))
    tables = [*sources.train, *sources.dev]
    assert sources.left_out == {
        "same rows as another table": ["other/again"],
        "copy of a table of a dev or test split": ["wtq/csv/11.csv", "other/copy"],
    }
    assert {table.id for table in tables} == {"sqa/table_csv/10.csv", *(f"other/{n}" for n in range(20, 26))}
    for reserved in (made_table(11), made_table(12)):
        assert all(len(facts(table) & facts(reserved)) < 0.5 * len(facts(reserved)) for table in tables)
    assert sources.missing == ("hybridqa", "tabfact")


def test_benchmarks_are_known_by_their_layout(tmp_path: Path) -> None:
    assert [*map(benchmark_of, write_benchmarks(tmp_path))] == ["", "sqa", "wtq"]


def test_ids_name_what_is_left_out(tmp_path: Path) -> None:
    left_out = read_sources(write_benchmarks(tmp_path)).left_out
    assert json.loads(json.dumps(left_out)) == left_out
