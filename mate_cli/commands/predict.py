"""Answer a question on a table of your own, with the chosen cells marked."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mate_cli.config import PredictConfig

if TYPE_CHECKING:
    from mate_cli.tables.table import Example
    from mate_cli.tasks.cell_selection import CellPrediction


def run(config: PredictConfig) -> None:
    """Print the table with its likeliest cells and the answer, or the same as JSON."""
    import json

    from rich.console import Console

    from mate_cli.reporting.answer import marked_table

    example = _example(config)
    prediction, record = _answer(config, example)
    if config.output == "json":
        print(json.dumps(record, ensure_ascii=False, indent=2))
        return
    console = Console(soft_wrap=True)
    console.print(config.question, style="bold", markup=False, highlight=False)
    console.print(marked_table(example.table, prediction, config.top))
    console.print(_answer_line(record), markup=False, highlight=False)


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


def _answer(config: PredictConfig, example: Example) -> tuple[CellPrediction, dict[str, Any]]:
    """The ranked cells and the record of the answer: a cell's text, or with a reader a span."""
    import sys

    from rich.console import Console

    from mate_cli.reporting.answer import answer_record, read_answer_record
    from mate_cli.training.pointr import open_pipeline, open_stage, read_cells, top_cells
    from mate_cli.training.predict import predict_cells

    if config.selector is None or config.reader is None:
        assert config.run is not None
        stage = open_stage("run", config.run, "cell_selection", config.paths)
        prediction = predict_cells(stage.folder, stage.config, config.hardware, example)
        return prediction, answer_record(config.question, example.table, prediction, config.top)
    pipeline = open_pipeline(config.selector, config.reader, config.paths, untrained=())
    assert not isinstance(pipeline.selector, str)
    prediction = predict_cells(pipeline.selector.folder, pipeline.selector.config, config.hardware, example)
    selection = {example.id: top_cells(prediction, config.top)}
    cells = read_cells(pipeline, [example], selection, config.hardware, Console(file=sys.stderr, soft_wrap=True))
    record = answer_record(config.question, example.table, prediction, config.top)
    return prediction, read_answer_record(record, cells[example.id], config.weight)


def _answer_line(record: dict[str, Any]) -> str:
    best = record["cells"][record.get("chosen", 0)]
    place = f"{best['header']}, row {best['row']}"
    if "span" not in best:
        return f"answer: {record['answer']}  ({place}; probability {best['probability']:.2f})"
    sure = f"probability of the cell {best['probability']:.2f}, of the words {best['span_probability']:.2f}"
    return f"answer: {record['answer']}  (read from {place}; {sure})"
