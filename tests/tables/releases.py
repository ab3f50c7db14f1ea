"""Small releases of our own in the official layouts of SQA, WikiTableQuestions and TabFact."""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
from pathlib import Path

from mate_cli.tables.releases import Source

SQA_HEADER = "id\tannotator\tposition\tquestion\ttable_file\tanswer_coordinates\tanswer_text"
SQA_ROWS = (
    "s-1\t0\t0\twhich towns are there?\ttable_csv/1_1.csv\t['(0, 0)', '(1, 0)']\t['Birch', 'Elm']",
    's-1\t0\t1\t"which is ""large""\nor old?"\ttable_csv/1_1.csv\t[\'(1, 0)\']\t[\'Elm\']',
    "s-1\t0\t3\twho leads it?\ttable_csv/1_1.csv\t['(1, 1)']\t['Kim Ode']",
    "s-1\t1\t0\twho leads Birch?\ttable_csv/1_1.csv\t['(0, 1)']\t['Ann, the elder']",
    "s-2\t0\t0\twhat?\ttable_csv/gone.csv\t['(0, 0)']\t['x']",
)
SQA_TABLE = 'Town,Mayor\nBirch,"Ann, the elder"\nElm,Kim Ode\n'

WTQ_HEADER = "id\tutterance\tcontext\ttargetValue"
WTQ_ROWS = (
    'nt-1\twho leads "birch"?\tcsv/1-csv/1.csv\tAnn [1]',
    "nt-2\thow many people live in all towns?\tcsv/1-csv/1.csv\t3,500",
    "nt-3\twhich towns have 1000?\tcsv/1-csv/1.csv\tBirch|elm",
    "nt-4\twhat is said of elm?\tcsv/1-csv/1.csv\tn/a",
    "nt-5\twhat is written?\tcsv/1-csv/1.csv\ta\\pb",
    "nt-6\twhich is the highest?\tcsv/1-csv/1.csv\tOak",
    'nt-7\t"\tcsv/1-csv/1.csv\t1000',
    "nt-8\twhat?\tcsv/9-csv/9.csv\t1",
)
WTQ_TABLE = (
    '"Town","Mayor\nin office","People",""\n"Birch (old)","Ann[1]","1000","a|b"\n"\\"Elm\\"","Kim Ode","1,000","N/A"\n'
    '"Ash","","1500","1000"\n'
)

TABFACT_TABLE = "town#people\nbirch#10\nelm#20\n"


def write(path: Path, content: object) -> None:
    """A file of text, or of JSON."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes((content if isinstance(content, str) else json.dumps(content)).encode())


def write_sqa(folder: Path) -> Path:
    """Four questions whose table is there, one whose is not."""
    for name in ("random-split-1-train", "random-split-1-dev", "test"):
        write(folder / f"{name}.tsv", "\n".join((SQA_HEADER, *SQA_ROWS)) + "\n")
    write(folder / "table_csv" / "1_1.csv", SQA_TABLE)
    return folder


def write_wtq(folder: Path) -> Path:
    """Seven questions whose table is there, one whose is not."""
    for name in ("random-split-1-train", "random-split-1-dev", "pristine-unseen-tables"):
        write(folder / "data" / f"{name}.tsv", "\n".join((WTQ_HEADER, *WTQ_ROWS)) + "\n")
    write(folder / "csv" / "1-csv" / "1.csv", WTQ_TABLE)
    return folder


def write_tabfact(folder: Path) -> Path:
    """As lemmas; the tables a and b are there, and g is not."""
    for name, tables in (("train", "abg"), ("val", "ab"), ("test", "ba")):
        statements = {f"{table}.html.csv": [[f"elm be {table}", "birch have 10"], [1, 0], table] for table in tables}
        write(folder / "tokenized_data" / f"{name}_examples.json", statements)
        write(folder / "data" / f"{name}_id.json", list(statements))
    write(folder / "data" / "simple_ids.json", ["a.html.csv"])
    write(folder / "data" / "complex_ids.json", ["b.html.csv"])
    write(folder / "data" / "small_test_id.json", ["b.html.csv"])
    for table in "ab":
        write(folder / "data" / "all_csv" / f"{table}.html.csv", TABFACT_TABLE)
    return folder


def zipped(*files: tuple[str | zipfile.ZipInfo, bytes]) -> bytes:
    """A zip archive of files, whatever their names."""
    sink = io.BytesIO()
    with zipfile.ZipFile(sink, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files:
            archive.writestr(name, content)
    return sink.getvalue()


def zipped_sqa(folder: Path) -> tuple[bytes, Source]:
    """The release of ``write_sqa`` as an archive, and what is to be known of it."""
    write_sqa(folder)
    archive = zipped(*((f"SQA/{p.relative_to(folder)}", p.read_bytes()) for p in folder.rglob("*") if p.is_file()))
    sha256 = hashlib.sha256(archive).hexdigest()
    parts = ("test.tsv", "random-split-1-train.tsv", "random-split-1-dev.tsv", "table_csv")
    url = "http://official.invalid/SQA.zip"
    return archive, Source("SQA 1.zip", url, sha256, len(archive), root="SQA", parts=parts)
