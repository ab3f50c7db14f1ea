"""Read TabFact (Chen et al., 2020) in its official layout: statements that a table entails or refutes.

- collected_data/r1_training_all.json and r2_training_all.json, with data/{train,val,test}_id.json: the original
  statements, which the TAPAS release reads; preferred
- tokenized_data/{train,val,test}_examples.json: the same statements as lower-case lemmas, if the former are missing
- data/all_csv/<table>: the tables, with cells separated by "#"
- data/{simple,complex}_ids.json, data/small_test_id.json: tables of the groups with scores of their own

All statement files are ``{table: [statements, labels, caption]}``. Val is our dev.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from mate_cli.system.errors import UserError, shown
from mate_cli.tables.split import ReleaseLayout, Split, file_below
from mate_cli.tables.table import Example
from mate_cli.tables.text_files import JsonObject, read_json, read_table

_TABLES = Path("data", "all_csv")
_ORIGINAL = tuple(Path("collected_data", f"{round}_training_all.json") for round in ("r1", "r2"))
_NAMES = {"train": "train", "dev": "val", "test": "test"}
_GROUPS = {"simple": "simple_ids.json", "complex": "complex_ids.json", "small": "small_test_id.json"}
_HASHES = {"delimiter": "#"}

LAYOUT = ReleaseLayout(
    content="data/ and tokenized_data/ or collected_data/ of TabFact (github.com/wenhuchen/Table-Fact-Checking)",
    folders=(_TABLES,),
    questions={
        split: (_ORIGINAL[0], Path("tokenized_data", f"{name}_examples.json")) for split, name in _NAMES.items()
    },
)


@dataclass(frozen=True, slots=True)
class _Statements:
    """The statements about one table."""

    table: str
    texts: tuple[str, ...]
    labels: tuple[int, ...]
    caption: str

    def __add__(self, other: _Statements) -> _Statements:
        return _Statements(self.table, self.texts + other.texts, self.labels + other.labels, self.caption)


def split_files(data_dir: Path, split: str) -> list[Path]:
    """Return the files of the statements and of the groups, then the files of the tables that they name."""
    statements = _statement_files(data_dir, split)
    groups = (data_dir / "data" / file for file in _GROUPS.values())
    tables = (_table_file(data_dir, entry) for entry in _statements(data_dir, split))
    return [*statements, *groups, *tables]


def read_split(data_dir: Path, split: str) -> Split:
    """Read one split; a statement whose table is missing is counted and left out.

    Raises:
        UserError: a file is missing or has another structure, or a label is neither 0 nor 1.
    """
    groups = {name: _table_ids(data_dir / "data" / file) for name, file in _GROUPS.items()}
    examples: list[Example] = []
    statements = 0
    for entry in _statements(data_dir, split):
        statements += len(entry.texts)
        if _table_file(data_dir, entry).is_file():
            of_table = tuple(name for name, tables in groups.items() if entry.table in tables)
            examples += _examples(data_dir, entry, of_table)
    return Split(tuple(examples), missing_tables=statements - len(examples), questions=statements)


def _statement_files(data_dir: Path, split: str) -> list[Path]:
    """Return the files of the statements; if these are of all splits, the list of the split's tables is last."""
    path = LAYOUT.question_file(data_dir, split)
    if path != data_dir / _ORIGINAL[0]:
        return [path]
    return [*(data_dir / file for file in _ORIGINAL), data_dir / "data" / f"{_NAMES[split]}_id.json"]


def _statements(data_dir: Path, split: str) -> list[_Statements]:
    """Return the statements of a split, by table; a few tables have some in both rounds."""
    first, *more = _statement_files(data_dir, split)
    if not more:
        return list(_read_statements(first))
    second, ids = more
    tables, by_table = _table_ids(ids), dict[str, _Statements]()
    for entry in (*_read_statements(first), *_read_statements(second)):
        if entry.table in tables:
            by_table[entry.table] = by_table[entry.table] + entry if entry.table in by_table else entry
    return list(by_table.values())


def _read_statements(path: Path) -> Iterator[_Statements]:
    content = JsonObject.of(read_json(path), str(path))
    for table in content:
        where, entry = f"{path}, key {shown(table)}", content.list(table)
        match entry:
            case [list(texts), list(labels), str(caption)] if all(isinstance(text, str) for text in texts):
                pass
            case _:
                raise UserError(f"{where}: expected [statements, labels, caption], found {shown(entry)}")
        if wrong := [label for label in labels if label not in (0, 1)]:
            raise UserError(f"{where}: expected labels 0 (refuted) and 1 (entailed), found {shown(wrong[0])}")
        if len(texts) != len(labels):
            raise UserError(f"{where}: {len(texts)} statements have {len(labels)} labels")
        yield _Statements(table, tuple(texts), tuple(map(int, labels)), caption)


def _examples(data_dir: Path, entry: _Statements, groups: tuple[str, ...]) -> Iterator[Example]:
    table = read_table(_table_file(data_dir, entry), entry.table, _HASHES, entry.caption)
    for number, (text, label) in enumerate(zip(entry.texts, entry.labels, strict=True)):
        yield Example(id=f"{entry.table}_{number}", question=text, table=table, groups=groups, label=label)


def _table_file(data_dir: Path, entry: _Statements) -> Path:
    return file_below(data_dir / _TABLES, entry.table, "the statements")


def _table_ids(path: Path) -> frozenset[str]:
    names = read_json(path)
    if not (isinstance(names, list) and all(isinstance(name, str) for name in names)):
        raise UserError(f"{path}: expected a list of table names, found {shown(names)}")
    return frozenset(names)
