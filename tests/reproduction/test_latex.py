"""The LaTeX of every table, compiled by a real TeX (make test-tex)."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from mate_cli.cli.main import main
from mate_cli.config.catalogue import reproduce_folder, reproduction_names
from mate_cli.reproduction.experiment import Experiment, PublishedValue, read_experiment
from mate_cli.reproduction.outcome import Comparison, Outcome, OutcomeRow
from mate_cli.reproduction.report import outcome_latex

PREAMBLE = r"""\documentclass{article}
\usepackage[a4paper,margin=2cm]{geometry}
\usepackage{booktabs,graphicx}
\begin{document}
"""
SPECIAL = r"50% of $x_1 & {a}\b#c ~d^e <f> |g| \"h\" 'i' n² – ± †"


def compiled(tables: list[str], folder: Path) -> tuple[int, str]:
    """Pages and log of a document of these tables; fails on an error of TeX's."""
    tex = shutil.which("pdflatex")
    assert tex, "make test-tex needs pdflatex with booktabs (Debian: apt-get install texlive-latex-recommended)"
    text = PREAMBLE + "\n\\clearpage\n".join(tables) + "\n\\end{document}\n"
    (folder / "all.tex").write_text(text, encoding="utf-8")
    command = [tex, "-interaction=nonstopmode", "-halt-on-error", "-no-shell-escape", "all.tex"]
    done = subprocess.run(command, cwd=folder, capture_output=True, timeout=120, check=False)
    log = (folder / "all.log").read_text(encoding="utf-8", errors="replace")
    assert done.returncode == 0, "\n".join(line for line in log.splitlines() if line.startswith(("!", "l.")))
    return int(re.findall(r"Output written on all\.pdf \((\d+) page", log)[0]), log


def beyond_the_page(log: str) -> list[str]:
    return re.findall(r"Overfull \\[hv]box.*|Float too large.*|Missing character.*", log)


@pytest.mark.tex
def test_every_table_of_the_paper_compiles_and_fits_the_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["reproduce", "what=all", "backbone=tiny", "dry_run=true"]) == 0
    files = sorted((tmp_path / "reproduced").glob("*.tex"))
    assert len(files) == len(reproduction_names()) - 2  # figures 1 and 2 are pictures alone
    pages, log = compiled([file.read_text(encoding="utf-8") for file in files], tmp_path)
    assert pages == len(files)
    assert beyond_the_page(log) == []


@pytest.mark.tex
def test_letters_that_mean_something_to_tex_are_text(tmp_path: Path) -> None:
    base = read_experiment(reproduce_folder() / "table6.yaml")
    experiment = replace(base, title=SPECIAL, rows=dict(special_rows(base)))
    rows = tuple(
        OutcomeRow(
            row, {name: Comparison({0: 50.0}, PublishedValue(1.0, 0.5)) for name in experiment.columns}, ("a", "b")
        )
        for row in experiment.rows.values()
    )
    pages, log = compiled([outcome_latex(Outcome(experiment, rows), SPECIAL)], tmp_path)
    assert pages == 1
    assert beyond_the_page(log) == []


def special_rows(experiment: Experiment) -> Iterator[tuple[str, object]]:
    row = experiment.rows["MATE"]
    for number in range(2):
        yield f"{SPECIAL} {number}", replace(row, name=f"{SPECIAL} {number}", note=SPECIAL)
