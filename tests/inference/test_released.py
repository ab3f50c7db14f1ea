"""The released model: what answers where no run is named, and a backbone."""

from __future__ import annotations

import io
import json
from pathlib import Path

import pandas as pd
import pytest
import torch
from safetensors.torch import load_file

from mate_cli import models
from mate_cli.commands.doctor import released_weights
from mate_cli.config import inference
from mate_cli.notebook import load_run
from mate_cli.system import distribution
from mate_cli.system.errors import UserError
from tests.training.conftest import TINY

MARATHON = Path(__file__).parents[2] / "results/own-tables/tables/marathon.csv"
TOWNS = "city,mayor,population\nAlder,Ann Lee,1200\nBirch,Bob Moe,800\n"
ASKED = ("table=towns.csv", "question=Who is the mayor of Birch?", "hardware=cpu", "output=json")


@pytest.fixture
def package(mate, trained, tmp_path, monkeypatch):
    """A package of weights in the place of the released one."""
    package = tmp_path / "packages" / distribution.RELEASED
    package.mkdir(parents=True)
    (package / "__init__.py").touch()
    assert mate("export", f"run={trained}", f"to={package / 'model'}", "dtype=float16") == 0
    monkeypatch.syspath_prepend(package.parent)
    return package


def test_it_answers_where_no_run_is_named(mate, trained, package, capsys):
    Path("towns.csv").write_text(TOWNS)
    records = []
    for words in ((), (f"run={package / 'model'}",), (f"run={trained}",)):
        capsys.readouterr()
        assert mate("predict", *ASKED, *words) == 0
        records.append(json.loads(capsys.readouterr().out))
    released, same, whole = records
    assert released.pop("model").startswith("mate-tables-weights")
    assert released == same
    assert "model" not in whole
    assert released["cells"][0]["probability"] == pytest.approx(whole["cells"][0]["probability"], abs=0.01)
    assert mate("predict", *ASKED[:-1]) == 0
    assert "model: mate-tables-weights" in capsys.readouterr().out
    assert mate("predict", *ASKED, "before=[Who?]") == 2  # this one knows no conversations
    assert "before: mate-tables-weights" in (error := capsys.readouterr().err)
    assert "was not trained on conversations" in error
    answer = load_run().answer("Who is the mayor of Birch?", pd.read_csv(io.StringIO(TOWNS)))["answer"]
    assert answer == released["answer"]


@pytest.mark.parametrize("precision", ["'32'", "bf16-mixed"])
def test_the_example_of_the_readme(mate, precision, capsys):
    """With the model itself, which `make` installs."""
    question = "question=How many runners are from Kenya?"
    assert mate("predict", f"table={MARATHON}", question, f"hardware.precision={precision}", *ASKED[2:]) == 0
    record = json.loads(capsys.readouterr().out)
    assert (record["answer"], record["operator"]) == (["3"], "COUNT")
    assert [cell["text"] for cell in record["cells"]] == ["James Koros", "Paul Rono", "Sam Otieno"]
    assert min(cell["probability"] for cell in record["cells"]) >= record["answer_probability"] > 0.6
    assert record["formula"] == "COUNT(runner of rows 1, 3, 6) = 3"
    assert record["warnings"] == []


def test_a_table_that_is_read_without_some_columns_says_so():
    """160 rows of three columns need more than the 512 tokens of the model's training."""
    staff = {"name": [f"Emma Novak {row}" for row in range(160)], "department": ["Sales"] * 160}
    frame = pd.DataFrame(staff | {"salary": range(1000, 1160)})
    question = "How much does Emma Novak 7 earn?"
    cut = load_run(max_tokens=512, rows="all").answer(question, frame)
    (said,) = [line for line in cut["warnings"] if "not read" in line]
    assert said.startswith(("1 of 3 columns did", "2 of 3 columns did"))
    assert "raise max_tokens" in said
    whole = load_run(rows="all").answer(question, frame)
    assert whole["answer"] == ["1007"]
    assert "unread" not in whole
    assert not any("not read" in line for line in whole["warnings"])
    of_named = load_run().answer(question, frame)
    assert of_named["answer"] == ["1007"]
    assert [cell["row"] for cell in of_named["cells"]] == [7]
    assert of_named["warnings"][0] == of_named["unread"]
    assert of_named["unread"].startswith("only the row that the question names was read, of 160;")


@pytest.mark.parametrize("precision", ["'32'", "bf16-mixed"])
def test_the_statement_of_the_readme(mate, precision, capsys):
    words = (f"table={MARATHON.with_name('servers.csv')}", "statement=ember has the most memory")
    assert mate("predict", *words, f"hardware.precision={precision}", *ASKED[2:]) == 0
    record = json.loads(capsys.readouterr().out)
    assert record["answer"] == "entailed"
    assert record["answer_probability"] > load_run(statements=True).calibration.threshold + 0.1
    assert record["warnings"] == []


@pytest.mark.parametrize("part", [distribution.QUESTIONS, distribution.STATEMENTS])
def test_its_folders_load_in_transformers_as_exports_do(part):
    folder = distribution.package_folder(distribution.RELEASED, part)
    assert (folder / "modeling_mate.py").read_text() == (Path(models.__file__).parent / "modeling_mate.py").read_text()


def test_it_takes_half_the_room(trained, package):
    short, whole = (load_file(path / "model.safetensors") for path in (package / "model", trained / "best"))
    assert {tensor.dtype for tensor in short.values()} == {torch.float16}
    for name, tensor in whole.items():
        torch.testing.assert_close(short[name].float(), tensor, atol=1e-3, rtol=1e-3)


def test_a_training_starts_from_it(mate, package, capsys):
    tiny = [word for word in TINY if not word.startswith("backbone")]
    assert mate("train", *tiny, "backbone=mate_minilm", "name=second") == 0
    assert "0 new, 0 unused" in capsys.readouterr().out
    assert released_weights().state == "ok"


def test_without_it_a_run_must_be_named(mate, monkeypatch, capsys):
    Path("towns.csv").write_text(TOWNS)
    for module in (inference, distribution):
        monkeypatch.setattr(module, "RELEASED", "no_such_package_of_weights")
    assert mate("predict", *ASKED) == 2
    assert capsys.readouterr().err == "error: run is missing: write run=..., or selector=... and reader=...\n"


def test_a_program_without_it_is_told_how_to_install_it(monkeypatch):
    monkeypatch.setattr(distribution, "find_spec", lambda package: None)
    with pytest.raises(UserError, match=r"install it with: pip install \./weights in a clone of mate"):
        load_run()
