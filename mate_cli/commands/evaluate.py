"""Score a run, a selector with a reader, or a file of answers with the official metric."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console

from mate_cli.config.evaluation import EvaluateConfig
from mate_cli.config.inference import ALL_ROWS
from mate_cli.runs.folder import RunFolder, load_run_config
from mate_cli.system.errors import UserError
from mate_cli.system.importing import without_collection
from mate_cli.tables.formats import expands_cells
from mate_cli.tables.prediction_files import read_reference, read_submission

if TYPE_CHECKING:
    from mate_cli.inference.answer_split import Answers
    from mate_cli.inference.evaluate import EvaluatedRun
    from mate_cli.inference.stages import Stage


def run(config: EvaluateConfig) -> None:
    """Print the scores; those of a run and of a pipeline are kept, with what they are the scores of."""
    console = Console(soft_wrap=True)
    if config.run is not None:
        _score_run(config, config.run, console)
    elif config.selector is not None and config.reader is not None:
        _score_pipeline(config, config.selector, config.reader, console)
    elif config.predictions is not None and config.reference is not None:
        _score_file(config.predictions, config.reference, console)


def _score_run(config: EvaluateConfig, run: str, console: Console) -> None:
    with without_collection():
        from mate_cli.inference.caveats import unfinished
        from mate_cli.inference.stages import Stage
        from mate_cli.inference.trust import check_confidence, unanswered
        from mate_cli.reporting.calibration import unanswered_table
        from mate_cli.reporting.evaluation import record_and_show
        from mate_cli.reporting.model_card import update_card

    asked = _asked_run(config, run, console)
    if config.calibrate is not None or config.unanswerable:
        check_confidence(asked, "unanswerable" if config.unanswerable else "calibrate")
    part = config.split + _mark(config, Stage(asked.folder, asked.config), console)
    label = _label(config, part)
    for line in unfinished(asked.folder):
        console.print(line, highlight=False, markup=False)
    if config.unanswerable:
        console.print(unanswered_table(label, unanswered(asked, label)))
    else:
        evaluation = asked.evaluation()
        record_and_show(asked.folder, label, evaluation, console)
        if not config.blank_question:
            _show_trust(config, asked, part, evaluation.predictions, console)
    with asked.folder.recording():
        update_card(asked.folder)


def _label(config: EvaluateConfig, part: str) -> str:
    """Return the name of scores and predictions: the part of the data, then what else differs from the training."""
    held_out = "held_out" if config.calibrate is not None and config.split == "train" else None
    rows = config.rows if config.rows != ALL_ROWS else None
    seen, blank = "unseen" if config.seen else None, "blank" if config.blank_question else None
    marks = (config.format, held_out, rows, seen, blank)
    return "-".join(str(word) for word in (part, config.max_tokens, config.expansion, *marks) if word)


def _mark(config: EvaluateConfig, trained: Stage, console: Console) -> str:
    """Return the mark of other data than that of the training (``runs.other_data``), and say that there is one."""
    from mate_cli.runs.other_data import data_mark

    mark = data_mark(trained.folder, trained.config, config.data_dir)
    if mark:
        console.print(
            f"by its content this is not the data of the training: scores and files go by {config.split}{mark}",
            highlight=False,
        )
    return mark


def _asked_run(config: EvaluateConfig, run: str, console: Console) -> EvaluatedRun:
    """The run with the part of the split that it is asked.

    Raises:
        UserError: it is none, would be asked for an expansion that changes nothing, or examples of another kind.
    """
    from mate_cli.encoding.source import DataSource, SplitSource, UnseenSource, training_split
    from mate_cli.inference.evaluate import EvaluatedRun
    from mate_cli.inference.trust import held_out_tables

    folder = RunFolder(Path(run))
    trained = load_run_config(folder.path, config.max_tokens, config.expansion)
    if config.expansion is not None and not expands_cells(trained.task):
        raise UserError(
            f"expansion={config.expansion}: run={run} of task={trained.task.name} reads no linked passages that it "
            "could change; leave it out"
        )
    if config.rows != ALL_ROWS and trained.task.traits.asked is None:
        raise UserError(
            f"rows={config.rows}: run={run} of task={trained.task.name} is asked nothing by itself; leave it out"
        )
    made = trained.task.traits.made_formats
    if config.format is not None and config.format not in made:
        takes = ", ".join(made) or "none"
        raise UserError(f"format={config.format}: run={run} of task={trained.task.name} takes {takes}; leave it out")
    trained.paths = config.paths
    trained.task = replace(trained.task, format=config.format or trained.task.format)
    seen = tuple(training_split(Path(path)) for path in config.seen or ())

    def part(whole: DataSource) -> SplitSource:
        source = whole if config.calibrate is None else held_out_tables(folder, trained, whole)
        return UnseenSource(source, seen) if seen else source

    data = config.data_dir or trained.data_dir
    return EvaluatedRun(
        folder, trained, config.hardware, config.split, data, config.blank_question, console, part, config.rows
    )


def _show_trust(
    config: EvaluateConfig, run: EvaluatedRun, part: str, predictions: Mapping[str, Any], console: Console
) -> None:
    """Fit a calibration on the predictions, or measure that of the run, if it has one.

    Args:
        part: the split, with the mark of other data.
    """
    from mate_cli.inference.calibration import calibration_of
    from mate_cli.inference.trust import calibrated, has_confidence, measured
    from mate_cli.reporting.calibration import calibration_table, cells_line, measured_line, threshold_line

    if config.calibrate is not None:
        names = [Path(path).resolve().name for path in config.seen or ()]
        calibration = calibrated(run, part, predictions, config.calibrate, names)
        console.print(calibration_table(calibration))
        if run.config.task.traits.asked == "question":
            console.print(cells_line(calibration), highlight=False)
        console.print(threshold_line(calibration), highlight=False)
    elif has_confidence(run):
        known, remarks = calibration_of(run.folder)
        is_other = known is not None and known.measures["split"] != part
        measures = measured(run, _label(config, part), predictions, known) if known is not None and is_other else {}
        for line in [*remarks, *([measured_line(measures)] if measures else [])]:
            console.print(line, highlight=False, markup=False)


def _score_pipeline(config: EvaluateConfig, selector: str, reader: str, console: Console) -> None:
    from mate_cli.inference.answer_split import answer_split, known_weight, results_folder
    from mate_cli.inference.stages import open_pipeline

    pipeline = open_pipeline(selector, reader, config.paths)
    folder = RunFolder(Path(config.to or Path(config.paths.runs, "pointr", pipeline.name)))
    mark = _mark(config, pipeline.reader, console)
    weight = known_weight(config, folder, mark)
    with results_folder(folder, pipeline):
        answers = answer_split(config, pipeline, weight, console)
        _report_answers(folder, config.split, mark, answers, pipeline.reader.config.task.format, console)


def _report_answers(folder: RunFolder, split: str, mark: str, answers: Answers, data: str, console: Console) -> None:
    """Keep submission, records and scores in the folder, and show the scores."""
    from mate_cli.reporting.pointr import answers_table, summary_lines, write_answers
    from mate_cli.reporting.published import HYBRIDQA

    record, label = write_answers(folder, split, mark, answers), f"{split}{mark}"
    if answers.fit is not None:
        console.print(f"weight {answers.weight:g} of the reader answers most of these; kept for the other splits")
    if record["questions"]:
        published = HYBRIDQA if data == "hybridqa" else ()
        console.print(answers_table(f"{label}, {record['questions']} questions", record["scores"], label, published))
        for line in summary_lines(record):
            console.print(line, highlight=False)
    else:
        console.print(f"{label} is blind: answers written, nothing to score")
    console.print(f"submission file: {folder.path}/predictions-{label}.json", highlight=False, markup=False)


def _score_file(predictions: str, reference: str, console: Console) -> None:
    """HybridQA's answers are held against its reference file, those of SQA and WikiTableQuestions against questions."""
    from mate_cli.reporting.evaluation import submission_report

    if Path(reference).suffix == ".json":
        _score_spans(predictions, reference, console)
        return
    scores = submission_report(Path(predictions), Path(reference))
    console.print(scores.table)
    console.print(scores.summary, highlight=False)


def _score_spans(predictions: str, reference: str, console: Console) -> None:
    from mate_cli.metrics.hybridqa import answer_scores
    from mate_cli.reporting.pointr import answers_table, scores_record, summary_lines

    gold = read_reference(Path(reference))
    answers = read_submission(Path(predictions), gold)
    scores = {"answers": scores_record(answer_scores(gold, answers))}
    console.print(answers_table(f"{len(gold)} questions", scores))
    for line in summary_lines({"scores": scores, "gains": []}):
        console.print(line, highlight=False)
