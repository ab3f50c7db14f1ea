"""Read a folder of generated questions (``generate``) as examples, and find or make that folder."""

from __future__ import annotations

import hashlib
import json
import shutil
from dataclasses import asdict
from pathlib import Path
from typing import Any

from mate_cli.config.task import QueriesConfig
from mate_cli.system.errors import UserError, disk_reason
from mate_cli.system.files import content_hash, made_once, read_json_lines, writing_cache
from mate_cli.tables.aggregation import NONE
from mate_cli.tables.amounts import numbered_cells, plain_text
from mate_cli.tables.corpus import Corpus
from mate_cli.tables.queries.generate import DEV, SOURCES, TABLES, TRAIN, write_questions
from mate_cli.tables.queries.sources import benchmark_of
from mate_cli.tables.queries.unanswerable import table_without
from mate_cli.tables.split import ReleaseLayout, Split
from mate_cli.tables.table import Cell, Example, Table

_FILES = {"train": TRAIN, "dev": DEV}

LAYOUT = ReleaseLayout(
    content="the folders of SQA, WikiTableQuestions, TabFact and HybridQA, as many as you have, and of other tables",
    folders=(),
    questions={split: (Path(file),) for split, file in _FILES.items()},
)


def split_files(data_dir: Path, split: str) -> list[Path]:
    """Return the file of the questions and that of all tables."""
    return [LAYOUT.question_file(data_dir, split), data_dir / TABLES]


def read_split(data_dir: Path, split: str) -> Split:
    """Read the questions of a split.

    Raises:
        UserError: a file is missing or broken.
    """
    records, tables = _read(data_dir, split)
    try:
        examples = _examples(records, tables)
    except (ValueError, KeyError, TypeError) as error:
        raise _broken(data_dir, split, error) from error
    return Split(tuple(examples), 0, len(records))


def read_tables(data_dir: Path, split: str) -> list[Table]:
    """Read the tables of the questions of a split.

    Raises:
        UserError: a file is missing or broken.
    """
    return [*_read(data_dir, split)[1].values()]


def _read(data_dir: Path, split: str) -> tuple[list[dict[str, Any]], dict[str, Table]]:
    """Read the records of a split, and their tables by id."""
    try:
        records, lines = read_json_lines(LAYOUT.question_file(data_dir, split)), read_json_lines(data_dir / TABLES)
        named = {record["table"] for record in records}
        return records, {line["id"]: _table(line) for line in lines if line["id"] in named}
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise _broken(data_dir, split, error) from error


def _broken(data_dir: Path, split: str, error: Exception) -> UserError:
    reason = disk_reason(error) if isinstance(error, OSError) else f"{type(error).__name__}: {error}"
    path = LAYOUT.question_file(data_dir, split)
    return UserError(f"{path}: not a file of questions of mate ({reason}); make it again with mate prepare")


def made_folder(sources: list[Path], config: QueriesConfig, cache: Path) -> Path:
    """Return the folder in the cache with the questions about these tables; write it if it is not there.

    Raises:
        UserError: the tables cannot be read, none can be asked about, or the cache cannot be written.
    """
    code = content_hash(sorted(Path(__file__).parents[1].rglob("*.py")))
    facts = [code, asdict(config), [[str(folder.resolve()), Corpus(str(folder)).fingerprint] for folder in sources]]
    folder = cache / "queries" / hashlib.sha256(json.dumps(facts).encode()).hexdigest()[:16]
    if folder.is_dir():
        return folder
    with writing_cache("the questions", folder), made_once(folder) as partial:
        if partial is not None:
            write_questions(partial, sources, config)
    return folder


def source_folders(data_dir: Path) -> list[Path]:
    """Return the benchmarks and other folders in ``data_dir``; ``data_dir`` alone if it is a benchmark or has none.

    Raises:
        UserError: there is no such folder.
    """
    if not data_dir.is_dir():
        raise UserError(f"data_dir={data_dir}: no such folder")
    folders = sorted(child for child in data_dir.iterdir() if child.is_dir() and not child.name.startswith("."))
    if benchmark_of(data_dir) or not any(map(benchmark_of, folders)):
        return [data_dir]
    return folders


def copy_questions(data_dir: Path, to: Path) -> list[str]:
    """Copy the files of questions, tables and, if it has one, counts into another folder; return their names.

    Raises:
        OSError: it cannot be written.
    """
    names = [TRAIN, DEV, TABLES, *([SOURCES] if (data_dir / SOURCES).is_file() else [])]
    for name in names:
        if data_dir.resolve() != to.resolve():
            shutil.copyfile(data_dir / name, to / name)
    return names


def _table(line: dict[str, Any]) -> Table:
    header, everyday = tuple(map(Cell, line["header"])), bool(line.get("everyday"))
    rows = numbered_cells(line["rows"]) if everyday else tuple(tuple(map(Cell, texts)) for texts in line["rows"])
    return Table(line["id"], header, rows, line["title"], everyday)


def _examples(records: list[dict[str, Any]], tables: dict[str, Table]) -> list[Example]:
    examples: list[Example] = []
    for record in records:
        before = examples[-1] if record["position"] else None
        operator, table, missing = str(record["operator"]), tables[record["table"]], record.get("missing")
        cells = tuple((int(row), int(column)) for row, column in record["cells"])
        answers = tuple(record["answer"])
        if any(row >= table.num_rows or column >= table.num_columns for row, column in cells):
            raise ValueError(f"{record['id']} has cells that {table.id} lacks")
        if table.everyday and operator == NONE.name:  # as scores read them: 1250 for "$1,250.00"
            answers = tuple(plain_text(table.rows[row][column]) for row, column in cells)
        examples.append(
            Example(
                id=record["id"],
                question=record["question"],
                table=table if missing is None else table_without(table, missing),
                answers=answers,
                candidates=cells,
                reasoning=record["kind"],
                value=None if operator == NONE.name else float(answers[0]),
                operator=operator,
                conversation=record["conversation"],
                position=record["position"],
                previous=before.candidates if before else (),
                earlier=(*before.earlier, before.question) if before else (),
            )
        )
    return examples
