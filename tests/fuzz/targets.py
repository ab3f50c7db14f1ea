"""What is fuzzed: every format of files, each file that it reads in turn, beside sound ones."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from mate_cli.tables import hybridqa, sqa, tabfact, wtq
from mate_cli.tables.corpus import Broken, Corpus
from mate_cli.tables.formats import Format
from mate_cli.tables.own import OwnFormat
from mate_cli.tables.prediction_files import (
    read_reference,
    read_sqa_predictions,
    read_submission,
    read_tagged,
    read_wtq_predictions,
)
from mate_cli.tables.split import Split
from mate_cli.tables.table import Table
from mate_cli.tables.user_passages import linked, matched_passages, read_passages
from mate_cli.tables.user_table import read_table
from tests.fuzz.mutations import Edit, edited, edited_json, edited_lines
from tests.fuzz.sound_files import (
    CSV,
    HTML,
    LINKED,
    LISTS,
    OBJECTS,
    OWN_QUESTIONS,
    PARQUETS,
    QUESTIONS,
    STATEMENTS,
    WIKI_LINE,
    WIKI_TABLE,
    as_json,
    as_lines,
    write_hybridqa,
    write_own,
    write_wikipedia,
    write_written,
)
from tests.tables.releases import (
    SQA_HEADER,
    SQA_ROWS,
    SQA_TABLE,
    TABFACT_TABLE,
    WTQ_HEADER,
    WTQ_ROWS,
    WTQ_TABLE,
    write,
    write_sqa,
    write_tabfact,
    write_wtq,
)

Texts = Iterable[str]


@dataclass(frozen=True)
class Target:
    """A file of a data format.

    Attributes:
        format: as in the table of results; file: its name below a folder.
        sound: contents that are read without complaint.
        release: writes the other files into a folder.
        spoil: a content after edits.
        read: reads the folder; gives all texts that came of it, or of a corpus the reasons why a table is broken.
    """

    format: str
    file: str
    sound: tuple[bytes, ...]
    read: Callable[[Path], Texts]
    release: Callable[[Path], object] = lambda folder: None
    spoil: Callable[[bytes, Sequence[Edit]], bytes] = edited

    @property
    def name(self) -> str:
        return f"{self.format} {self.file}"


def texts_of(table: Table) -> Texts:
    """All texts of a table, after a check that its rows are as wide as its header."""
    rows = (table.header, *table.rows)
    assert {len(row) for row in rows} == {table.num_columns}
    return [table.id, table.title, *(text for row in rows for cell in row for text in (cell.text, *cell.links))]


def _reading(data_format: Format, split: str) -> Callable[[Path], Texts]:
    def read(folder: Path) -> Texts:
        data_format.LAYOUT.present_splits(folder)
        files = data_format.split_files(folder, split)
        assert all(file.resolve().is_relative_to(folder.resolve()) for file in files)
        return _texts_of_split(data_format.read_split(folder, split))

    return read


def _texts_of_split(split: Split) -> Texts:
    assert split.missing_tables == split.questions - len(split.examples)
    texts: list[str] = []
    for example in split.examples:
        own = example.table
        for row, column in (*example.candidates, *example.traced, *example.previous):
            assert 0 <= row < own.num_rows
            assert 0 <= column < own.num_columns
        assert example.label in (None, 0, 1)
        texts += [example.id, example.question, *(example.answers or ()), *example.passages, *example.passages.values()]
        texts += texts_of(own)
    return texts


def _corpus(folder: Path) -> Texts:
    """The texts of the tables; a broken one raises, as one file alone would."""
    corpus = Corpus(str(folder))
    found = [own for portion in corpus.portions(line_bytes=64) for own in corpus.read(portion)]
    for own in found:
        if isinstance(own, Broken):
            assert own.name
            raise BrokenTable(own.reason)
    tables = [own for own in found if not isinstance(own, Broken)]
    return [text for own in tables for text in (*texts_of(own.table), *own.texts, *own.passages.values())]


class BrokenTable(Exception):
    """A table of a corpus that cannot be read: with a reason, which is a clear error too."""


def _user(name: str) -> Callable[[Path], Texts]:
    return lambda folder: texts_of(read_table(folder / name))


def _passages(folder: Path) -> Texts:
    passages = read_passages(folder / "passages.json")
    table = linked(read_table(folder / "t.csv"))
    used, unused = matched_passages(folder / "passages.json", passages, table)
    return [*passages, *passages.values(), *used, *unused]


def _wtq_predictions(folder: Path) -> Texts:
    found = read_wtq_predictions(folder / "p.tsv", ["nu-0", "nu-1"])
    return [text for name, texts in found.items() for text in (name, *texts)]


def _sqa_predictions(folder: Path) -> Texts:
    examples = sqa.read_split(folder, "test").examples
    found = read_sqa_predictions(folder / "p.tsv", examples)
    assert set(found) == {example.id for example in examples}
    return [*found]


def _tagged(folder: Path) -> Texts:
    return [
        text for name, pairs in read_tagged(folder).items() for text in (name, *(t for pair in pairs for t in pair))
    ]


def _gold(folder: Path) -> Texts:
    gold = read_reference(folder / "reference.json")
    return [text for name, own in gold.items() for text in (name, *(own.answers or ()), own.subset)]


def _hybridqa_gold(folder: Path) -> Texts:
    return [*_reading(hybridqa, "dev")(folder), *hybridqa.read_gold(folder, "dev")]


_LINKS = Path("WikiTables-WithLinks")
TARGETS = (
    Target(
        "hybridqa", "released_data/dev.traced.json", (as_json(QUESTIONS),), _hybridqa_gold, write_hybridqa, edited_json
    ),
    *(
        Target(
            "hybridqa",
            f"{_LINKS}/{file}",
            (as_json(own),),
            _reading(hybridqa, "dev"),
            write_hybridqa,
            edited_json,
        )
        for file, own in (("tables_tok/T_0.json", WIKI_TABLE), ("request_tok/T_0.json", LINKED))
    ),
    Target("sqa", "test.tsv", (as_lines(SQA_HEADER, *SQA_ROWS),), _reading(sqa, "test"), write_sqa),
    Target("sqa", "table_csv/1_1.csv", (SQA_TABLE.encode(),), _reading(sqa, "test"), write_sqa),
    Target(
        "wtq",
        "data/random-split-1-train.tsv",
        (as_lines(WTQ_HEADER, *WTQ_ROWS),),
        _reading(wtq, "train"),
        write_wtq,
    ),
    Target("wtq", "csv/1-csv/1.csv", (WTQ_TABLE.encode(),), _reading(wtq, "train"), write_wtq),
    Target("own", "train.csv", (OWN_QUESTIONS,), _reading(OwnFormat(alternatives=False), "train"), write_own),
    Target("own", "t.csv", (CSV,), _reading(OwnFormat(alternatives=True), "train"), write_own),
    Target("wtq", "gold.tagged", (as_lines("id\ttargetValue\ttargetCanon", "nu-0\ta|b\\p\ta|3.0"),), _tagged),
    Target(
        *("tabfact", "tokenized_data/test_examples.json", (as_json(STATEMENTS),), _reading(tabfact, "test")),
        *(write_tabfact, edited_json),
    ),
    Target(
        *("tabfact", "collected_data/r1_training_all.json", (as_json(STATEMENTS),), _reading(tabfact, "train")),
        *(write_written, edited_json),
    ),
    Target(
        *("tabfact", "data/small_test_id.json", (as_json(["a.html.csv", "c"]),), _reading(tabfact, "test")),
        *(write_tabfact, edited_json),
    ),
    Target(
        "tabfact",
        "data/all_csv/a.html.csv",
        (TABFACT_TABLE.encode(),),
        _reading(tabfact, "test"),
        write_tabfact,
    ),
    Target("corpus", "tables_tok/t.json", (as_json(WIKI_TABLE),), _corpus, write_wikipedia, edited_json),
    Target("corpus", "request_tok/t.json", (as_json(LINKED),), _corpus, write_wikipedia, edited_json),
    Target(
        *("corpus", "t.jsonl", (b"\n".join(map(as_json, (WIKI_LINE, LISTS, OBJECTS))),), _corpus),
        spoil=edited_lines,
    ),
    Target("corpus", "t.json", (as_json(LISTS), as_json(OBJECTS)), _corpus, spoil=edited_json),
    Target("corpus", "t.csv", (CSV,), _corpus),
    Target("corpus", "t.html", (HTML,), _corpus),
    Target("corpus", "t.parquet", PARQUETS, _corpus),
    Target("own table", "t.csv", (CSV, b"a\tb\n1\t2\n", b"a;b\n1;2,5\n"), _user("t.csv")),
    Target("own table", "t.html", (HTML,), _user("t.html")),
    Target("own table", "t.json", (as_json(LISTS), as_json(OBJECTS)), _user("t.json"), spoil=edited_json),
    Target("own table", "t.parquet", PARQUETS, _user("t.parquet")),
    Target(
        *("own table", "passages.json", (as_json({"Elm": "A town.", "x": ""}),), _passages),
        *(lambda folder: write(folder / "t.csv", "Town\n[[Elm|the elm]]\n"), edited_json),
    ),
    Target(
        *("predictions", "submission.json", (as_json([{"question_id": "a", "pred": "x"}]),)),
        *(lambda folder: [*read_submission(folder / "submission.json", ["a"]).values()],),
        spoil=edited_json,
    ),
    Target(
        *("predictions", "reference.json", (as_json({"reference": {"a": "x"}, "table": ["a"], "passage": []}),), _gold),
        spoil=edited_json,
    ),
    Target("predictions", "p.tsv", (b"nu-0\ta\tb\nnu-1\n",), _wtq_predictions),
    Target(
        *("sqa predictions", "p.tsv"),
        (
            as_lines(
                "id\tannotator\tposition\tanswer_coordinates",
                *(f's-1\t{own}\t["(0, 1)"]' for own in ("0\t0", "0\t1", "0\t3", "1\t0")),
            ).replace(b'"(0, 1)"', b"'(0, 1)'"),
        ),
        *(_sqa_predictions, write_sqa),
    ),
)
