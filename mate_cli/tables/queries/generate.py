"""Write questions about the tables of a folder: ``train.jsonl``, ``dev.jsonl``, ``tables.jsonl``, ``sources.json``.

Tables take turns, each with random numbers of its own, so that the first questions of a larger number are those of a
smaller one.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from random import Random
from typing import Any

from mate_cli.config.task import QueriesConfig
from mate_cli.system.files import write_json, write_json_lines
from mate_cli.tables.queries.conversations import conversation
from mate_cli.tables.queries.draw import Draw, Question, UnclearError
from mate_cli.tables.queries.everyday_columns import with_everyday_columns
from mate_cli.tables.queries.measures import with_measures
from mate_cli.tables.queries.questions import QUESTIONS, weights_for
from mate_cli.tables.queries.sheet import Sheet
from mate_cli.tables.queries.sources import read_sources
from mate_cli.tables.queries.unanswerable import Missing, missing_of
from mate_cli.tables.queries.wording import noisy
from mate_cli.tables.table import Table

TRAIN, DEV, TABLES, SOURCES = "train.jsonl", "dev.jsonl", "tables.jsonl", "sources.json"
_TRIES = 8
_PATIENCE = 60  # draws without a new question, after which a table has no more
_MEAN_LENGTH = 2.7  # questions of a conversation

Record = dict[str, Any]


def write_questions(folder: Path, sources: Sequence[Path], config: QueriesConfig) -> None:
    """Write the questions, their tables, and the counts and names of the tables that are left out.

    Raises:
        UserError: as ``read_sources``.
        OSError: ``folder`` cannot be written.
    """
    tables = read_sources(sources)
    splits = [_with_copies(split, config.seed) for split in (tables.train, tables.dev)]
    of_train = records(splits[0], config.seed, config.conversations, config.unanswerable)
    of_dev = records(splits[1], config.seed, config.conversations)
    train, dev = list(islice(of_train, config.questions)), list(islice(of_dev, config.dev))
    asked = {record["table"] for record in (*train, *dev)}
    write_json_lines(folder / TRAIN, train)
    write_json_lines(folder / DEV, dev)
    write_json_lines(folder / TABLES, (_plain(table) for split in splits for table in split if table.id in asked))
    counts = {"train": len(tables.train), "dev": len(tables.dev)}
    left_out = {reason: {"tables": len(ids), "ids": ids} for reason, ids in tables.left_out.items()}
    write_json(folder / SOURCES, {"tables": counts, "left_out": left_out, "missing": list(tables.missing)})


def _with_copies(tables: Sequence[Table], seed: int) -> list[Table]:
    return list(with_everyday_columns(list(with_measures(tables, seed)), seed))


def records(tables: Sequence[Table], seed: int, conversations: float, unanswerable: float = 0.0) -> Iterator[Record]:
    """Yield the questions about tables as records, until none of the tables has more.

    Args:
        conversations: share of the questions that belong to a conversation.
        unanswerable: share of the look-ups and selections outside of conversations that are asked a second time, of
            the table without the answer; the other questions are the same whatever it is.
    """
    # Numbers of their own: a table's first draw must not decide its turn.
    order = sorted(tables, key=lambda table: Random(f"{seed} turn of {table.id}").random())
    turns = [_of_table(table, seed, conversations, unanswerable) for table in order]
    while turns:
        continued = []
        for turn in turns:
            if (group := next(turn, None)) is not None:
                yield from group
                continued.append(turn)
        turns = continued


def _of_table(table: Table, seed: int, conversations: float, unanswerable: float) -> Iterator[list[Record]]:
    """Yield new questions and conversations about a table; stop when draws give no new ones."""
    draw, again = Draw(Sheet(table), Random(f"{seed} {table.id}")), Random(f"{seed} without answer {table.id}")
    seen, failures, number = set[tuple[str, ...]](), 0, 0
    chance = conversations / (conversations + _MEAN_LENGTH * (1 - conversations))
    weights = weights_for(draw.sheet)
    while failures < _PATIENCE:
        try:
            group = conversation(draw) if draw.happens(chance) else [_single(draw, weights)]
        except UnclearError:
            failures += 1
            continue
        texts = tuple(question.text for question in group)
        failures = failures + 1 if texts in seen else 0
        if texts not in seen:
            seen.add(texts)
            number += 1
            made = [_record(draw, question, number, place, len(group) > 1) for place, question in enumerate(group)]
            if len(group) == 1 and again.random() < unanswerable:
                missing = missing_of(group[0], draw.sheet, again)
                made += [] if missing is None else [_without_answer(made[0], missing)]
            yield made


def _single(draw: Draw, weights: Sequence[float]) -> Question:
    (kind,) = draw.random.choices([*QUESTIONS], weights)
    for _ in range(_TRIES):
        try:
            return kind(draw)
        except UnclearError:
            continue
    raise UnclearError


def _record(draw: Draw, question: Question, number: int, place: int, converses: bool) -> Record:
    """Return a line of the file of questions."""
    query, table = question.query, draw.sheet.table
    cells, value = query.cells(draw.sheet), query.value(draw.sheet)
    name = f"{table.id}:{number}"
    return {
        "id": f"{name}_{place}" if converses else name,
        "question": noisy(question.text, draw.random),
        "sql": query.sql,
        "answer": [table.rows[r][c].text for r, c in cells] if value is None else [_digits(value)],
        "kind": question.kind,
        "operator": query.operator,
        "cells": [list(cell) for cell in cells],
        "table": table.id,
        "conversation": name if converses else "",
        "position": place,
        "missing": None,
    }


def _without_answer(record: Record, missing: Missing) -> Record:
    """Return the record of the same question about the table without ``missing``."""
    name, kind = f"{record['id']}-unanswerable", f"{record['kind']} without answer"
    return record | {"id": name, "kind": kind, "answer": [], "cells": [], "missing": missing}


def _digits(value: float) -> str:
    return f"{value:.9f}".rstrip("0").rstrip(".")


def _plain(table: Table) -> Record:
    header, *rows = ([cell.text for cell in row] for row in (table.header, *table.rows))
    line = {"id": table.id, "title": table.title, "header": header, "rows": rows}
    return line | {"everyday": True} if table.everyday else line
