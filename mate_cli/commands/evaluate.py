"""Score a run, a selector with a reader, or a file of answers with the official metric."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console

from mate_cli.config.inference import EvaluateConfig
from mate_cli.runs.folder import RunFolder, load_run_config
from mate_cli.system.importing import without_collection
from mate_cli.tables.prediction_files import read_reference, read_submission

if TYPE_CHECKING:
    from mate_cli.inference.answer_split import Answers
    from mate_cli.inference.evaluate import EvaluatedRun


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
        from mate_cli.inference.trust import check_confidence, unanswered
        from mate_cli.reporting.calibration import unanswered_table
        from mate_cli.reporting.evaluation import record_and_show

    asked = _asked_run(config, run, console)
    if config.calibrate is not None or config.unanswerable:
        check_confidence(asked, "unanswerable" if config.unanswerable else "calibrate")
    if config.unanswerable:
        console.print(unanswered_table(config.split, unanswered(asked)))
        return
    evaluation = asked.evaluation()
    held_out = "held_out" if config.calibrate is not None and config.split == "train" else None
    marks = (held_out, "unseen" if config.seen else None, "blank" if config.blank_question else None)
    parts = (config.split, config.max_tokens, config.expansion, *marks)
    record_and_show(asked.folder, "-".join(str(part) for part in parts if part), evaluation, console)
    if not config.blank_question:
        _show_trust(config, asked, evaluation.predictions, console)


def _asked_run(config: EvaluateConfig, run: str, console: Console) -> EvaluatedRun:
    """The run with the part of the split that it is asked."""
    from mate_cli.encoding.source import DataSource, SplitSource, UnseenSource
    from mate_cli.inference.evaluate import EvaluatedRun
    from mate_cli.inference.trust import held_out_tables

    folder = RunFolder(Path(run))
    trained = load_run_config(folder.path, config.max_tokens, config.expansion)
    trained.paths = config.paths
    seen = tuple(Path(path).expanduser() for path in config.seen or ())

    def part(whole: DataSource) -> SplitSource:
        source = whole if config.calibrate is None else held_out_tables(folder, trained, whole)
        return UnseenSource(source, seen) if seen else source

    data = config.data_dir or trained.data_dir
    return EvaluatedRun(folder, trained, config.hardware, config.split, data, config.blank_question, console, part)


def _show_trust(config: EvaluateConfig, run: EvaluatedRun, predictions: Mapping[str, Any], console: Console) -> None:
    """Fit a calibration on the predictions, or measure that of the run, if it has one."""
    from mate_cli.inference.calibration import calibration_of
    from mate_cli.inference.trust import calibrated, has_confidence, measured
    from mate_cli.reporting.calibration import calibration_table, cells_line, measured_line, threshold_line

    if config.calibrate is not None:
        names = [Path(path).resolve().name for path in config.seen or ()]
        calibration = calibrated(run, predictions, config.calibrate, names)
        console.print(calibration_table(calibration))
        if run.config.task.traits.asked == "question":
            console.print(cells_line(calibration), highlight=False)
        console.print(threshold_line(calibration), highlight=False)
    elif has_confidence(run):
        known, remarks = calibration_of(run.folder)
        is_other = known is not None and known.measures["split"] != config.split
        measures = measured(run, predictions, known) if known is not None and is_other else {}
        for line in [*remarks, *([measured_line(measures)] if measures else [])]:
            console.print(line, highlight=False, markup=False)


def _score_pipeline(config: EvaluateConfig, selector: str, reader: str, console: Console) -> None:
    from mate_cli.inference.answer_split import answer_split, known_weight, results_folder
    from mate_cli.inference.stages import open_pipeline

    pipeline = open_pipeline(selector, reader, config.paths)
    folder = RunFolder(Path(config.to or Path(config.paths.runs, "pointr", pipeline.name)))
    weight = known_weight(config, pipeline, folder)
    with results_folder(folder, pipeline):
        answers = answer_split(config, pipeline, weight, console)
        _report_answers(folder, config.split, answers, pipeline.reader.config.task.format, console)


def _report_answers(folder: RunFolder, split: str, answers: Answers, data: str, console: Console) -> None:
    """Keep submission, records and scores in the folder, and show the scores."""
    from mate_cli.reporting.pointr import answers_table, summary_lines, write_answers
    from mate_cli.reporting.published import HYBRIDQA

    record = write_answers(folder, split, answers)
    if answers.fit is not None:
        console.print(f"weight {answers.weight:g} of the reader answers most of these; kept for the other splits")
    if record["questions"]:
        published = HYBRIDQA if data == "hybridqa" else ()
        console.print(answers_table(f"{split}, {record['questions']} questions", record["scores"], split, published))
        for line in summary_lines(record):
            console.print(line, highlight=False)
    else:
        console.print(f"{split} is blind: answers written, nothing to score")
    console.print(f"submission file: {folder.path}/predictions-{split}.json", highlight=False, markup=False)


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
