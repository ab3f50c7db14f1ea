"""Find the folder of a task's data: named, fetched, or generated."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from mate_cli.config.paths import PathsConfig, cache_folder
from mate_cli.config.task import MixedConfig, TaskConfig
from mate_cli.system.errors import UserError
from mate_cli.system.files import content_hash, made_once, writing_cache
from mate_cli.tables import sample
from mate_cli.tables.download import release_folder
from mate_cli.tables.formats import FORMATS, FROM_MADE_QUESTIONS, data_problem, fetched_folders
from mate_cli.tables.queries.folder import LAYOUT, made_folder, source_folders


def data_folder(task: TaskConfig, data_dir: str | None, paths: PathsConfig) -> Path:
    """Return the folder of a task's data: ``data_dir``, or what ``mate prepare`` fetched, or what is generated.

    Raises:
        UserError: the task needs ``data_dir``, and there is none, or generates its data; or it has no questions.
    """
    if task.format == "corpus":
        raise UserError(f"task={task.name} asks no questions: it is for mate prepare, train and evaluate; name another")
    if problem := data_problem(task, data_dir, cache_folder(paths)):
        raise UserError(problem)
    if task.format == "sample":
        return _sample_folder(cache_folder(paths))
    if task.format in FROM_MADE_QUESTIONS:
        return _questions_folder(task, data_dir, cache_folder(paths))
    return release_folder(task.format, cache_folder(paths)) if data_dir is None else Path(data_dir).expanduser()


def mixed_task(task: TaskConfig) -> TaskConfig:
    """Return the task of the examples that are mixed into the training of ``task`` (``task.mixed.format``)."""
    assert task.mixed.format is not None
    return replace(task, name=task.mixed.format, format=task.mixed.format, mixed=MixedConfig())


def mixed_folder(task: TaskConfig, paths: PathsConfig) -> Path:
    """Return the folder of the examples that are mixed into the training of ``task``.

    Raises:
        UserError: there is no ``task.mixed.data_dir``; or it has no examples.
    """
    mixed = mixed_task(task)
    if data_problem(mixed, task.mixed.data_dir, cache_folder(paths)):
        raise UserError(
            f"task.mixed.format={mixed.format} needs task.mixed.data_dir=DIR, a folder with "
            f"{FORMATS[mixed.format].LAYOUT.content}"
        )
    return data_folder(mixed, task.mixed.data_dir, paths)


def _questions_folder(task: TaskConfig, data_dir: str | None, cache: Path) -> Path:
    """Return a folder that ``mate prepare`` wrote, or that of the questions about the tables of other folders."""
    if data_dir is None:
        return made_folder(fetched_folders(cache), task.queries, cache)
    folder = Path(data_dir).expanduser()
    is_written = all((folder / file).is_file() for (file,) in LAYOUT.questions.values())
    return folder if is_written else made_folder(source_folders(folder), task.queries, cache)


def _sample_folder(cache: Path) -> Path:
    """Return the folder of the sample; generate it on first use and after each change of its generator."""
    code = content_hash(sorted(Path(sample.__file__).parent.glob("*.py")))
    folder = cache / "sample" / code[:16]
    if folder.is_dir():
        return folder
    with writing_cache("the sample", folder), made_once(folder) as partial:
        if partial is not None:
            sample.write_sample(partial)
    return folder
