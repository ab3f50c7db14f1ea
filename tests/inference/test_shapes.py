"""Predictions with the shapes that a training recorded: the same as without, in the order of the rows."""

from __future__ import annotations

from dataclasses import asdict, replace

import torch

from mate_cli.attention import widest_shape
from mate_cli.config.paths import PathsConfig
from mate_cli.encoding.encode import rows_that_fit
from mate_cli.encoding.tokenizer import CellTokenizer
from mate_cli.inference.predictor import Predictor
from mate_cli.tables.data_folder import data_folder
from mate_cli.tables.hybridqa import read_split
from mate_cli.training.backend import collator_for
from tests.training.made_runs import make_run
from tests.training.test_every_model import composed

WORDS = ("backbone=tiny", "schedule=smoke", "hardware=cpu", "hardware.precision='32'", "hardware.micro_batch=4")


def test_predictions_come_in_the_order_of_the_rows(tmp_path, cache):
    config, run = composed(*WORDS), make_run(tmp_path / "run", *WORDS)
    predictor = Predictor(run, config, config.hardware)
    examples = read_split(data_folder(config.task, None, PathsConfig(cache=str(cache))), "dev").examples[::8]
    rows = rows_that_fit(examples, CellTokenizer(run.best_model), predictor.options)
    expected = predictor.predict_rows(rows)

    middle = sorted(len(row["input_ids"]) for row in rows)[len(rows) // 2]
    small = widest_shape(8, middle)
    run.set_status("done", shapes=[asdict(small), asdict(replace(small, tokens=4096))])
    predictor.shapes = predictor._shapes()
    documents, tokens = config.hardware.micro_batch, predictor.options.max_tokens
    assert predictor.shapes == (replace(small, documents=documents), widest_shape(documents, tokens))
    predictor.collator = collator_for(predictor.model.config, config.model, "auto", "xla", shapes=predictor.shapes)
    seen = []
    predictor.model.register_forward_pre_hook(
        lambda _, __, named: seen.append(len(named["input_ids"])), with_kwargs=True
    )
    got = predictor.predict_rows(rows)
    assert set(seen) == {documents * middle, documents * tokens}
    assert sorted(seen) == seen
    assert [own.id for own in got] == [own.id for own in expected]
    for one, other in zip(got, expected, strict=True):
        torch.testing.assert_close(torch.tensor(one.probabilities), torch.tensor(other.probabilities))
