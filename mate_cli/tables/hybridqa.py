"""Reads HybridQA in its official layout.

- released_data/{train,dev,test}.traced.json or .json: questions; the traced files name the answer nodes
- WikiTables-WithLinks/tables_tok/<table_id>.json: a table whose cells list their links
- WikiTables-WithLinks/request_tok/<table_id>.json: link -> passage
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from mate_cli.system.errors import UserError, shown
from mate_cli.tables.answer_match import AnswerFinder
from mate_cli.tables.split import ReleaseLayout, Split, file_below
from mate_cli.tables.table import Coordinate, Example, Table
from mate_cli.tables.text_files import JsonObject, read_json
from mate_cli.tables.wiki_table import parse_passages, parse_table

_QUESTIONS = Path("released_data")
_TABLES = Path("WikiTables-WithLinks", "tables_tok")
_PASSAGES = Path("WikiTables-WithLinks", "request_tok")

LAYOUT = ReleaseLayout(
    content="released_data/ (github.com/wenhuchen/HybridQA) and WikiTables-WithLinks/ "
    "(github.com/wenhuchen/WikiTables-WithLinks)",
    folders=(_QUESTIONS, _TABLES, _PASSAGES),
    questions={
        split: (_QUESTIONS / f"{split}.traced.json", _QUESTIONS / f"{split}.json") for split in ("train", "dev", "test")
    },
)


@dataclass(frozen=True, slots=True)
class Gold:
    """What a question is scored against.

    Attributes:
        answers: the answer strings; None where the split is blind.
        subset: as in ``Example``.
    """

    answers: tuple[str, ...] | None
    subset: str = ""


@dataclass(frozen=True, slots=True)
class _LinkedTable:
    table: Table
    passages: dict[str, str]
    finder: AnswerFinder


def split_files(data_dir: Path, split: str) -> list[Path]:
    """The file of the questions, then the two of each table that it names."""
    path = LAYOUT.question_file(data_dir, split)
    tables = sorted({entry.text("table_id") for entry in _question_entries(path)})
    return [path, *(file for table_id in tables for file in table_files(data_dir, table_id))]


def table_files(data_dir: Path, table_id: str) -> tuple[Path, Path]:
    """The files of a table and of its passages, whether they exist or not.

    Raises:
        UserError: no file can be called so.
    """
    name, where = f"{table_id}.json", "key 'table_id'"
    return file_below(data_dir / _TABLES, name, where), file_below(data_dir / _PASSAGES, name, where)


def read_split(data_dir: Path, split: str) -> Split:
    """Read one split; each table is read once, and a question whose table is missing is counted and left out.

    Raises:
        UserError: a folder is missing, or a file is not valid JSON or not of the expected structure.
    """
    entries = _question_entries(LAYOUT.question_file(data_dir, split))
    by_table: dict[str, list[int]] = {}
    for number, entry in enumerate(entries):
        by_table.setdefault(entry.text("table_id"), []).append(number)
    examples: dict[int, Example] = {}
    shared: dict[tuple[str, str], str] = {}
    for table_id, numbers in by_table.items():
        linked = _read_table(data_dir, table_id, shared)
        if linked is not None:
            examples.update((number, _example(entries[number], linked)) for number in numbers)
    kept = tuple(examples[number] for number in sorted(examples))
    return Split(kept, missing_tables=len(entries) - len(kept), questions=len(entries))


def read_gold(data_dir: Path, split: str) -> dict[str, Gold]:
    """The gold of every question of a split by id, in the order of the file, also where the table is not there.

    Raises:
        UserError: as ``read_split``.
    """
    entries = _question_entries(LAYOUT.question_file(data_dir, split))
    return {entry.text("question_id"): _gold(entry) for entry in entries}


def _question_entries(path: Path) -> list[JsonObject]:
    entries = read_json(path)
    if not isinstance(entries, list):
        raise UserError(f"{path}: expected a list of questions, found {type(entries).__name__}")
    return [JsonObject.of(entry, f"{path}: question {number}") for number, entry in enumerate(entries, start=1)]


def _example(entry: JsonObject, linked: _LinkedTable) -> Example:
    """A question of the file; ``reasoning`` is a key of our own that only the sample's files have."""
    gold, nodes = _gold(entry), _answer_nodes(entry)
    return Example(
        id=entry.text("question_id"),
        question=entry.text("question"),
        table=linked.table,
        answers=gold.answers,
        passages=linked.passages,
        candidates=() if gold.answers is None else linked.finder.find(gold.answers[0]).candidates,
        traced=_traced(nodes, linked.table),
        subset=gold.subset,
        reasoning=entry.text("reasoning") if "reasoning" in entry else "",
    )


def _gold(entry: JsonObject) -> Gold:
    answers = (entry.text("answer-text"),) if "answer-text" in entry else None
    nodes = _answer_nodes(entry)
    return Gold(answers, "" if nodes is None else _subset({kind for _, kind in nodes}))


def _answer_nodes(entry: JsonObject) -> list[tuple[Coordinate, str]] | None:
    """Place and kind of each traced node of the answer; None where the question was not traced."""
    if "answer-node" not in entry:
        return None
    nodes: list[tuple[Coordinate, str]] = []
    for node in entry.list("answer-node"):
        match node:
            case [_, [int(row), int(column)], _, "table" | "passage" as kind]:
                nodes.append(((row, column), kind))
            case _:
                raise UserError(
                    f"{entry.where}, key 'answer-node': expected [text, [row, column], link, 'table' or"
                    f" 'passage'], found {shown(node)}"
                )
    return nodes


def _traced(nodes: list[tuple[Coordinate, str]] | None, table: Table) -> tuple[Coordinate, ...]:
    """The cells of the nodes; a place outside the table is none."""
    places = {place for place, _ in nodes or ()}
    return tuple(sorted((r, c) for r, c in places if 0 <= r < table.num_rows and 0 <= c < table.num_columns))


def _subset(kinds: set[str]) -> str:
    """The class of the answer as the release counts it: "table" as soon as one traced node is a table's."""
    if not kinds:
        return "missing"
    return "table" if "table" in kinds else "passage"


def _read_table(data_dir: Path, table_id: str, shared: dict[tuple[str, str], str]) -> _LinkedTable | None:
    """The table with its passages; None where one of its two files is not there."""
    table_file, passage_file = table_files(data_dir, table_id)
    if not (table_file.is_file() and passage_file.is_file()):
        return None
    table = parse_table(JsonObject.of(read_json(table_file), str(table_file)), table_id)
    passages = parse_passages(JsonObject.of(read_json(passage_file), str(passage_file)), shared)
    for cell in (cell for row in (table.header, *table.rows) for cell in row):
        for link in cell.links:
            if link not in passages:
                raise UserError(f"{passage_file}: no passage for {shown(link)}, a link of cell {shown(cell.text)}")
    return _LinkedTable(table, passages, AnswerFinder(table, passages))
