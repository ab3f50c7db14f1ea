"""Read HybridQA (Chen et al., 2020) in its official layout.

- released_data/{train,dev,test}.traced.json or .json: questions; the traced files name the answer nodes
- WikiTables-WithLinks/tables_tok/<table_id>.json: a table with the links of its cells
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
    """The gold answer of a question.

    Attributes:
        answers: answer texts; None in a blind split.
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
    """Return the file of the questions, then the two files of each table that it names."""
    path = LAYOUT.question_file(data_dir, split)
    tables = sorted({entry.text("table_id") for entry in _question_entries(path)})
    return [path, *(file for table_id in tables for file in table_files(data_dir, table_id))]


def table_files(data_dir: Path, table_id: str) -> tuple[Path, Path]:
    """Return the files of a table and of its passages, which may not exist.

    Raises:
        UserError: the id is not a valid file name.
    """
    name, where = f"{table_id}.json", "key 'table_id'"
    return file_below(data_dir / _TABLES, name, where), file_below(data_dir / _PASSAGES, name, where)


def read_split(data_dir: Path, split: str) -> Split:
    """Read one split; each table is read once, and a question whose table is missing is counted and left out.

    Raises:
        UserError: a folder is missing, or a file is not valid JSON or has another structure.
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
    """Return the gold answers of a split by question id, in the order of the file, including missing tables.

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
    """Build an example; only the sample's files have the key ``reasoning``."""
    gold, nodes = _gold(entry), _answer_nodes(entry)
    rows, columns = linked.table.num_rows, linked.table.num_columns
    return Example(
        id=entry.text("question_id"),
        question=entry.text("question"),
        table=linked.table,
        answers=gold.answers,
        passages=linked.passages,
        candidates=() if gold.answers is None else linked.finder.find(gold.answers[0]).candidates,
        traced=tuple(sorted({(r, c) for (r, c), _ in nodes or () if 0 <= r < rows and 0 <= c < columns})),
        subset=gold.subset,
        reasoning=entry.text("reasoning") if "reasoning" in entry else "",
    )


def _gold(entry: JsonObject) -> Gold:
    """Return the answer and its class as the release counts it: "table" if any traced node is in the table."""
    answers = (entry.text("answer-text"),) if "answer-text" in entry else None
    nodes = _answer_nodes(entry)
    if nodes is None:
        return Gold(answers)
    kinds = [kind for _, kind in nodes]
    return Gold(answers, "table" if "table" in kinds else "passage" if kinds else "missing")


def _answer_nodes(entry: JsonObject) -> list[tuple[Coordinate, str]] | None:
    """Return the place and kind of each traced answer node; None if the question was not traced."""
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


def _read_table(data_dir: Path, table_id: str, shared: dict[tuple[str, str], str]) -> _LinkedTable | None:
    """Read a table with its passages; None if one of its two files is missing."""
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
