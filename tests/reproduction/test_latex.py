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
from mate_cli.reproduction.latex import latex_table
from mate_cli.reproduction.outcome import Comparison, Outcome, OutcomeRow
from mate_cli.reproduction.report import outcome_grid

PREAMBLE = r"""\documentclass[twocolumn]{article}
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
    head, *lines = outcome_grid(Outcome(experiment, rows))
    head[-2:] = [f"{SPECIAL} A", f"{SPECIAL} B"]  # grouped by a first word
    pages, log = compiled([latex_table(head, lines, SPECIAL, "special")], tmp_path)
    assert pages == 1
    assert beyond_the_page(log) == []


def special_rows(experiment: Experiment) -> Iterator[tuple[str, object]]:
    row = experiment.rows["MATE"]
    for number in range(2):
        yield f"{SPECIAL} {number}", replace(row, name=f"{SPECIAL} {number}", note=SPECIAL)


def test_columns_share_the_words_that_their_names_begin_with() -> None:
    head = ["", "", "n", "dev Total EM", "dev Total F1", "dev EM", "WTQ"]
    lines = latex_table(head, [["MATE (- heads)", "ours", "1", "-5.0", "+3.0", "1", "In-Table"]], "", "t").splitlines()
    assert [" ".join(line.split()) for line in lines[4:12]] == [
        r"\toprule",
        r"& & & \multicolumn{3}{c}{dev} & \\",
        r"\cmidrule(lr){4-6}",
        r"& & & \multicolumn{2}{c}{Total} & & \\",
        r"\cmidrule(lr){4-5}",
        r"& & n & EM & F1 & EM & WTQ \\",
        r"\midrule",
        r"MATE ($-$ heads) & ours & 1 & $-$5.0 & +3.0 & 1 & In-Table \\",
    ]


@pytest.mark.parametrize(("cell", "environment"), [("1.0", "table"), ("wide" * 12, "table*")])
def test_a_wide_table_is_as_wide_as_the_page(cell: str, environment: str) -> None:
    text = latex_table(["", "", "value"], [["MATE", "ours", cell]], 'so "called"', "t")
    assert text.startswith(rf"\begin{{{environment}}}")
    assert text.endswith(rf"\end{{{environment}}}" + "\n")
    assert "so ``called''" in text


def test_committed_captions_have_no_words_of_the_configuration() -> None:
    files = sorted((Path(__file__).parents[2] / "results" / "reproduced").glob("*.tex"))
    assert len(files) > 10
    for file in files:
        (caption,) = re.findall(r"\\caption\{(.*)\}", file.read_text(encoding="utf-8"))
        assert not re.findall(r"\w=\w|\bmate \w", caption), file
