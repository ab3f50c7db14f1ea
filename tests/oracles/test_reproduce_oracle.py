"""The numbers in reproduce/ are those that the paper's source prints, row by row."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

from mate_cli.config.catalogue import reproduce_folder
from mate_cli.reproduction.experiment import PublishedValue, read_experiment

PAPER = Path(__file__).resolve().parents[3] / "shared" / "paper.tex"
pytestmark = pytest.mark.oracles
ROWS = {
    "table4": {"TAPAS": r"\tapas", "MATE": r"\model", "TAPAS + CS": r"\tapas + CS", "MATE + CS": r"\model + CS"},
    "table8": {"TAPAS": r"\tapas", "MATE": r"\model", "TAPAS + CS": r"\tapas + CS", "MATE + CS": r"\model + CS"},
    "table5": {
        "Table-Only": "Table-Only",
        "Passage-Only": "Passage-Only",
        "HYBRIDER": r"\hybrider",
        "PointR + SAT": r"\pointr + \sat",
        "PointR + TAPAS": r"\pointr + \tapas",
        "PointR + TableETC": r"\pointr + \tableetc",
        "PointR + Linformer": r"\pointr + \linformer",
        "PointR + MATE": r"\pointr + \model",
        "Human": "Human",
    },
    "table6": {
        "HYBRIDER": r"\hybrider",
        "SAT": r"\sat",
        "TAPAS": r"\tapas",
        "TableETC": r"\tableetc",
        "Linformer": r"\linformer",
        "MATE": r"\model",
        "MATE (- row heads)": r"\model (-- row heads)",
        "MATE (- col heads)": r"\model (-- col heads)",
        "MATE (- sparse pretrain)": r"\model (-- sparse pretrain)",
        "MATE (- ambiguous)": r"\model (-- ambiguous)",
    },
    "table2": {"In-Passage": "In-Passage", "In-Table": "In-Table", "Missing": "Missing", "Total": "Total"},
}


def printed(file: Path) -> dict[str, list[PublishedValue | None]]:
    """First cell of each line of the table with the label of a file -> its other cells, bold face taken off."""
    source, label = PAPER.read_text(encoding="utf-8"), yaml.safe_load(file.read_text(encoding="utf-8"))["label"]
    end = source.index(rf"\label{{{label}}}")
    body = source[source.rindex(r"\begin{tabular}", 0, end) : end]
    body = re.sub(r"(?<!\\)%.*", "", body)
    lines = {}
    for line in body.split(r"\\"):
        first, *cells = re.sub(r"\\(midrule|toprule|hline)", "", line).split("&")
        name = re.sub(r"\s*\+\s*", " + ", first.strip())
        lines[re.sub(r" \(\$.*", "", name)] = [_number(cell) for cell in cells]
    return lines


def _number(cell: str) -> PublishedValue | None:
    plain = re.sub(r"\\textbf|[{},\s]", " ", cell.replace(r"\err{", "±").replace(",", ""))
    plain = "".join(plain.split())
    if not re.match(r"[\d.]", plain):
        return None
    value, _, error = plain.partition("±")
    return PublishedValue(float(value), float(error) if error else None)


@pytest.mark.parametrize("name", ROWS)
def test_the_numbers_are_the_papers(name: str) -> None:
    file = reproduce_folder() / f"{name}.yaml"
    experiment = read_experiment(file)
    assert set(ROWS[name]) == {row for row, of_row in experiment.rows.items() if of_row.paper}  # others are ours alone
    found = printed(file)
    for row, first in ROWS[name].items():
        theirs = found[first]
        ours = [experiment.rows[row].paper.get(column) for column in experiment.columns]
        assert ours == theirs, row
