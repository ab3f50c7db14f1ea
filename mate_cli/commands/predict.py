"""Answer a question, or a file of them, or judge a statement, on a table or a folder of tables of your own."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console

from mate_cli.config.inference import ANSWERS_FILE, PredictConfig
from mate_cli.inference.asked_tables import AskedTables
from mate_cli.system.distribution import QUESTIONS, STATEMENTS, released_model
from mate_cli.system.errors import Mistakes, UserError
from mate_cli.system.importing import without_collection
from mate_cli.system.output import print_json
from mate_cli.tables.table import Example, Table
from mate_cli.tables.table_folder import TableFolder
from mate_cli.tables.user_csv import CsvFormat
from mate_cli.tables.user_passages import linked, matched_passages, read_passages
from mate_cli.tables.user_questions import read_questions
from mate_cli.tables.user_table import open_table

if TYPE_CHECKING:
    from mate_cli.inference.stages import Pipeline, Stage


def run(config: PredictConfig) -> None:
    """Print the table with its chosen cells and the answer, or the same as JSON."""
    asked, model, warnings = _read(config)  # before PyTorch is imported, so that mistakes are reported at once
    if config.questions is not None:
        _answer_file(config, config.questions, asked, model, warnings)
        return
    question = config.question or config.statement or ""
    asked.search([question])
    example = asked.example(question)

    from mate_cli.reporting.answer import answer_line, found_line
    from mate_cli.reporting.marked_table import marked_table

    record = _answer(config, example, model) | asked.facts(question)
    record["warnings"] = [*warnings, *asked.remarks(question), *record["warnings"]]
    if config.run is None and config.selector is None:
        record["model"] = released_model()
    if config.output == "json":
        print_json(record, indent=2)
        return
    console = Console(soft_wrap=True)
    console.print(example.question, style="bold", markup=False, highlight=False)
    console.print(marked_table(example.table, record["cells"], console.width))
    console.print(answer_line(record), markup=False, highlight=False)
    if "tables" in record:
        console.print(found_line(record), markup=False, highlight=False)
    if "model" in record:
        console.print(f"model: {record['model']}, as no run is named", markup=False, highlight=False)
    for line in record["warnings"]:
        print(f"warning: {line}", file=sys.stderr)


def _read(config: PredictConfig) -> tuple[AskedTables, Stage | Pipeline, list[str]]:
    """Return what is asked, what answers, and what is odd about the files.

    Raises:
        UserError: some of them cannot be used; a line for each.
    """
    mistakes, texts, model, remark = Mistakes(), None, None, None
    tables: Table | TableFolder | None = None
    given = CsvFormat.named(config.encoding, config.separator, config.header_row)
    with mistakes.collected():
        if config.tables is not None:
            own = (config.questions, config.passages, config.to or ANSWERS_FILE, config.paths.runs)
            tables = _open_folder(config.tables, given, [path for path in own if path is not None])
        else:
            tables, remark = open_table(config.table or "", given)
    with mistakes.collected():
        texts = None if config.passages is None else read_passages(Path(config.passages))
    with mistakes.collected():
        model = _open(config)
    mistakes.check()
    assert tables is not None
    assert model is not None
    file = Path(config.passages or "")
    if isinstance(tables, TableFolder):
        return AskedTables(tables, texts, file), model, _left_out(tables)
    remarks = [] if remark is None else [remark]
    if texts is None:
        return AskedTables(tables), model, remarks
    table = linked(tables)
    passages, unused = matched_passages(file, texts, table)
    more = f" and {len(unused) - 1} more" if len(unused) > 1 else ""
    warnings = [f"{file}: no cell links to {unused[0]!r}{more}"] if unused else []
    return AskedTables(table, passages), model, [*remarks, *warnings]


def _open_folder(path: str, given: CsvFormat, skipped: list[str]) -> TableFolder:
    from mate_cli.reporting.progress import counted

    with counted("tables") as advance:
        return TableFolder(path, given, skipped, advance)


def _left_out(folder: TableFolder) -> list[str]:
    count = len(folder.left_out)
    if not count:
        return []
    return [f"tables={folder.folder}: {count:,} left out, {'first ' if count > 1 else ''}{folder.left_out[0]}"]


def _open(config: PredictConfig) -> Stage | Pipeline:
    """Open the run that answers, or the two stages that answer together."""
    from mate_cli.inference.stages import open_asked, open_pipeline

    if config.selector is not None:
        assert config.reader is not None
        return open_pipeline(config.selector, config.reader, config.paths, ())
    part = QUESTIONS if config.statement is None else STATEMENTS
    stage = open_asked(config.run, config.paths, part)
    if config.statement is not None and stage.config.task.traits.asked != "statement":
        raise UserError(f"statement: run={config.run} answers questions; leave out run, or name a run of task=tabfact")
    if config.before and not stage.config.task.traits.converses:
        answering = released_model() if config.run is None else f"run={config.run}"
        raise UserError(f"before: {answering} was not trained on conversations; name a run of task=sqa")
    return stage


def _answer(config: PredictConfig, example: Example, model: Stage | Pipeline) -> dict[str, Any]:
    """The record of the answer: a cell's text, cells and an operator on them, a label, or a span."""
    with without_collection():
        from mate_cli.inference.answerer import Answerer
        from mate_cli.inference.caveats import caveats, unfinished, withheld
        from mate_cli.inference.pointr import read_cells, top_cells
        from mate_cli.inference.stages import Stage
        from mate_cli.kinds.cell_selection import answer_record
        from mate_cli.reporting.answer import read_answer_record
        from mate_cli.reporting.progress import reading
        from mate_cli.tasks.cell_selection import CellPrediction

    if isinstance(model, Stage):
        answerer = Answerer(model.folder, model.config, config.hardware, config.max_tokens, config.rows)
        with reading(example.table) as advance:
            record = answerer.record(example, config.before or (), config.top, advance)
        remarks = [*answerer.remarks, *caveats(model.config, record)]
        return withheld(record, config.threshold) | {"warnings": remarks}
    assert isinstance(model.selector, Stage)
    stage = model.selector
    answerer = Answerer(stage.folder, stage.config, config.hardware, config.max_tokens)
    with reading(example.table):
        ranking = answerer.answer(example)
    assert isinstance(ranking, CellPrediction)
    selection = {example.id: top_cells(ranking, config.top)}
    cells = read_cells(model, [example], selection, config.hardware, Console(file=sys.stderr, soft_wrap=True))
    record = answer_record(example.question, example.table, ranking, config.top)
    record = read_answer_record(record, cells[example.id], config.weight)
    halves = [*unfinished(model.selector.folder), *unfinished(model.reader.folder)]
    return withheld(record, config.threshold) | {"warnings": [*halves, *caveats(model.reader.config, record)]}


def _answer_file(
    config: PredictConfig, path: str, asked: AskedTables, model: Stage | Pipeline, warnings: list[str]
) -> None:
    """Answer the questions of a file into another, and say how many there are."""
    questions = read_questions(Path(path))
    with without_collection():
        from mate_cli.inference.answerer import Answerer
        from mate_cli.inference.question_file import QuestionFile
        from mate_cli.inference.stages import Stage

    assert isinstance(model, Stage)
    answerer = Answerer(model.folder, model.config, config.hardware, config.max_tokens, config.rows)
    facts = {"model": released_model()} if config.run is None else {"run": config.run}
    file = QuestionFile(answerer, model.config, asked, facts, config.top, config.threshold)
    console = Console(stderr=True, soft_wrap=True)
    to = config.to or ANSWERS_FILE
    had, unanswered = file.answer(questions, Path(to), console)
    if unanswered:
        first = "the first: " if len(unanswered) > 1 else ""
        warnings = [*warnings, f"{len(unanswered)} without an answer, see unanswered in {to}; {first}{unanswered[0]}"]
    for line in warnings:
        print(f"warning: {line}", file=sys.stderr)
    before = f", {had} of them from an earlier run" if had else ""
    without = f", {len(unanswered)} of them empty" if unanswered else ""
    print(f"{to}: {len(questions)} answer{'' if len(questions) == 1 else 's'}{before}{without}")
