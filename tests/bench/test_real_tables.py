"""Sizes of real tables: counted from what the encoder makes, cut as it cuts."""

from __future__ import annotations

from pathlib import Path
from random import Random

import numpy as np
import pytest

from mate_cli.bench.draw_tables import EXAMPLES, draw
from mate_cli.bench.real_tables import FILE, TokenCounts, real_layouts, token_counts
from mate_cli.config.bench import REAL_TABLES
from mate_cli.config.model import BackboneConfig
from mate_cli.encoding.batch import layout_of
from mate_cli.encoding.encode import rows_that_fit
from mate_cli.encoding.features import EncodingOptions
from mate_cli.encoding.source import DataSource
from mate_cli.encoding.tokenizer import CellTokenizer
from mate_cli.system.distribution import package_folder
from mate_cli.system.errors import UserError
from mate_cli.system.files import read_json_lines
from tests.tables.releases import write_sqa


@pytest.fixture
def source(tmp_path: Path) -> DataSource:
    write_sqa(tmp_path)
    return DataSource("sqa", tmp_path, "test")


def encoded(source: DataSource, tokens: int) -> list[dict[str, object]]:
    tokenizer = CellTokenizer(package_folder(BackboneConfig().vocabulary))
    return rows_that_fit(source.read().examples, tokenizer, EncodingOptions(tokens, 5))


def test_counts_give_the_layouts_of_the_encoder(source: DataSource) -> None:
    """Cut as well, where words are single pieces as in this table."""
    questions = len(source.read().examples)
    counts = draw(source, 5, questions, seed=3)
    drawn = Random(3).sample(range(questions), questions)
    for tokens in (17, 1000):
        rows = encoded(source, tokens)
        assert len(rows) == questions
        for number, own in zip(drawn, counts, strict=True):
            expected, ours = layout_of([rows[number]]), own.layout(tokens)
            assert ours is not None
            for name in ("document", "row", "column", "segment"):
                assert (getattr(ours, name) == getattr(expected, name)).all()
            assert (token_counts(ours).cells == token_counts(expected).cells).all()


@pytest.mark.parametrize("tokens", [9, 10, 12, 14, 17, 18, 100])
def test_the_longest_cells_are_cut_alike(tokens: int) -> None:
    cells = np.array([[1, 2, 0], [6, 1, 4]])
    layout = TokenCounts(4, cells).layout(tokens)
    assert layout is not None
    kept = token_counts(layout).cells
    assert len(layout.row) <= tokens
    most = kept.max()
    assert (kept == np.minimum(cells, most)).all()
    assert (kept == cells).all() or 4 + np.minimum(cells, most + 1).sum() > tokens
    assert TokenCounts(4, cells).layout(8) is None


@pytest.mark.parametrize("name", REAL_TABLES)
@pytest.mark.parametrize("tokens", [128, 320, 512, 1024])
def test_every_data_set_has_tables_for_the_lengths_of_the_suite(name: str, tokens: int) -> None:
    layouts = real_layouts(name, tokens, range(8))
    assert len({len(layout.row) for layout in layouts}) > 4
    for layout in layouts:
        assert len(layout.row) <= tokens
        assert layout.segment[0] == 0
        assert layout.row.max() > 1
    assert (real_layouts(name, tokens, [5])[0].row == layouts[5].row).all()


def test_the_file_holds_numbers_and_no_text() -> None:
    head, *examples = read_json_lines(FILE)
    assert set(head) == {"written_by", "seed"}
    assert len(examples) == EXAMPLES * len(REAL_TABLES)
    for example in examples:
        assert example["data"] in REAL_TABLES
        assert isinstance(example["question"], int)
        assert np.array(example["cells"]).dtype.kind == "i"
        assert np.array(example["cells"]).ndim == 2


def test_no_table_that_fits_is_an_error_in_one_line() -> None:
    with pytest.raises(UserError, match="no example of wtq that was drawn fits 20 tokens; take a greater length"):
        real_layouts("wtq", 20, [0])
