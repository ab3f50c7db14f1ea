"""The published figures against the source of the paper."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from mate_cli.metrics.hybridqa import GROUPS
from mate_cli.reporting.published import FLOW_ATTENTION, FLOW_UNIFORM, HYBRIDQA

PAPER = Path(__file__).resolve().parents[3] / "shared" / "paper.tex"
MACROS = {"pointr": "PointR", "model": "MATE", "sat": "SAT", "tapas": "TAPAS", "linformer": "Linformer"}
NAMES = {**MACROS, "tableetc": "TableETC", "hybrider": "HYBRIDER"}
pytestmark = pytest.mark.oracles


def _rows() -> dict[str, list[str]]:
    """The cells of each row of the table of HybridQA results, by the name in its first one."""
    table = PAPER.read_text().split("%% file: tables/52-hybridqa_results.tex")[1].split(r"\bottomrule")[0]
    table = re.sub(r"\\err\{[^}]*\}", "", table.split(r"\midrule", 1)[1])
    table = re.sub(r"\\textbf|\\midrule|%|\$|[{}]", "", table)
    table = re.sub(r"\\(\w+)", lambda macro: NAMES.get(macro[1], macro[1]), table.replace(r"\\", "\n"))
    rows = ([cell.strip() for cell in line.split("&")] for line in table.splitlines() if "&" in line)
    return {re.sub(r"\W", "", name): figures for name, *figures in rows}


def test_every_row_of_the_paper_is_here_as_it_is_there() -> None:
    rows = _rows()
    ours = {re.sub(r"\W", "", system.system): system for system in HYBRIDQA if "table 5" in system.source}
    assert ours.keys() == rows.keys()
    for name, figures in rows.items():
        assert len(figures) == 12
        for number, split in enumerate(("dev", "test")):
            for place, group in enumerate(GROUPS):
                start = 6 * number + 2 * place
                pair = tuple(float(figure) for figure in figures[start : start + 2] if figure)
                assert ours[name].figures.get(split, {}).get(group, ()) == pair


def test_the_attention_flow_is_the_papers() -> None:
    """Table 7: ratio, attention and uniform attention close each of its eight rows."""
    table = PAPER.read_text().split(r"\label{tab:attention}")[0].rsplit(r"\midrule" + "\n\\texttt{[CLS]}", 1)[1]
    rows = re.sub(r"\\textbf|[{}]", "", table.split(r"\bottomrule")[0]).split(r"\\")
    figures = [[float(cell) for cell in row.split("&")[-2:]] for row in rows if "&" in row]
    assert tuple(zip(*figures, strict=True)) == (FLOW_ATTENTION, FLOW_UNIFORM)
