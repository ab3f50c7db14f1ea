"""Answer a question on a table of your own, with the chosen cells marked."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mate_cli.config.inference import PredictConfig

if TYPE_CHECKING:
    from mate_cli.tables.table import Example


def run(config: PredictConfig) -> None:
    """Print the table with its chosen cells and the answer, or the same as JSON."""
    import json

    from rich.console import Console

    from mate_cli.reporting.answer import answer_line, marked_table

    example = _example(config)
    record = _run_answer(config, config.run, example) if config.run is not None else _read_answer(config, example)
    if config.output == "json":
        print(json.dumps(record, ensure_ascii=False, indent=2))
        return
    console = Console(soft_wrap=True)
    console.print(config.question, style="bold", markup=False, highlight=False)
    console.print(marked_table(example.table, record["cells"]))
    console.print(answer_line(record), markup=False, highlight=False)


def _example(config: PredictConfig) -> Example:
    """The question on the user's table, with the passages that its cells link to."""
    import sys
    from pathlib import Path

    from mate_cli.tables.table import Example
    from mate_cli.tables.user_passages import linked, matched_passages, read_passages
    from mate_cli.tables.user_table import read_table

    table = read_table(Path(config.table))
    if config.passages is None:
        return Example("question", config.question, table)
    path, table = Path(config.passages), linked(table)
    passages, unused = matched_passages(path, read_passages(path), table)
    if unused:
        more = f" and {len(unused) - 1} more" if len(unused) > 1 else ""
        print(f"warning: {path}: no cell links to {unused[0]!r}{more}", file=sys.stderr)
    return Example("question", config.question, table, passages=passages)


def _run_answer(config: PredictConfig, run: str, example: Example) -> dict[str, Any]:
    """The record of what one run says: a cell's text, cells and an operator on them, or a label."""
    from mate_cli.inference.pointr import open_stage
    from mate_cli.inference.predict import Answerer
    from mate_cli.reporting.answer import prediction_record
    from mate_cli.system.errors import UserError

    stage = open_stage("run", run, ("cell_selection", "table_qa", "entailment"), config.paths, config.max_tokens)
    if config.before and stage.config.task.kind != "table_qa":
        raise UserError(f"before: run={run} was not trained on conversations; name a run of task=sqa")
    prediction = Answerer(stage.folder, stage.config, config.hardware).converse(example, config.before or ())
    return prediction_record(config.question, example.table, prediction, config.top)


def _read_answer(config: PredictConfig, example: Example) -> dict[str, Any]:
    """The record of a selector's cells with what a reader found in them: a span."""
    import sys

    from rich.console import Console

    from mate_cli.inference.pointr import open_pipeline, read_cells, top_cells
    from mate_cli.inference.predict import predict_cells
    from mate_cli.reporting.answer import answer_record, read_answer_record

    assert config.selector is not None
    assert config.reader is not None
    pipeline = open_pipeline(config.selector, config.reader, config.paths, untrained=())
    assert not isinstance(pipeline.selector, str)
    prediction = predict_cells(pipeline.selector.folder, pipeline.selector.config, config.hardware, example)
    selection = {example.id: top_cells(prediction, config.top)}
    cells = read_cells(pipeline, [example], selection, config.hardware, Console(file=sys.stderr, soft_wrap=True))
    record = answer_record(config.question, example.table, prediction, config.top)
    return read_answer_record(record, cells[example.id], config.weight)
