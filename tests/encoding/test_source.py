"""Where examples come from: every format by its name, and what is made of any split."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from mate_cli.config import task
from mate_cli.encoding.source import BlankedSource, DataSource, DrawnSource
from mate_cli.tables.formats import FORMATS
from mate_cli.tables.statements.splits import StatementFormat
from tests.tables.releases import write_sqa, write_tabfact, write_wtq

_RELEASES = {"sqa": write_sqa, "wtq": write_wtq, "tabfact": write_tabfact}


def test_every_format_that_can_be_configured_is_there() -> None:
    assert (*FORMATS, "corpus") == task.FORMATS  # a corpus has tables, and no questions to read
    for data_format in FORMATS.values():
        splits = () if isinstance(data_format, StatementFormat) else task.SPLITS
        assert tuple(data_format.LAYOUT.questions) == splits


@pytest.mark.parametrize(("data_format", "write"), _RELEASES.items())
def test_splits_without_questions_and_drawn_ones(
    data_format: str, write: Callable[[Path], Path], tmp_path: Path
) -> None:
    whole = DataSource(data_format, write(tmp_path), "train")
    blanked, drawn = BlankedSource(whole), DrawnSource(whole, 3)
    read = whole.read()
    without = blanked.read()
    assert {e.question for e in without.examples} == {""}
    assert [replace(e, question="", earlier=()) for e in read.examples] == list(without.examples)
    assert (without.questions, without.missing_tables) == (read.questions, read.missing_tables)
    assert without.unsupervised == read.unsupervised
    part = drawn.read()
    assert len(part.examples) == part.questions == 3
    assert [e for e in read.examples if e in part.examples] == list(part.examples)
    assert part.unsupervised.items() <= read.unsupervised.items()
    assert part.unsupervised.keys() <= {e.id for e in part.examples}
    assert blanked.split == drawn.split == "train"
    assert len({source.fingerprint() for source in (whole, blanked, drawn, DrawnSource(whole, 2))}) == 4


def test_a_changed_table_changes_the_files(tmp_path: Path) -> None:
    source = DataSource("sqa", write_sqa(tmp_path), "dev")
    before = source.fingerprint()
    (tmp_path / "table_csv" / "1_1.csv").write_text("Town,Mayor\nBirch,Ann\nElm,Bo\n")
    assert source.fingerprint() != before
