"""The splits of a task: where their files are, and their encoded rows."""

from __future__ import annotations

import os
import random
import shutil
from dataclasses import dataclass, field, replace
from pathlib import Path

from rich.console import Console

from mate_cli.config import SPLITS, PathsConfig, TaskConfig, cache_folder
from mate_cli.encoding.cache import EncodedSplit, open_cache
from mate_cli.encoding.features import EncodingOptions
from mate_cli.encoding.source import HybridQASource, SplitSource, content_hash
from mate_cli.errors import UserError
from mate_cli.models.configuration import MateConfig
from mate_cli.tables import sample
from mate_cli.tables.hybridqa import Split, check_layout
from mate_cli.tables.perturb import Perturbation, arrangements
from mate_cli.training.tasks import task_of


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
    options = EncodingOptions(
        max_tokens,
        None if task.expansion == "all" else task.sentences,
        task.input,  # type: ignore[arg-type]
        model.reset_position_index_per_cell,
        model.max_position_embeddings,
        model.histogram_row,
    )
    return task_of(task).encoding(options)


def open_split(
    source: SplitSource,
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


def without_ambiguous(split: EncodedSplit, console: Console) -> EncodedSplit:
    """The rows with at most one candidate cell: the paper's ablation "- ambiguous" (checklist 98); says how many go.

    Raises:
        UserError: none is left to train on.
    """
    counts = [len(rows) for rows in split.dataset["candidate_rows"]]
    kept = [number for number, count in enumerate(counts) if count <= 1]
    if len(kept) == len(counts):  # a reader's: each is about one cell
        return split
    console.print(f"train: {len(counts) - len(kept):,} of {len(counts):,} questions have several candidates; left out")
    if not any(counts[number] for number in kept):
        raise UserError("task.ambiguous=false leaves no question with a candidate to train on")
    return replace(split, dataset=split.dataset.select(kept))


class BlankedSource(HybridQASource):
    """A split with its questions taken away: what can be guessed from the tables alone."""

    def files(self) -> list[Path]:
        """The split's own, and a name that no file bears, so that the cache tells the two apart."""
        return [*super().files(), Path("questions taken away")]

    def read(self) -> Split:
        split = super().read()
        return replace(split, examples=tuple(replace(example, question="") for example in split.examples))


@dataclass(frozen=True)
class DrawnSource(HybridQASource):
    """A split of which so many questions are drawn at random, always the same ones, in their order."""

    limit: int = field(kw_only=True)

    def files(self) -> list[Path]:
        """The split's own, and a name that no file bears, so that the cache tells the two apart."""
        return [*super().files(), Path(f"{self.limit} questions drawn")]

    def read(self) -> Split:
        examples = super().read().examples
        places = random.Random(0).sample(range(len(examples)), min(self.limit, len(examples)))
        return Split(tuple(examples[place] for place in sorted(places)), missing_tables=0, questions=len(places))


@dataclass(frozen=True)
class PerturbedSource:
    """A split with its tables changed in a way that answers should not depend on."""

    base: SplitSource
    perturbation: Perturbation

    @property
    def split(self) -> str:
        return self.base.split

    def files(self) -> list[Path]:
        """Those of the split, and a name that no file bears, so that the cache tells one change from another."""
        return [*self.base.files(), Path(str(self.perturbation))]

    def read(self) -> Split:
        before = self.base.read()
        tables = arrangements(before.examples, self.perturbation)
        examples = tuple(tables[example.table.id].applied(example) for example in before.examples)
        return Split(examples, before.missing_tables, before.questions)


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
