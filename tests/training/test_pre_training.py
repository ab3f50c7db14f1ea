"""Pre-training through the command line, on tables of a few rows."""

import json

import pytest
import torch
from safetensors.torch import load_file
from torch.nn import functional as F

from mate_cli.config.task import active_schedule
from mate_cli.encoding.features import EncodingOptions
from mate_cli.encoding.masked_rows import MaskedStream
from mate_cli.kinds.registry import task_of
from mate_cli.training.backend import collator_for
from mate_cli.training.corpus import masking_options, open_corpus
from mate_cli.training.starting_model import starting_model
from tests.training.conftest import TINY, train_once
from tests.training.test_every_model import SILENT, composed
from tests.training.test_resume import RUN, assert_same_end, finish, wait_for_step

TABLES = 30
WORDS = ("river", "town", "king", "1905", "the longest of them", "north", "3")


def write_tables(folder):
    """Tables of a Wikipedia with a text around each."""
    (folder / "tables_tok").mkdir(parents=True)
    for number in range(TABLES):
        words = [WORDS[(number * 3 + place) % len(WORDS)] for place in range(30)]
        cells = [[word, []] for word in words]
        own = {
            "title": f"Page {number}",
            "intro": f"This page is about {words[0]} and {words[1]}, number {number} of many.",
            "header": cells[:3],
            "data": [cells[at : at + 3] for at in range(3, 3 * (3 + number % 5), 3)],
        }
        (folder / "tables_tok" / f"page_{number}.json").write_text(json.dumps(own))
    return folder


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    return write_tables(tmp_path_factory.mktemp("tables"))


@pytest.fixture(scope="module")
def runs(tmp_path_factory, cache, data):
    """Two runs that differ in their micro-batches alone."""
    words = ("task=mlm", *TINY, f"data_dir={data}", "hardware.workers=0")
    return [
        train_once(tmp_path_factory, cache, *words, "name=run", f"hardware.micro_batch={size}") / "runs" / "mlm" / "run"
        for size in (8, 2)
    ]


def logged(run, name):
    header, *lines = [line.split(",") for line in (run / "metrics.csv").read_text().splitlines()]
    return [float(line[header.index(name)]) for line in lines if line[header.index(name)]]


def test_a_training_ends_with_accuracy_and_perplexity_beside_frequencies(runs):
    record = json.loads((runs[0] / "metrics.json").read_text())["dev"]
    lines = [json.loads(line) for line in (runs[0] / "predictions-dev.jsonl").read_text().splitlines()]
    assert (len(lines), record["tables"]) == (15, 15)  # half of so small a corpus
    assert record["questions"] == sum(len(own["target"]) for own in lines)
    right = sum(a == b for own in lines for a, b in zip(own["target"], own["best"], strict=True))
    assert record["model"]["masked tokens"]["mean"] == pytest.approx(right / record["questions"])
    assert record["model"]["masked tokens"]["mean"] == pytest.approx(logged(runs[0], "dev_masked_accuracy")[-1])
    assert 0 < record["baselines"]["most frequent piece"]["masked tokens"] < 1
    assert record["perplexity"]["model"] > 1000  # an untrained model of 30,522 pieces
    assert 1 < record["perplexity"]["frequencies"] < 30522
    assert json.loads((runs[0] / "status.json").read_text())["state"] == "done"


def test_a_step_logs_the_mean_loss_of_its_masked_tokens_and_the_norm_of_its_gradient(runs, data, cache):
    config = composed("task=mlm", *TINY, f"data_dir={data}", f"paths.cache={cache}")
    schedule = active_schedule(config)
    torch.manual_seed(0)
    torch.random.manual_seed(config.seed)
    model, vocabulary, _ = starting_model(config, task_of(config), SILENT)
    corpus = open_corpus(config.task, str(data), vocabulary, config.paths, SILENT)
    options = masking_options(config.task, EncodingOptions(schedule.max_tokens))
    stream = MaskedStream(corpus, options, config.seed)
    batch = collator_for(model.config, config.model, "auto", "cpu")([stream[place] for place in range(8)])
    logits = task_of(config).logits(model, batch)
    assert logits.shape == (len(batch.target), model.config.vocab_size)
    loss = F.cross_entropy(logits, batch.target)
    loss.backward()
    squares = [own.grad.double().square().sum() for own in model.parameters() if own.grad is not None]
    for run in runs:
        assert logged(run, "loss")[0] == pytest.approx(loss.item(), rel=1e-5)
        assert logged(run, "gradient_norm")[0] == pytest.approx(sum(squares).sqrt().item(), rel=1e-4)


def test_micro_batches_do_not_change_what_is_learned(runs):
    one, four = (load_file(run / "best" / "model.safetensors") for run in runs)
    assert all(torch.allclose(one[name], four[name], atol=1e-6) for name in one)
    for name in ("loss", "gradient_norm"):
        assert logged(runs[0], name) == pytest.approx(logged(runs[1], name), rel=1e-4)


def test_evaluating_a_run_gives_the_score_that_its_training_ended_with(mate, runs, capsys):
    before = json.loads((runs[0] / "metrics.json").read_text())
    assert mate("evaluate", f"run={runs[0]}", "hardware=cpu", "hardware.precision='32'") == 0
    assert "perplexity" in capsys.readouterr().out
    assert json.loads((runs[0] / "metrics.json").read_text()) == before
    assert mate("evaluate", f"run={runs[0]}", "split=test", "hardware=cpu") == 2
    assert "scored on its held-out tables" in capsys.readouterr().err
    assert mate("evaluate", f"run={runs[0]}", "rows=chosen", "hardware=cpu") == 2
    assert "task=mlm is asked nothing by itself; leave it out" in capsys.readouterr().err


def test_shards_prepared_anywhere_are_trained_on_with_their_own_vocabulary_alone(mate, data, tmp_path, capsys):
    assert mate("prepare", "task=mlm", "backbone=tiny", f"data_dir={data}", "to=shards", "workers=1") == 0
    assert f"{TABLES}" in capsys.readouterr().out
    (tmp_path / "vocab.txt").write_text("[PAD]\n[unused0]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\na\n")
    (tmp_path / "config.json").write_text('{"vocab_size": 7}')
    words = ("task=mlm", "schedule=smoke", "hardware=cpu", "backbone=folder", f"backbone.path={tmp_path}")
    assert mate("prepare", *words[:2], *words[3:], "data_dir=shards") == 2
    assert "made with another vocabulary" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (("train", "task=mlm", *TINY), "task=mlm needs data_dir=FOLDER with tables"),
        (("train", "task=mlm", *TINY, "data_dir=empty"), "data_dir=empty: no tables among its 1 files"),
        (("prepare", "task=mlm", "backbone=tiny", "data_dir=nowhere"), "data_dir=nowhere: there is no such folder"),
        (
            ("prepare", "task=mlm", "encode=false"),
            "encode=false belongs to tasks with questions",
        ),
        (
            ("prepare", "task=mlm", "backbone=tiny", "data_dir=empty", "to=empty/out"),
            "to=empty/out: it lies in data_dir",
        ),
        (("analyze", "task=mlm", "data_dir=empty"), "task=mlm asks no questions"),
    ],
)
def test_what_cannot_be_is_one_line(mate, tmp_path, capsys, words, problem):
    (tmp_path / "empty").mkdir()
    (tmp_path / "empty" / "notes.md").write_text("nothing")
    assert mate(*words) == 2
    errors = capsys.readouterr().err.strip().splitlines()
    assert len(errors) == 1
    assert problem in errors[0]
    assert not (tmp_path / "runs").exists() or not any((tmp_path / "runs").glob("*/*"))


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_a_killed_run_ends_as_an_undisturbed_one(mate_process, tmp_path, data):
    words = ("train", "task=mlm", *RUN, f"data_dir={data}")
    finish(mate_process(*words, "name=whole"))
    for step in (4, 12):
        process = mate_process(*words, "-m", "name=killed")  # begins, or goes on
        wait_for_step(process, tmp_path, "killed", step)
        process.kill()
        process.wait()
    finish(mate_process(*words, "name=killed", "resume=true"))
    assert_same_end(tmp_path, "killed")
