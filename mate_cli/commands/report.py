"""Write one HTML page of all that has been run: runs with scores and curves, tables, figures."""

from __future__ import annotations

from pathlib import Path

from rich.console import Console

from mate_cli.config.commands import ReportConfig
from mate_cli.reporting.markdown import documents
from mate_cli.reporting.runs import chosen_runs, report_broken
from mate_cli.runs.folder import written_to
from mate_cli.runs.records import read_runs
from mate_cli.system.errors import UserError
from mate_cli.system.files import write_text


def run(config: ReportConfig) -> None:
    """Read the run folders and the Markdown of the tables; write the page.

    Raises:
        UserError: a folder is not there, there is nothing to tell, or the page cannot be written.
    """
    from mate_cli.reporting.run_page import run_page

    runs, broken = read_runs(Path(config.paths.runs))
    report_broken(broken)
    chosen = runs if config.where is None else chosen_runs(runs, config.where)
    shown = documents(config.tables)
    if runs and not chosen:
        raise UserError(f"where={config.where}: none of the {len(runs)} runs in {config.paths.runs} is like that")
    if not (chosen or shown or broken):
        raise UserError(
            f"nothing to report: no runs in {config.paths.runs} and no tables; mate train or mate reproduce makes some"
        )
    page, file = run_page(chosen, broken, shown), Path(config.to)
    with written_to(file.parent):
        write_text(file, page)
    size = f"{len(page.encode()) / 2**20:.1f} MiB"
    Console(soft_wrap=True).print(
        f"{file}: {len(chosen)} runs, {len(shown)} tables and figures, {size}", highlight=False, markup=False
    )
