"""Measure speed, FLOPs and memory of the encoders side by side, and draw the paper's figures 4 to 6."""

from __future__ import annotations

from rich.console import Console

from mate_cli.config.bench import BenchConfig


def run(config: BenchConfig) -> None:
    """Measure the suite; say which goals were met and where tables and figures are.

    Raises:
        UserError: nothing could be measured.
    """
    from mate_cli.bench.run import Bench
    from mate_cli.reporting.bench import BenchProgress, goal_lines, write_report

    console = Console(soft_wrap=True)
    with Bench(config) as bench, BenchProgress(console, len(bench.missing)) as progress:
        try:
            for point in bench.missing:
                progress.begin(point)
                progress.end(point, bench.measure(point))
            bench.results.finish()
        finally:  # an interrupted bench has tables and figures too
            write_report(bench.results.plain(), bench.results.folder)
    for line in goal_lines(bench.results.plain()["goals"]):
        console.print(line, highlight=False, markup=False)
    console.print(f"\ntables and figures: {bench.results.folder}/report.md", highlight=False, markup=False)
    bench.results.check_measured()
