"""Official addresses of the four data sets; each file is pinned by its revision and SHA-256.

The checksums are published ones. Those of the four archives and of HybridQA's test.json were recorded by Hugging Face's
``datasets`` when it fetched these addresses (dataset_infos.json of msr_sqa, wikitablequestions, tab_fact, hybrid_qa).
Those of HybridQA's traced questions and reference come from one public reproduction of the same commit.
"""

from __future__ import annotations

from dataclasses import dataclass

_HYBRIDQA = "db22fda8c5951438fade3c69d75b350335ba93b3"
_WIKITABLES = "f4ed68e54e25c495f63d309de0b89c0f97b3c508"
_TABFACT = "948b5560e2f7f8c9139bd91c7f093346a2bb56a8"


@dataclass(frozen=True, slots=True)
class Source:
    """A file of a release and its destination.

    Attributes:
        name: file name among the downloads and at a mirror.
        size: in bytes, if published.
        to: path below the data folder: the file, or the folder to unpack an archive into.
        root: folder of the release in a zip archive; None for other files.
        parts: files and folders of the archive to unpack, below its root.
    """

    name: str
    url: str
    sha256: str
    size: int | None = None
    to: str = ""
    root: str | None = None
    parts: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Release:
    """A data set to fetch: name of its revision, licence, files."""

    revision: str
    licence: str
    sources: tuple[Source, ...]


def _questions(name: str, sha256: str, size: int | None = None) -> Source:
    host = f"https://raw.githubusercontent.com/wenhuchen/HybridQA/{_HYBRIDQA}/released_data"
    return Source(f"hybridqa-{name}", f"{host}/{name}", sha256, size, f"released_data/{name}")


RELEASES = {
    "hybridqa": Release(
        _HYBRIDQA[:12],
        "MIT; passages are Wikipedia text",
        (
            _questions("train.traced.json", "5008fc2e4b8859f729201fe4a45800dba95686ab5cde5a9f1a66b5794e27fd5b"),
            _questions("dev.traced.json", "2fe4ca01e23d4e589ee6a79f46d7eeeddefd1d33a581c7ceb8955902da3f19c1"),
            _questions("test.json", "41845fec9cba21979e663a96626c2880adbf2d26b5667ea7d0bf61fab0cdc356", 1_071_558),
            _questions("dev_reference.json", "617cd141a09550e85a0634b68b2e16727a87f9a6005002d31f40d839dfa389ed"),
            Source(
                f"WikiTables-WithLinks-{_WIKITABLES}.zip",
                f"https://github.com/wenhuchen/WikiTables-WithLinks/archive/{_WIKITABLES}.zip",
                "8f8f708f485e38a6114cf7d246e6ac00eb6f7705a9e5b740ab2ef499b864da43",
                193_533_209,
                "WikiTables-WithLinks",
                f"WikiTables-WithLinks-{_WIKITABLES}",
                ("tables_tok", "request_tok"),
            ),
        ),
    ),
    "sqa": Release(
        "1.0",
        "Microsoft Research Data License, or CC BY-SA 4.0 by the release's own file",
        (
            Source(
                "SQA Release 1.0.zip",
                "https://download.microsoft.com/download/1/D/C/1DC270D2-1B53-4A61-A2E3-88AB3E4E6E1F/SQA%20Release%201.0.zip",
                "791a07ef90d6e736c186b25009d3c10cb38624b879bb668033445a3ab8892f64",
                4_796_932,
                root="SQA Release 1.0",
                parts=("random-split-1-train.tsv", "random-split-1-dev.tsv", "test.tsv", "table_csv"),
            ),
        ),
    ),
    "wtq": Release(
        "1.0.2",
        "CC BY-SA 4.0",
        (
            Source(
                "WikiTableQuestions-1.0.2-compact.zip",
                "https://github.com/ppasupat/WikiTableQuestions/releases/download/v1.0.2/WikiTableQuestions-1.0.2-compact.zip",
                "7c9ca7cc1ccd75fe4be0255b44be63f7b566761005f4ee6ce67e51c129d8b085",
                29_267_445,
                root="WikiTableQuestions",
                parts=("data", "csv", "tagged"),
            ),
        ),
    ),
    "tabfact": Release(
        _TABFACT[:12],
        "MIT, or CC BY 4.0 by the data set's card",
        (
            Source(
                f"Table-Fact-Checking-{_TABFACT}.zip",
                f"https://github.com/wenhuchen/Table-Fact-Checking/archive/{_TABFACT}.zip",
                "4f0bffb6e53b59760173dac82979a0e5272c2d97514659ac3f4b44c7a008df4a",
                196_508_436,
                root=f"Table-Fact-Checking-{_TABFACT}",
                parts=("data", "collected_data", "tokenized_data"),
            ),
        ),
    ),
}
"""By the name of the data format (``tables.formats``)."""
