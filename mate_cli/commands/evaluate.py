"""Score a run, a selector with a reader, or a file of answers with the official metric."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console

from mate_cli.config.inference import EvaluateConfig
from mate_cli.runs.folder import RunFolder, load_run_config
from mate_cli.system.importing import without_collection
from mate_cli.tables.prediction_files import read_reference, read_submission

if TYPE_CHECKING:
    from mate_cli.inference.answer_split import Answers


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
        from mate_cli.inference.evaluate import evaluate_run
        from mate_cli.reporting.evaluation import record_and_show

    folder = RunFolder(Path(run))
    trained = load_run_config(folder.path, config.max_tokens, config.expansion)
    trained.paths = config.paths
    evaluation = evaluate_run(
        folder, trained, config.hardware, config.split, console, config.data_dir, config.blank_question
    )
    parts = (config.split, config.max_tokens, config.expansion, "blank" if config.blank_question else None)
    label = "-".join(str(part) for part in parts if part)
    record_and_show(folder, label, evaluation, console)


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
