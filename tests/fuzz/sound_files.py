"""Sound files of every format, and writers of the folders that they belong to."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from tests.tables.releases import write, write_tabfact

QUESTIONS = [
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
WIKI_TABLE = {
    "url": "https://en.wikipedia.org/wiki/T",
    "title": "Towns",
    "header": [["Town", []], ["People", ["/wiki/People"]]],
    "data": [[["Birch", ["/wiki/Birch"]], ["12", []]], [["Elm", ["/wiki/Elm%20tree", "/wiki/Elm"]], ["3,000", []]]],
    "section_title": "List",
    "section_text": "",
    "intro": "Towns of the valley.",
}
LINKED = {
    "/wiki/Birch": "Birch is a town.",
    "/wiki/Elm": "Elm lies on Oak Street. It is old.",
    "/wiki/Elm tree": "",
    "/wiki/People": "Some.",
}


def write_hybridqa(folder: Path) -> None:
    write(folder / "released_data" / "dev.traced.json", QUESTIONS)
    write(folder / "WikiTables-WithLinks" / "tables_tok" / "T_0.json", WIKI_TABLE)
    write(folder / "WikiTables-WithLinks" / "request_tok" / "T_0.json", LINKED)


def write_wikipedia(folder: Path) -> None:
    write(folder / "tables_tok" / "t.json", WIKI_TABLE)
    write(folder / "request_tok" / "t.json", LINKED)


def write_written(folder: Path) -> None:
    write_tabfact(folder)
    for name in ("r1", "r2"):
        write(folder / "collected_data" / f"{name}_training_all.json", STATEMENTS)


def write_own(folder: Path) -> None:
    write(folder / "t.csv", "Town,People\nBirch,12\nElm,3\nOak,12\n")
    write(folder / "train.csv", OWN_QUESTIONS.decode())


OWN_QUESTIONS = (
    b'id,question,table,answer\n1,How many live in Elm?,t.csv,3\n2,"Which, if any?",t.csv,Birch|Oak\n3,How?,t.csv,15\n'
)
STATEMENTS = {"a.html.csv": [["Elm has 20", "none has"], [1, 0], "towns"], "b.html.csv": [["x"], [0], ""]}
CSV = b'\xef\xbb\xbfTown,People,"Said, of it"\r\nBirch,12,"a ""b"" c"\r\n\r\nElm,"3,000",\n'
HTML = (
    b"<!DOCTYPE html><html><head><style>td {}</style><title>x</title></head><body><!-- <table> --><p>a & b &lt; c"
    b"<table class='wikitable sortable'><caption>Towns <i>of</i></caption><thead><tr><th rowspan=2>Town<th colspan=2>"
    b"People</tr><tr><th>1990<th>2000</tr></thead><tbody><tr><td>Birch<br/>old<td rowspan=0>1<td>2</tr><tr><td>Elm"
    b"<script>if (1 < 2) n()</script><td>4<table><tr><td>inner</table></tr></tbody></table>&nbsp;end&amp"
)
LISTS = [["Town", "People"], ["Birch", 12], ["Elm", None]]
OBJECTS = [{"Town": "Birch", "People": 12}, {"Town": "Elm", "Old": True, "Size": 1.5}]


def parquet(compression: str, **columns: object) -> bytes:
    sink = io.BytesIO()
    pq.write_table(pa.table(columns), sink, compression=compression)
    return sink.getvalue()


PARQUETS = (
    parquet("none", town=["Birch", None], people=[1, 2], size=[1.5, float("nan")], old=[True, None]),
    parquet(
        "snappy", town=pa.array(["a", "b", "a"]).dictionary_encode(), when=pa.array([1, 2, None], pa.timestamp("s"))
    ),
    parquet("zstd", n=pa.array([1, 2], pa.decimal128(9, 2)), d=pa.array([3, 4], pa.date32()), b=[b"x", b"\xff"]),
)
WIKI_LINE = WIKI_TABLE | {"passages": LINKED, "uid": "t1"}


def as_json(content: object) -> bytes:
    return json.dumps(content).encode()


def as_lines(*lines: str) -> bytes:
    return ("\n".join(lines) + "\n").encode()
