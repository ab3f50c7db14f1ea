"""A reproduced table beside the paper's, for the terminal and as Markdown, LaTeX, CSV and pictures."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterator, Sequence
from pathlib import Path

from rich.table import Table as RichTable
from rich.text import Text

from mate_cli.reporting.bench_figures import draw_figures, machine_words
from mate_cli.reporting.grid import chance_text, markdown_table, terminal_table
from mate_cli.reporting.pictures import PICTURES, draw_picture
from mate_cli.reproduction.experiment import DataOf, Experiment, Measured
from mate_cli.reproduction.latex import latex_table
from mate_cli.reproduction.ledger import Ledger
from mate_cli.reproduction.outcome import Comparison, Outcome, OutcomeRow
from mate_cli.reproduction.plan import circumstances, circumstances_in_words
from mate_cli.reproduction.steps import Measuring
from mate_cli.runs.folder import written_to
from mate_cli.system.files import write_text

_NOTHING = "–"
_MIXED = "†"
_AT_ONCE = 6  # columns that fit into a terminal
_AGREEMENT = ("column", "row", "reference minus row, paper", "ours", "95% over seeds", "runs", "p", "verdict")

_CSV = ("row", "column", "median", "half_iqr", "n", "by_seed", "paper", "paper_error", "difference", "code")

Grid = list[list[str]]


def outcome_tables(outcome: Outcome) -> Iterator[RichTable]:
    """Yield tables of the rows, each with our values, the paper's and the difference; many columns need several."""
    lead = 3 if outcome.is_trained else 2
    grid = outcome_grid(outcome)
    for start in range(lead, len(grid[0]), _AT_ONCE):
        head, *rows = ([*line[:lead], *line[start : start + _AT_ONCE]] for line in grid)
        table = RichTable(title=Text(_title(outcome.experiment)))
        for number, name in enumerate(head):
            table.add_column(Text(name), justify="left" if number < 2 else "right", no_wrap=number == 1)
        for row in rows:
            table.add_row(*map(Text, row))
            if row[1] == "difference":
                table.add_section()
        yield table


def agreement_table(outcome: Outcome) -> RichTable | None:
    """Compare the order of the rows with the paper's; None if there is nothing to compare."""
    rows = list(_agreement_rows(outcome))
    title = Text(f"{outcome.experiment.name}: the order of the rows")
    return terminal_table(_AGREEMENT, rows, left=("column", "row"), title=title) if rows else None


def rank_lines(outcome: Outcome) -> list[str]:
    """Return a line for each column whose order can be compared."""
    return [
        f"{name}: rank correlation with the paper {agreement.rank_correlation:+.2f} over {agreement.rows} rows"
        for name, agreement in outcome.agreement.items()
        if agreement.rank_correlation is not None
    ]


def write_outcome(outcome: Outcome, ledger: Ledger, figures: Sequence[Path], folder: Path) -> list[str]:
    """Write ``NAME.md``, ``NAME.tex`` and ``NAME.csv``; return the names of the files written.

    A table of more values that lies there stays: it was made where there were more runs or data.

    Raises:
        UserError: the folder cannot be written.
    """
    name = outcome.experiment.name
    if _values_in(folder / f"{name}.csv") > _values_of(outcome):
        return []
    texts = {f"{name}.md": outcome_markdown(outcome, caption_of(outcome, ledger), figures)}
    if outcome.rows:
        head, *rows = outcome_grid(outcome)
        caption = f"{outcome.experiment.title}. {caption_of(outcome, ledger, in_words=True)}"
        texts |= {f"{name}.tex": latex_table(head, rows, caption, name), f"{name}.csv": outcome_csv(outcome)}
    with written_to(folder):
        for file, text in texts.items():
            write_text(folder / file, text)
    return list(texts)


def draw_experiment(experiment: Experiment, ledger: Ledger, folder: Path) -> list[Path]:
    """Draw the pictures of a figure as PNG files; none for a table, or for a bench without results.

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
        sources = {source for row in experiment.rows.values() for source in row.sources.values()}
        steps = {Measuring(source.of(ledger.config.schedule)) for source in sources if isinstance(source, Measured)}
        return [figure for step in steps for figure in draw_figures(step.result(ledger) or {}, folder, only=name)]


def outcome_grid(outcome: Outcome) -> Grid:
    """Return head and lines as text."""
    head = ["", "", *(["n"] if outcome.is_trained else []), *outcome.experiment.columns]
    return [head, *(line for row in outcome.rows for line in _lines(row, outcome))]


def outcome_markdown(outcome: Outcome, caption: str, figures: Sequence[Path]) -> str:
    experiment = outcome.experiment
    parts = [f"# {_title(experiment)}"]
    parts += [f"![{figure.stem}]({figure.name})" for figure in figures]
    if outcome.rows:
        head, *rows = outcome_grid(outcome)
        parts.append(markdown_table(head, rows))
    parts += [caption, "\n".join(f"- {line}" for line in rank_lines(outcome))]
    if rows := list(_agreement_rows(outcome)):
        parts.append(markdown_table(_AGREEMENT, rows))
    return "\n\n".join(part for part in parts if part) + "\n"


def _values_of(outcome: Outcome) -> int:
    """Return the number of our values in a table, one for each seed."""
    return sum(len(cell.by_seed) for row in outcome.rows for cell in row.cells.values())


def _values_in(file: Path) -> int:
    """Return ``_values_of`` of the table that a CSV file holds; 0 if it is no such file."""
    try:
        with file.open(encoding="utf-8", newline="") as lines:
            return sum(int(line["n"]) for line in csv.DictReader(lines))
    except (OSError, ValueError, KeyError, TypeError):
        return 0


def outcome_csv(outcome: Outcome) -> str:
    """Write a line for each row and column, with unrounded values."""
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(_CSV)
    for row in outcome.rows:
        for name, cell in row.cells.items():
            writer.writerow([row.row.name, name, *_csv_values(cell), " ".join(row.codes)])
    return file.getvalue()


def _csv_values(cell: Comparison) -> Iterator[object]:
    ours, theirs = cell.ours, cell.published
    yield from (None, None, 0) if ours is None else (*map(_digits, (ours.median, ours.half_iqr)), ours.n)
    yield " ".join(f"{seed}:{value:.6g}" for seed, value in cell.by_seed.items())
    yield from (None, None) if theirs is None else (theirs.value, theirs.error)
    yield _digits(cell.difference)


def _digits(value: float | None) -> str | None:
    """Write ten digits of a number, and at most twelve decimals: the last of its sixteen differ between processors."""
    return None if value is None else f"{round(value, 12) + 0.0:.10g}"


def _lines(row: OutcomeRow, outcome: Outcome) -> Iterator[list[str]]:
    decimals, cells = outcome.experiment.decimals, list(row.cells.values())
    has_ours, has_paper = bool(row.row.sources), bool(row.row.paper)
    name = f"{row.row.name} {_MIXED}" if row.is_mixed else row.row.name
    if has_ours:
        yield [name, "ours", *_number(cells, outcome), *(_ours(cell, decimals) for cell in cells)]
    if has_paper:
        blank = [""] if outcome.is_trained else []
        yield ["" if has_ours else name, "paper", *blank, *(_theirs(cell, decimals) for cell in cells)]
        if has_ours:
            yield ["", "difference", *blank, *(_signed(cell.difference, decimals) for cell in cells)]


def _number(cells: Sequence[Comparison], outcome: Outcome) -> list[str]:
    """Return the number of runs, without columns of a single run."""
    if not outcome.is_trained:
        return []
    numbers = {len(cell.by_seed) for cell in cells if not cell.from_median_run}
    return [f"{min(numbers)}" if len(numbers) == 1 else f"{min(numbers)}–{max(numbers)}"]


def _ours(cell: Comparison, decimals: int) -> str:
    if cell.ours is None:
        return _NOTHING
    spread = "" if cell.ours.half_iqr is None else f" ±{cell.ours.half_iqr:.{max(decimals, 1)}f}"
    return f"{cell.ours.median:,.{decimals}f}{spread}"


def _theirs(cell: Comparison, decimals: int) -> str:
    if cell.published is None:
        return _NOTHING
    error = "" if cell.published.error is None else f" ±{cell.published.error:g}"
    return f"{cell.published.value:,.{decimals}f}{error}"


def _signed(value: float | None, decimals: int) -> str:
    return _NOTHING if value is None else f"{value:+,.{decimals}f}"


def _agreement_rows(outcome: Outcome) -> Iterator[list[str]]:
    for column, agreement in outcome.agreement.items():
        for row, contrast in agreement.contrasts.items():
            ours, decimals = contrast.ours, outcome.experiment.decimals
            interval = _NOTHING if math.isnan(ours.low) else f"{ours.low:+.{decimals}f} to {ours.high:+.{decimals}f}"
            means = (_signed(mean, decimals) for mean in (contrast.theirs, ours.mean))
            chance = _NOTHING if math.isnan(contrast.p) else chance_text(contrast.p)
            runs, verdict = " + ".join(map(str, contrast.runs)), contrast.verdict or _NOTHING
            of = outcome.experiment.rows[row].reference
            compared = row if of == outcome.experiment.reference else f"{row} (reference: {of})"
            yield [column, compared, *means, interval, runs, chance, verdict]


def _title(experiment: Experiment) -> str:
    return f"{experiment.name}: {experiment.title}"


def caption_of(outcome: Outcome, ledger: Ledger, in_words: bool = False) -> str:
    """Write the caption: the origin of our values and the paper's, and notes.

    Args:
        in_words: for print: options by what they are, without keys and commands.
    """
    lines = list(_origins(outcome, ledger, in_words))
    mixed = [row for row in outcome.rows if row.is_mixed]
    for what, sides in (("versions of the code", "codes"), ("precisions or processors", "machines")):
        kinds = {kind for row in mixed if len(getattr(row, sides)) > 1 for kind in getattr(row, sides)}
        if kinds:
            lines.append(f"{_MIXED} runs of several {what}: {'; '.join(sorted(kinds))}.")
    if changed := {code for row in outcome.rows for code in row.codes if code.endswith("+")}:
        lines.append(f"Measured by code with changes that are in no commit: {', '.join(sorted(changed))}.")
    notes = [f"{entry.row.name}: {entry.row.note}." for entry in outcome.rows if entry.row.note]
    return " ".join([*lines, outcome.experiment.note.strip(), *notes]).strip()


def _origins(outcome: Outcome, ledger: Ledger, in_words: bool) -> Iterator[str]:
    """Yield the origins of our values."""
    sources = dict.fromkeys(source for entry in outcome.rows for source in entry.row.sources.values())
    if outcome.is_trained:
        how = circumstances_in_words(ledger) if in_words else circumstances(ledger)
        yield f"Ours: {how}; medians of n seeds ± half the interquartile range."
        if any(entry.row.paper for entry in outcome.rows):
            yield "Paper: Large models on TPUs, 5 seeds."
    for source in sources:
        if isinstance(source, Measured):
            words = source.of(ledger.config.schedule)
            device = (Measuring(words).result(ledger) or {}).get("device", {})
            command = [] if in_words else [f"mate bench {words}"]
            if origin := ", ".join([*command, *machine_words(device)]):
                yield f"Ours: {origin}."
    if any(isinstance(source, DataOf) for source in sources) and ledger.uses_sample:
        yield "Ours: the generated sample in place of data that is not set."
