"""The corpus of a pre-training: open its shards, or make them."""

from __future__ import annotations

import os
import time
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from mate_cli.config.paths import PathsConfig, cache_folder
from mate_cli.config.task import TaskConfig
from mate_cli.encoding.corpus_builder import CorpusOptions, build_shards, fingerprint
from mate_cli.encoding.features import EncodingOptions
from mate_cli.encoding.masked_example import MaskingOptions
from mate_cli.encoding.masked_rows import ShardedCorpus
from mate_cli.encoding.shards import ShardFolder, ShardRecord
from mate_cli.encoding.tokenizer import CellTokenizer
from mate_cli.system.errors import UserError
from mate_cli.tables.corpus import Corpus
from mate_cli.tables.formats import data_problem

_PAPER_TABLES = 6.2e6
"""Number of Wikipedia tables in the pre-training of the paper (docs/notes.md, note 32)."""


def open_corpus(
    task: TaskConfig,
    data_dir: str | None,
    vocabulary: Path,
    paths: PathsConfig,
    console: Console,
    processes: int | None = None,
    to: str | None = None,
) -> ShardedCorpus:
    """Open the corpus in ``data_dir``: shards, or tables of which missing shards are made now.

    Args:
        to: folder or address of the shards to make; None: a folder of the cache.

    Raises:
        UserError: ``data_dir`` is missing or holds neither; ``to`` is not needed or inside ``data_dir``; the shards are
            broken or of another vocabulary; or they cannot be written.
    """
    cache = cache_folder(paths)
    if data_dir is None:
        raise UserError(str(data_problem(task, data_dir, cache)))
    url = data_dir if "://" in data_dir else str(Path(data_dir).expanduser())
    has_shards = ShardFolder(url).manifest() is not None
    if to is not None and has_shards:
        raise UserError(f"to={to}: {url} holds shards already")
    if to is not None and "://" not in to + url and Path(to).resolve().is_relative_to(Path(url).resolve()):
        raise UserError(f"to={to}: it lies in data_dir; choose a folder beside it")
    if not has_shards:
        url = _make(task, url, vocabulary, cache, console, processes or os.cpu_count() or 1, to)
    return ShardedCorpus(url, vocabulary, cache / "shards")


def masking_options(task: TaskConfig, options: EncodingOptions) -> MaskingOptions:
    """The options with which a task makes examples of tables."""
    masking = task.masking
    return MaskingOptions(
        options.max_tokens,
        masking.share,
        masking.whole_cells,
        masking.joined_texts,
        masking.min_text,
        masking.max_text,
        options.positions,
        options.max_positions,
    )


def _make(
    task: TaskConfig, url: str, vocabulary: Path, cache: Path, console: Console, processes: int, to: str | None
) -> str:
    """Make the missing shards of tables; return their folder or address."""
    corpus, tokenizer = Corpus(url), CellTokenizer(vocabulary)
    options = CorpusOptions(task.masking.held_out)
    target = to or str(cache / "corpus" / fingerprint(corpus, tokenizer, options)[:32])
    columns = (TextColumn("shards"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True) as progress:
        bar, made, started = progress.add_task("shards", total=None), list[int](), time.monotonic()

        def advance(record: ShardRecord, is_new: bool, shards: int) -> None:
            made.extend([record.tables] * is_new)
            progress.update(bar, advance=1, total=shards)

        manifest = build_shards(corpus, ShardFolder(target), tokenizer, options, processes, advance)
    if made:
        console.print(_speed(sum(made), time.monotonic() - started, processes), highlight=False)
    if manifest.broken:
        console.print(
            f"{manifest.broken:,} tables cannot be read and are left out; the first: {manifest.reasons[0]}",
            highlight=False,
            markup=False,
        )
    return target


def _speed(tables: int, seconds: float, processes: int) -> str:
    rate = tables / seconds
    return (
        f"{tables:,} tables in {seconds:.1f} s, {rate / processes:,.0f} a second and process; the paper's "
        f"{_PAPER_TABLES / 1e6:.1f} million would take {_PAPER_TABLES / rate / 3600:,.1f} hours here"
    )
