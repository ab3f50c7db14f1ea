"""The splits of a task: where their files are, and their encoded rows."""

from __future__ import annotations

import os
import shutil
from dataclasses import replace
from pathlib import Path

from rich.console import Console

from mate_cli.config import SPLITS, PathsConfig, TaskConfig, cache_folder
from mate_cli.encoding.cache import EncodedSplit, open_cache
from mate_cli.encoding.features import EncodingOptions
from mate_cli.encoding.source import HybridQASource, content_hash
from mate_cli.errors import UserError
from mate_cli.models.configuration import MateConfig
from mate_cli.tables import sample
from mate_cli.tables.hybridqa import Split, check_layout


def data_folder(task: TaskConfig, data_dir: str | None, paths: PathsConfig) -> Path:
    """The folder of a task's data in HybridQA's layout; the sample is generated on first use.

    Raises:
        UserError: the task needs ``data_dir``, and there is none.
    """
    if task.reader == "sample":
        return _sample_folder(cache_folder(paths))
    if data_dir is None:
        raise UserError(
            f"task={task.name} needs data_dir=DIR, a folder with released_data/ and WikiTables-WithLinks/ "
            "(github.com/wenhuchen/HybridQA); to try mate without data: task=sample"
        )
    return Path(data_dir).expanduser()


def encoding_options(task: TaskConfig, max_tokens: int, model: MateConfig) -> EncodingOptions:
    """What the task and the model say about the encoding.

    Raises:
        UserError: the model cannot read so many tokens.
    """
    if model.heads == "linformer" and max_tokens > model.linformer_tokens:
        raise UserError(
            f"max_tokens={max_tokens} is more than the {model.linformer_tokens} tokens that this Linformer was made "
            "for; keep max_tokens as it was in training, or train again"
        )
    return EncodingOptions(
        max_tokens,
        task.sentences,
        task.input,  # type: ignore[arg-type]
        model.reset_position_index_per_cell,
        model.max_position_embeddings,
        model.histogram_row,
    )


def open_split(
    source: HybridQASource,
    vocabulary: Path,
    options: EncodingOptions,
    paths: PathsConfig,
    console: Console,
    processes: int | None = None,
) -> EncodedSplit:
    """The encoded rows of a split, from the cache or into it."""
    processes = processes or os.cpu_count() or 1
    split = open_cache(source, vocabulary, options, cache_folder(paths), processes, console)
    report = split.report
    if report.left_out or report.missing_tables:
        console.print(
            f"{source.split}: {len(report.left_out)} of {report.questions} questions do not fit {report.max_tokens} "
            f"tokens at one word a cell, {report.missing_tables} have no table; they are left out"
        )
    return split


class BlankedSource(HybridQASource):
    """A split with its questions taken away: what can be guessed from the tables alone."""

    def files(self) -> list[Path]:
        """The split's own, and a name that no file bears, so that the cache tells the two apart."""
        return [*super().files(), Path("questions taken away")]

    def read(self) -> Split:
        split = super().read()
        return replace(split, examples=tuple(replace(example, question="") for example in split.examples))


def _sample_folder(cache: Path) -> Path:
    """The generated sample, made anew when its generator changes; complete or not there."""
    code = content_hash(sorted(Path(sample.__file__).parent.glob("*.py")))
    folder = cache / "sample" / code[:16]
    if folder.is_dir():
        return folder
    partial = folder.with_name(f"{folder.name}.{os.getpid()}.partial")
    try:
        shutil.rmtree(partial, ignore_errors=True)
        partial.mkdir(parents=True)
        sample.write_sample(partial)
        partial.rename(folder)
    except OSError as error:
        if not folder.is_dir():
            raise UserError(
                f"cannot write the sample to {folder}: {error.strerror}; set paths.cache or MATE_CACHE to a folder "
                "that you may write to"
            ) from error
    finally:
        shutil.rmtree(partial, ignore_errors=True)
    return folder


def present_splits(folder: Path) -> list[str]:
    """The splits that a data folder has, ``train`` first.

    Raises:
        UserError: it has none, or is not in HybridQA's layout.
    """
    check_layout(folder)
    found = [split for split in SPLITS if list((folder / "released_data").glob(f"{split}.*json"))]
    if not found:
        raise UserError(f"{folder / 'released_data'} holds no questions: neither train.json nor dev.json nor test.json")
    return found
