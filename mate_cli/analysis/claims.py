"""Claims that rest on comparisons of runs, corrected for the number of comparisons.

A file names the claims. Each is a difference between two runs of a comparison (``mate analyze analysis=compare``), over
the questions; or between two rows of a reproduced table (``mate reproduce``), over the seeds; or both::

    - claim: what it says
      comparison: folder with compare.json, whose first run is held against the other
      run: name of the other run
      measure: name of the measure
      table: CSV file of a reproduced table
      rows: [two rows, the second of which is held against the first]
      column: its column
"""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import yaml

from mate_cli.metrics.comparisons import Difference, holm, seeds_difference
from mate_cli.metrics.statistics import Interval
from mate_cli.system.errors import UserError

Compared = tuple[str, str, Difference]
"""A claim, its n, and its difference."""


@dataclass(frozen=True)
class ClaimSource:
    """An entry of the file; paths are relative to its folder."""

    claim: str
    comparison: str | None = None
    run: str = ""
    measure: str = ""
    table: str | None = None
    rows: Sequence[str] = ()
    column: str = ""


@dataclass(frozen=True)
class Tested:
    """
    Attributes:
        n: what the interval is over: questions, or runs of the two sides ("3 + 1").
        difference: the first side minus the second; a share between -1 and 1.
        p: of this difference alone.
        corrected_p: Holm's, among all differences over the same.
        together: the interval that holds with all others at once.
    """

    claim: str
    n: str
    difference: Interval
    p: float
    corrected_p: float
    together: Interval


@dataclass(frozen=True)
class TestedClaims:
    """The same differences over questions, of one pair of runs each, and over seeds; two families of comparisons."""

    over_questions: list[Tested]
    over_seeds: list[Tested]


def tested_claims(file: Path) -> TestedClaims:
    """Test the claims of a file.

    Raises:
        UserError: it, or a file that it names, cannot be read or lacks what is named.
    """
    sources = _sources(file)
    questions = [_over_questions(source, file.parent) for source in sources if source.comparison]
    seeds = [_over_seeds(source, file.parent) for source in sources if source.table]
    return TestedClaims(list(_tested(questions)), list(_tested(seeds)))


def _sources(file: Path) -> list[ClaimSource]:
    try:
        entries = yaml.safe_load(file.read_text(encoding="utf-8"))
        if not (isinstance(entries, list) and all(isinstance(entry, dict) for entry in entries)):
            raise ValueError("each entry is a line '- claim: …' with the keys of one claim below it")
        return [ClaimSource(**entry) for entry in entries]
    except (OSError, ValueError, TypeError, yaml.YAMLError) as error:
        reason = (str(error) or type(error).__name__).splitlines()[0].replace("ClaimSource.__init__()", "an entry")
        raise UserError(f"{file} is no list of claims: {reason}") from error


def _over_questions(source: ClaimSource, folder: Path) -> Compared:
    file = folder / str(source.comparison) / "compare.json"
    try:
        runs = {run["name"]: run for run in json.loads(file.read_text(encoding="utf-8"))}
        run = runs[source.run]
        difference = Interval(**run["differences"][source.measure])  # of the other run minus the first
        turned = Interval(-difference.mean, -difference.high, -difference.low)
        return source.claim, f"{run['questions']:,}", Difference(turned)
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise UserError(
            f"{file} has no difference of {source.measure} for {source.run}, on which rests: {source.claim}"
        ) from error


def _over_seeds(source: ClaimSource, folder: Path) -> Compared:
    file = folder / str(source.table)
    try:
        with file.open(encoding="utf-8", newline="") as lines:
            column = [line for line in csv.DictReader(lines) if line["column"] == source.column]
        values = {line["row"]: _seeds(line["by_seed"]) for line in column}
        first, second = (values[row] for row in source.rows)
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise UserError(f"{file} has no two rows with {source.column}, on which rests: {source.claim}") from error
    difference = seeds_difference(first, second)
    if difference is None:
        raise UserError(f"{file}: two seeds of one side at least must tell the spread on which rests: {source.claim}")
    return source.claim, f"{len(first)} + {len(second)}", difference


def _seeds(text: str) -> list[float]:
    """Read ``SEED:VALUE SEED:VALUE``, in per cent, as shares."""
    return [float(pair.split(":")[1]) / 100 for pair in text.split()]


def _tested(family: Sequence[Compared]) -> Iterator[Tested]:
    corrected = holm({number: difference.p for number, (_, _, difference) in enumerate(family)})
    for number, (claim, n, difference) in enumerate(family):
        together = difference.among(len(family))
        yield Tested(claim, n, difference.interval, difference.p, corrected[number], together)
