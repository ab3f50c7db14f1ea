"""Analyse what models see, what runs answer wrongly, how runs compare, and whether questions find their tables."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console

from mate_cli.config.analysis import SUBJECTS, AnalysisConfig, AnalyzeConfig
from mate_cli.config.choices import one_for_each
from mate_cli.config.task import active_schedule
from mate_cli.runs.folder import load_run_config
from mate_cli.tables.perturb import Perturbation

if TYPE_CHECKING:
    from mate_cli.analysis.coverage import Document
    from mate_cli.analysis.outcomes import TableOutcomes


def run(config: AnalyzeConfig) -> None:
    """Run the analysis, print its tables, write its files."""
    _ANALYSES[config.analysis.name](config, Console(soft_wrap=True))


def _coverage(config: AnalyzeConfig, console: Console) -> None:
    """Count the share of rows and columns that the paper's bucketed attention sees."""
    from mate_cli.analysis.coverage import count_coverage
    from mate_cli.attention import Buckets
    from mate_cli.reporting.coverage import CAPTION, coverage_tables, write_coverage

    settings = [Buckets(*sizes) for sizes in product(config.analysis.global_sizes, config.analysis.radii)]
    counts = count_coverage(_documents(config, console), settings)
    for table in coverage_tables(counts):
        console.print(table)
    console.print(CAPTION)
    write_coverage(counts, Path(config.to), sys.argv[1:])
    console.print(f"{config.to}: coverage.json, coverage.md, coverage.png", highlight=False, markup=False)


def _documents(config: AnalyzeConfig, console: Console) -> Iterable[Document]:
    """The examples of a task, or generated tables where there is none."""
    from mate_cli.analysis.coverage import encoded_documents, generated_documents
    from mate_cli.kinds.registry import task_of
    from mate_cli.training.splits import data_source, encoding_options, open_split
    from mate_cli.training.starting_model import encoding_model

    if config.task is None:
        return generated_documents()
    task = task_of(config)
    base = data_source(config.task, config.split, config.data_dir, config.paths)
    source = task.source(base, training=config.split == "train")
    vocabulary, model = encoding_model(config.backbone, config.model, active_schedule(config).max_tokens)
    options = encoding_options(config, task, model)
    split = open_split(source, vocabulary, options, config.paths, console)
    return encoded_documents(f"{config.task.name} {config.split}", split.dataset)


def _errors(config: AnalyzeConfig, console: Console) -> None:
    """Draw wrong answers of a run or a pipeline; say how near each is, and which stage is to blame."""
    from mate_cli.analysis.errors import sample_errors
    from mate_cli.analysis.outcomes import TableOutcomes, open_outcomes
    from mate_cli.reporting.errors import blame_table, miss_table, write_errors

    assert config.run is not None
    outcomes = open_outcomes(config.run, config.split, config.data_dir, config.paths)
    if isinstance(outcomes, TableOutcomes):
        _table_errors(config, outcomes, console)
        return
    errors = sample_errors(outcomes, config.analysis.sample, config.analysis.seed)
    for table in (miss_table(errors), blame_table(errors)):
        if table is not None:
            console.print(table)
    write_errors(errors, Path(config.to), f"{Path(config.run).resolve().name}, {config.split}: wrong answers")
    console.print(f"{config.to}: errors.html, errors.jsonl to annotate", highlight=False, markup=False)


def _table_errors(config: AnalyzeConfig, outcomes: TableOutcomes, console: Console) -> None:
    """Draw wrong answers to questions on tables alone; say what is wrong with each."""
    from mate_cli.analysis.errors import sample_table_errors
    from mate_cli.reporting.errors import mistake_table, write_table_errors

    errors = sample_table_errors(outcomes, config.analysis.sample, config.analysis.seed)
    console.print(mistake_table(errors))
    write_table_errors(errors, Path(config.to))
    console.print(f"{config.to}: errors.jsonl to annotate", highlight=False, markup=False)


def _breakdown(config: AnalyzeConfig, console: Console) -> None:
    """Score groups of questions: by table size, place in a conversation, kind of answer and so on."""
    from mate_cli.analysis.breakdown import break_down
    from mate_cli.analysis.outcomes import open_outcomes
    from mate_cli.reporting.breakdown import CAPTION, breakdown_table, write_breakdown

    assert config.run is not None
    result = break_down(open_outcomes(config.run, config.split, config.data_dir, config.paths))
    title = f"{Path(config.run).resolve().name}, {config.split}"
    console.print(breakdown_table(title, result))
    console.print(CAPTION)
    write_breakdown(title, result, Path(config.to), sys.argv[1:])
    console.print(f"{config.to}: breakdown.json, breakdown.md", highlight=False, markup=False)


def _compare(config: AnalyzeConfig, console: Console) -> None:
    """Compare runs or pipelines, each with the first."""
    from mate_cli.analysis.compare import compare
    from mate_cli.analysis.outcomes import open_outcomes
    from mate_cli.reporting.compare import compare_table, write_comparison

    assert config.runs is not None
    runs = compare([open_outcomes(run, config.split, config.data_dir, config.paths) for run in config.runs])
    title = f"{config.split}, {runs[0].questions} questions"
    console.print(compare_table(title, runs))
    write_comparison(title, runs, Path(config.to), sys.argv[1:])
    console.print(f"{config.to}: compare.json, compare.md", highlight=False, markup=False)


def _claims(config: AnalyzeConfig, console: Console) -> None:
    """Correct the comparisons behind claims for their number."""
    from mate_cli.analysis.claims import tested_claims
    from mate_cli.reporting.claims import CAPTION, claim_tables, write_claims

    assert config.claims is not None
    claims = tested_claims(Path(config.claims))
    for table in claim_tables(claims):
        console.print(table)
    console.print(CAPTION)
    write_claims(claims, Path(config.to), sys.argv[1:])
    console.print(f"{config.to}: claims.json, claims.md", highlight=False, markup=False)


def _approximation(config: AnalyzeConfig, console: Console) -> None:
    """Measure how the error of a tiny MATE on random maps falls with its depth."""
    from mate_cli.analysis.approximation import approximation_errors
    from mate_cli.reporting.approximation import approximation_table, write_approximation

    fits = approximation_errors(config.analysis.depths, range(config.analysis.maps))
    console.print(approximation_table(fits))
    write_approximation(fits, Path(config.to), sys.argv[1:])
    console.print(f"{config.to}: approximation.json", highlight=False, markup=False)


def _robustness(config: AnalyzeConfig, console: Console) -> None:
    """Count the predictions that change with the arrangement of tables, and score a run by length."""
    from mate_cli.analysis.robustness import JudgedRun, robustness
    from mate_cli.reporting.robustness import CAPTION, robustness_tables, write_robustness

    assert config.run is not None
    path, trained = Path(config.run), load_run_config(config.run, config.max_tokens)
    trained.paths = config.paths
    judged = JudgedRun(path, trained, config.hardware, config.split, config.data_dir, console)
    result = robustness(judged, list(_perturbations(config.analysis)))
    title = f"{path.resolve().name}, {config.split}"
    for table in robustness_tables(title, result):
        console.print(table)
    console.print(CAPTION)
    write_robustness(title, result, Path(config.to), sys.argv[1:])
    console.print(f"{config.to}: robustness.json, robustness.md, robustness.png", highlight=False, markup=False)


def _perturbations(analysis: AnalysisConfig) -> Iterator[Perturbation]:
    """Yield each kind once, distractors once for each share."""
    for kind in dict.fromkeys(analysis.perturbations):
        perturbation = Perturbation(kind, analysis.seed)  # type: ignore[arg-type]
        if kind == "distractors":
            yield from (replace(perturbation, share=share) for share in dict.fromkeys(analysis.distractors))
        else:
            yield perturbation


def _flow(config: AnalyzeConfig, console: Console) -> None:
    """Follow the attention of a table's tokens, beside a uniform one."""
    from mate_cli.analysis.attended import open_attended
    from mate_cli.reporting.flow import FlowReport, flow_tables, write_flow

    attended = open_attended(config, console)
    report = FlowReport(attended.title, attended.flow(config.hardware, console), attended.is_papers)
    for table in flow_tables(report):
        console.print(table)
    console.print(report.caption)
    files = write_flow(report, Path(config.to), sys.argv[1:])
    console.print(f"{config.to}: {', '.join(files)}", highlight=False, markup=False)


def _retrieval(config: AnalyzeConfig, console: Console) -> None:
    """Count how often the table of a question is found among all tables of the data."""
    from mate_cli.analysis.retrieval import measure_retrieval
    from mate_cli.reporting.retrieval import retrieval_table, write_retrieval
    from mate_cli.training.splits import data_sources

    assert config.task is not None
    retrieval = measure_retrieval(data_sources(config.task, config.data_dir, config.paths), config.split)
    name = f"{config.task.name} {config.split}"
    console.print(retrieval_table(name, retrieval))
    write_retrieval(name, retrieval, Path(config.to), sys.argv[1:])
    console.print(f"{config.to}: retrieval.json, retrieval.md", highlight=False, markup=False)


_ANALYSES = one_for_each(
    SUBJECTS,
    {
        "coverage": _coverage,
        "errors": _errors,
        "breakdown": _breakdown,
        "compare": _compare,
        "claims": _claims,
        "approximation": _approximation,
        "robustness": _robustness,
        "flow": _flow,
        "retrieval": _retrieval,
    },
)
