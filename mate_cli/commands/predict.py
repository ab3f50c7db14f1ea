"""Answer a question on a table of your own, with the chosen cells marked."""

from __future__ import annotations

from mate_cli.config import PredictConfig


def run(config: PredictConfig) -> None:
    """Print the table with its likeliest cells, or the same as JSON."""
    import json
    from pathlib import Path

    from rich.console import Console

    from mate_cli.reporting.answer import answer_record, marked_table
    from mate_cli.tables.user_table import read_csv
    from mate_cli.training.predict import predict_cells

    table = read_csv(Path(config.table))
    prediction = predict_cells(config, table)
    record = answer_record(config.question, table, prediction, config.top)
    if config.output == "json":
        print(json.dumps(record, ensure_ascii=False, indent=2))
        return
    console = Console(soft_wrap=True)
    console.print(config.question, style="bold", markup=False, highlight=False)
    console.print(marked_table(table, prediction, config.top))
    best = record["cells"][0]
    console.print(
        f"answer: {best['text']}  ({best['header']}, row {best['row']}; probability {best['probability']:.2f})",
        markup=False,
        highlight=False,
    )
