"""Generated statements as models read them: the release loses counterfactual ones and all ranks (notes 21 and 22)."""

from __future__ import annotations

from pathlib import Path

import pytest

from mate_cli.encoding.encode import encode
from mate_cli.encoding.features import EncodingOptions, Features
from mate_cli.encoding.source import DataSource
from mate_cli.encoding.tokenizer import CellTokenizer
from tests.tables.tables_with_texts import write_csv, write_wikipedia


@pytest.mark.parametrize("data_format", ["synthetic", "counterfactual", "cs"])
def test_the_statement_is_read_and_numbers_are_ranked_and_compared_with_its_own(
    tmp_path: Path, tokenizer: CellTokenizer, data_format: str
) -> None:
    examples = DataSource(data_format, write_wikipedia(tmp_path), "train").read().examples
    encoded = encode(examples, tokenizer, EncodingOptions(256))
    features = [own.features for own in encoded if isinstance(own.outcome, Features)]
    assert len(features) == len(examples) > 5
    for own in features:
        assert (own.segment == 0).sum() > 5
        ranked = own.column == 3
        assert set(own.column_rank[ranked]) == set(own.inv_column_rank[ranked]) == set(range(7))  # 0 in the header
    related = any(own.numeric_relation.any() for own in features)
    assert related == (data_format != "counterfactual")  # which names teams and cities alone


def test_rows_of_a_csv_table_are_ranked_too(tmp_path: Path, tokenizer: CellTokenizer) -> None:
    examples = DataSource("synthetic", write_csv(tmp_path), "dev").read().examples
    for own in encode(examples, tokenizer, EncodingOptions(128)):
        assert set(own.features.column_rank) == set(range(7))
