"""What is fuzzed: every format of files, each file that it reads in turn, beside sound ones."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

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


_QUESTIONS = [
    {
        "question_id": "q1",
        "question": "Where does the mayor of Elm live?",
        "table_id": "T_0",
        "answer-text": "Oak Street",
        "answer-node": [["Elm", [1, 0], "/wiki/Elm", "passage"], ["Oak", [0, 1], None, "table"]],
        "reasoning": "lookup",
    },
    {"question_id": "q2", "question": "How many?", "table_id": "T_0", "answer-text": "12"},
    {"question_id": "q3", "question": "Who?", "table_id": "gone"},
]
_WIKI_TABLE = {
    "url": "https://en.wikipedia.org/wiki/T",
    "title": "Towns",
    "header": [["Town", []], ["People", ["/wiki/People"]]],
    "data": [[["Birch", ["/wiki/Birch"]], ["12", []]], [["Elm", ["/wiki/Elm%20tree", "/wiki/Elm"]], ["3,000", []]]],
    "section_title": "List",
    "section_text": "",
    "intro": "Towns of the valley.",
}
_LINKED = {
    "/wiki/Birch": "Birch is a town.",
    "/wiki/Elm": "Elm lies on Oak Street. It is old.",
    "/wiki/Elm tree": "",
    "/wiki/People": "Some.",
}


def _write_hybridqa(folder: Path) -> None:
    write(folder / "released_data" / "dev.traced.json", _QUESTIONS)
    write(folder / "WikiTables-WithLinks" / "tables_tok" / "T_0.json", _WIKI_TABLE)
    write(folder / "WikiTables-WithLinks" / "request_tok" / "T_0.json", _LINKED)


def _write_wikipedia(folder: Path) -> None:
    write(folder / "tables_tok" / "t.json", _WIKI_TABLE)
    write(folder / "request_tok" / "t.json", _LINKED)


def _write_written(folder: Path) -> None:
    write_tabfact(folder)
    for name in ("r1", "r2"):
        write(folder / "collected_data" / f"{name}_training_all.json", _STATEMENTS)


def _write_own(folder: Path) -> None:
    write(folder / "t.csv", "Town,People\nBirch,12\nElm,3\nOak,12\n")
    write(folder / "train.csv", _OWN.decode())


_OWN = (
    b'id,question,table,answer\n1,How many live in Elm?,t.csv,3\n2,"Which, if any?",t.csv,Birch|Oak\n3,How?,t.csv,15\n'
)
_STATEMENTS = {"a.html.csv": [["Elm has 20", "none has"], [1, 0], "towns"], "b.html.csv": [["x"], [0], ""]}
_CSV = b'\xef\xbb\xbfTown,People,"Said, of it"\r\nBirch,12,"a ""b"" c"\r\n\r\nElm,"3,000",\n'
_HTML = (
    b"<!DOCTYPE html><html><head><style>td {}</style><title>x</title></head><body><!-- <table> --><p>a & b &lt; c"
    b"<table class='wikitable sortable'><caption>Towns <i>of</i></caption><thead><tr><th rowspan=2>Town<th colspan=2>"
    b"People</tr><tr><th>1990<th>2000</tr></thead><tbody><tr><td>Birch<br/>old<td rowspan=0>1<td>2</tr><tr><td>Elm"
    b"<script>if (1 < 2) n()</script><td>4<table><tr><td>inner</table></tr></tbody></table>&nbsp;end&amp"
)
_LISTS = [["Town", "People"], ["Birch", 12], ["Elm", None]]
_OBJECTS = [{"Town": "Birch", "People": 12}, {"Town": "Elm", "Old": True, "Size": 1.5}]


def _parquet(compression: str, **columns: object) -> bytes:
    sink = io.BytesIO()
    pq.write_table(pa.table(columns), sink, compression=compression)
    return sink.getvalue()


_PARQUETS = (
    _parquet("none", town=["Birch", None], people=[1, 2], size=[1.5, float("nan")], old=[True, None]),
    _parquet(
        "snappy", town=pa.array(["a", "b", "a"]).dictionary_encode(), when=pa.array([1, 2, None], pa.timestamp("s"))
    ),
    _parquet("zstd", n=pa.array([1, 2], pa.decimal128(9, 2)), d=pa.array([3, 4], pa.date32()), b=[b"x", b"\xff"]),
)
_WIKI_LINE = _WIKI_TABLE | {"passages": _LINKED, "uid": "t1"}


def _json(content: object) -> bytes:
    return json.dumps(content).encode()


def _lines(*lines: str) -> bytes:
    return ("\n".join(lines) + "\n").encode()


_LINKS = Path("WikiTables-WithLinks")
TARGETS = (
    Target(
        "hybridqa", "released_data/dev.traced.json", (_json(_QUESTIONS),), _hybridqa_gold, _write_hybridqa, edited_json
    ),
    *(
        Target(
            "hybridqa",
            f"{_LINKS}/{file}",
            (_json(own),),
            _reading(hybridqa, "dev"),
            _write_hybridqa,
            edited_json,
        )
        for file, own in (("tables_tok/T_0.json", _WIKI_TABLE), ("request_tok/T_0.json", _LINKED))
    ),
    Target("sqa", "test.tsv", (_lines(SQA_HEADER, *SQA_ROWS),), _reading(sqa, "test"), write_sqa),
    Target("sqa", "table_csv/1_1.csv", (SQA_TABLE.encode(),), _reading(sqa, "test"), write_sqa),
    Target(
        "wtq",
        "data/random-split-1-train.tsv",
        (_lines(WTQ_HEADER, *WTQ_ROWS),),
        _reading(wtq, "train"),
        write_wtq,
    ),
    Target("wtq", "csv/1-csv/1.csv", (WTQ_TABLE.encode(),), _reading(wtq, "train"), write_wtq),
    Target("own", "train.csv", (_OWN,), _reading(OwnFormat(alternatives=False), "train"), _write_own),
    Target("own", "t.csv", (_CSV,), _reading(OwnFormat(alternatives=True), "train"), _write_own),
    Target("wtq", "gold.tagged", (_lines("id\ttargetValue\ttargetCanon", "nu-0\ta|b\\p\ta|3.0"),), _tagged),
    Target(
        *("tabfact", "tokenized_data/test_examples.json", (_json(_STATEMENTS),), _reading(tabfact, "test")),
        *(write_tabfact, edited_json),
    ),
    Target(
        *("tabfact", "collected_data/r1_training_all.json", (_json(_STATEMENTS),), _reading(tabfact, "train")),
        *(_write_written, edited_json),
    ),
    Target(
        *("tabfact", "data/small_test_id.json", (_json(["a.html.csv", "c"]),), _reading(tabfact, "test")),
        *(write_tabfact, edited_json),
    ),
    Target(
        "tabfact",
        "data/all_csv/a.html.csv",
        (TABFACT_TABLE.encode(),),
        _reading(tabfact, "test"),
        write_tabfact,
    ),
    Target("corpus", "tables_tok/t.json", (_json(_WIKI_TABLE),), _corpus, _write_wikipedia, edited_json),
    Target("corpus", "request_tok/t.json", (_json(_LINKED),), _corpus, _write_wikipedia, edited_json),
    Target(
        *("corpus", "t.jsonl", (b"\n".join(map(_json, (_WIKI_LINE, _LISTS, _OBJECTS))),), _corpus),
        spoil=edited_lines,
    ),
    Target("corpus", "t.json", (_json(_LISTS), _json(_OBJECTS)), _corpus, spoil=edited_json),
    Target("corpus", "t.csv", (_CSV,), _corpus),
    Target("corpus", "t.html", (_HTML,), _corpus),
    Target("corpus", "t.parquet", _PARQUETS, _corpus),
    Target("own table", "t.csv", (_CSV, b"a\tb\n1\t2\n", b"a;b\n1;2,5\n"), _user("t.csv")),
    Target("own table", "t.html", (_HTML,), _user("t.html")),
    Target("own table", "t.json", (_json(_LISTS), _json(_OBJECTS)), _user("t.json"), spoil=edited_json),
    Target("own table", "t.parquet", _PARQUETS, _user("t.parquet")),
    Target(
        *("own table", "passages.json", (_json({"Elm": "A town.", "x": ""}),), _passages),
        *(lambda folder: write(folder / "t.csv", "Town\n[[Elm|the elm]]\n"), edited_json),
    ),
    Target(
        *("predictions", "submission.json", (_json([{"question_id": "a", "pred": "x"}]),)),
        *(lambda folder: [*read_submission(folder / "submission.json", ["a"]).values()],),
        spoil=edited_json,
    ),
    Target(
        *("predictions", "reference.json", (_json({"reference": {"a": "x"}, "table": ["a"], "passage": []}),), _gold),
        spoil=edited_json,
    ),
    Target("predictions", "p.tsv", (b"nu-0\ta\tb\nnu-1\n",), _wtq_predictions),
    Target(
        *("sqa predictions", "p.tsv"),
        (
            _lines(
                "id\tannotator\tposition\tanswer_coordinates",
                *(f's-1\t{own}\t["(0, 1)"]' for own in ("0\t0", "0\t1", "0\t3", "1\t0")),
            ).replace(b'"(0, 1)"', b"'(0, 1)'"),
        ),
        *(_sqa_predictions, write_sqa),
    ),
)
