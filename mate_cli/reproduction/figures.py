"""The pictures of the paper's figures."""

from __future__ import annotations

from pathlib import Path

from mate_cli.reporting.bench_figures import draw_figures
from mate_cli.reporting.pictures import PICTURES, draw_picture
from mate_cli.reproduction.experiment import Experiment, Measured
from mate_cli.reproduction.ledger import Ledger
from mate_cli.reproduction.steps import Measuring
from mate_cli.runs.folder import written_to


def draw(experiment: Experiment, ledger: Ledger, folder: Path) -> list[Path]:
    """The picture of a figure, as a PNG or several; none of a table, or of a bench that has not measured anything.

    Raises:
        UserError: the folder cannot be written.
    """
    name = experiment.figure
    if name is None:
        return []
    with written_to(folder):
        if name in PICTURES:
            file = folder / f"{experiment.name}.png"
            draw_picture(name, file)
            return [file]
        return draw_figures(_records(experiment, ledger), folder, only=name)


def _records(experiment: Experiment, ledger: Ledger) -> list[dict[str, object]]:
    sources = {source for row in experiment.rows.values() for source in row.sources.values()}
    steps = {Measuring(source.of(ledger.config.schedule)) for source in sources if isinstance(source, Measured)}
    return [record for step in steps for record in (step.result(ledger) or {}).get("records", [])]
