"""Write the sample in other layouts, to try other tasks: SQA, WikiTableQuestions, TabFact, pre-training tables."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from mate_cli.tables.hybridqa import read_split
from mate_cli.tables.table import Coordinate, Example, Table

_SQA = {"train": "random-split-1-train", "dev": "random-split-1-dev", "test": "test"}
_WTQ = {"train": "random-split-1-train", "dev": "random-split-1-dev", "test": "pristine-unseen-tables"}
_TABFACT = {"train": "train", "dev": "val", "test": "test"}

Lookups = dict[str, list[Example]]
"""Table id -> the questions that one of its cells answers."""


def write_releases(folder: Path) -> None:
    """Write ``sqa``, ``wtq``, ``tabfact`` and ``tables`` below the folder of a sample, always the same for the same.

    Raises:
        OSError: ``folder`` cannot be written.
    """
    by_split = {split: _lookups(folder, split) for split in _SQA}
    for split, lookups in by_split.items():
        _write_sqa(folder / "sqa", _SQA[split], lookups)
        _write_wtq(folder / "wtq", _WTQ[split], lookups)
        _write_tabfact(folder / "tabfact", _TABFACT[split], lookups)
    names = [f"{table}.csv" for lookups in by_split.values() for table in lookups]
    tested = [f"{table}.csv" for table in by_split["test"]]
    groups = {"simple_ids": names[::2], "complex_ids": names[1::2], "small_test_id": tested[::2]}
    for name, tables in groups.items():
        write_json(folder / "tabfact" / "data" / f"{name}.json", tables)
    _write_tables(folder / "WikiTables-WithLinks", folder / "tables")


def _lookups(folder: Path, split: str) -> Lookups:
    lookups: Lookups = {}
    for example in read_split(folder, split).examples:
        if example.reasoning == "lookup" and _cell(example)[2] == (example.answers or ("",))[0]:
            lookups.setdefault(example.table.id, []).append(example)
    return lookups


def _cell(example: Example) -> tuple[int, int, str]:
    """Return row, column and text of the answer cell."""
    ((row, column),) = example.candidates
    return row, column, example.table.rows[row][column].text


def _write_sqa(folder: Path, name: str, lookups: Lookups) -> None:
    """Write the questions about a table as one conversation."""
    lines: list[Sequence[Any]] = [
        ("id", "annotator", "position", "question", "table_file", "answer_coordinates", "answer_text")
    ]
    for table, examples in lookups.items():
        file = f"table_csv/{table}.csv"
        _write_csv(folder / file, _rows(examples[0].table))
        for position, example in enumerate(examples):
            row, column, text = _cell(example)
            lines.append((table, 0, position, example.question, file, [f"({row}, {column})"], [text]))
    _write_csv(folder / f"{name}.tsv", lines, delimiter="\t")


def _write_wtq(folder: Path, name: str, lookups: Lookups) -> None:
    lines: list[Sequence[Any]] = [("id", "utterance", "context", "targetValue")]
    for table, examples in lookups.items():
        file = f"csv/{name}/{table}.csv"
        rows = _rows(examples[0].table)
        _write_csv(folder / file, rows, escapechar="\\", doublequote=False, quoting=csv.QUOTE_ALL)
        lines += [(example.id, example.question, file, _cell(example)[2]) for example in examples]
    _write_csv(folder / "data" / f"{name}.tsv", lines, delimiter="\t", quoting=csv.QUOTE_NONE)


def _write_tabfact(folder: Path, name: str, lookups: Lookups) -> None:
    """Write for each look-up a true statement, and a false one with the value of another row."""
    statements: dict[str, list[Any]] = {}
    for table, examples in lookups.items():
        content = examples[0].table
        _write_csv(folder / "data" / "all_csv" / f"{table}.csv", _rows(content), delimiter="#")
        labelled = [pair for example in examples for pair in _statements(content, example.candidates[0])]
        statements[f"{table}.csv"] = [[text for text, _ in labelled], [label for _, label in labelled], content.title]
    write_json(folder / "tokenized_data" / f"{name}_examples.json", statements)
    write_json(folder / "data" / f"{name}_id.json", list(statements))


def _statements(table: Table, place: Coordinate) -> Iterator[tuple[str, int]]:
    row, column = place[0], place[1] or 1  # the first column names the rows
    texts = [cells[column].text for cells in table.rows]
    other = next((text for text in texts[row + 1 :] + texts[:row] if text != texts[row]), None)
    subject = f"the {table.header[column].text} of {table.rows[row][0].text}"
    yield f"{subject} is {texts[row]}", 1
    if other is not None:
        yield f"{subject} is {other}", 0


def _write_tables(source: Path, target: Path) -> None:
    """Write the sample's tables, with an added sentence per passage that names two cells of a row."""
    for file in sorted((source / "tables_tok").glob("*.json")):
        table = json.loads(file.read_text(encoding="utf-8"))
        passages = json.loads((source / "request_tok" / file.name).read_text(encoding="utf-8"))
        for row in table["data"]:
            (first, (link,)), *others = [(text, links) for text, links in row if links]
            for other, _ in others:
                passages[link] += f" As is well known , {first} is often named together with {other} ."
        write_json(target / "tables_tok" / file.name, table)
        write_json(target / "request_tok" / file.name, passages)


def _rows(table: Table) -> list[list[str]]:
    return [[cell.text for cell in cells] for cells in (table.header, *table.rows)]


def _write_csv(path: Path, rows: Iterable[Sequence[Any]], **dialect: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n", **dialect).writerows(rows)


def write_json(path: Path, content: Any, indent: int | None = None) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(content, ensure_ascii=False, indent=indent) + "\n", encoding="utf-8", newline="\n")
