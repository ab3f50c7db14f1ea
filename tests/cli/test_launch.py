"""From words to jobs: text arrives unchanged, mistakes come all at once, jobs do not disturb each other."""

from __future__ import annotations

import operator
import os
import sys
import types
from collections.abc import Callable
from pathlib import Path

import pytest
from hydra._internal.hydra import Hydra
from hydra.core.override_parser.overrides_parser import OverridesParser
from hypothesis import example, given, settings
from hypothesis import strategies as st
from omegaconf import OmegaConf

from mate_cli.cli import diagnosis
from mate_cli.cli.main import main
from mate_cli.cli.overrides import quote, split
from mate_cli.config.catalogue import options
from mate_cli.config.inference import PredictConfig
from mate_cli.config.model import BACKENDS
from mate_cli.config.train import TrainConfig
from tests.cli.jobs import Jobs

TASKS = (
    "counterfactual, cs, hybridqa, hybridqa_reader, mlm, own, own_qa, queries, sample, sample_reader, sqa, "
    "synthetic, tabfact, wtq"
)
HARDWARE = "auto, cpu, cpu_bf16, gpu, gpu_ddp, gpu_fsdp, tpu_v3, tpu_v3_32, tpu_v4, tpu_v5e, tpu_v6e, xla_cpu"
TRICKY = "\\'\"${}[](),=: ~+-#|&@%é\t null"
TEXT = st.text(st.one_of(st.sampled_from(TRICKY), st.characters(exclude_categories=("Cs", "Cc"))), max_size=30)
OPTIONAL = TEXT.filter(lambda text: text not in ("", "null"))  # null: as if it were not given


def is_literal(path: str) -> bool:
    return not path.startswith("~")  # a home folder


@settings(max_examples=250)
@given(TEXT.filter(lambda text: text != "null"))  # of an optional key, null is none
@example("\\${a}\\")
@example("it's \\'quoted\\' ${oc.env:HOME}")
def test_text_survives_hydras_grammar_and_omegaconfs(text: str) -> None:
    parser = OverridesParser.create()
    override = parser.parse_override(quote(PredictConfig, f"question={text}"))
    assert not override.is_sweep_override()
    config = OmegaConf.structured(PredictConfig)
    OmegaConf.update(config, override.key_or_group, override.value())
    assert config.question == text
    again = parser.parse_override(f"question={override.get_value_element_as_str()}")  # as a sweep writes it
    assert again.value() == override.value()


class TestText:
    """Through the whole of ``main``."""

    @settings(max_examples=3)
    @given(
        question=OPTIONAL.filter(lambda text: bool(text.strip())),  # a blank one is refused
        table=OPTIONAL.filter(is_literal),
        run=OPTIONAL.filter(is_literal),
    )
    @example(question="a, b: 'c' [d] {e=f} \"g\" \\ ", table="C:\\data\\${x}\\", run=" ")
    @example(question="~", table="nulls", run="a=b,c=d")
    def test_reaches_the_command_and_its_children_unchanged(self, question: str, table: str, run: str) -> None:
        with pytest.MonkeyPatch.context() as patch:
            seen = Jobs()
            module = types.ModuleType("predict")
            module.run = seen.run  # type: ignore[attr-defined]
            patch.setitem(sys.modules, "mate_cli.commands.predict", module)
            patch.setattr(diagnosis, "missing_inputs", lambda *_: [])
            words = [f"question={question}", f"table={table}", f"run={run}", f"paths.cache={table}"]
            assert main(["predict", *words]) == 0
            assert main(["predict", "-m", *words, "top=1,2"]) == 0
            assert main(seen.argv[-1][1:]) == 0  # the command line of the last job, as a child runs it
        assert [(c.question, c.table, c.run, c.paths.cache) for c in seen.configs] == [
            (question, table, run, table)
        ] * 4
        assert [c.top for c in seen.configs] == [5, 1, 2, 2]
        assert seen.argv[0][1:] == ["predict", *words]

    def test_null_unsets_a_key_that_may_be_null(self, jobs: Jobs) -> None:
        assert main(["train", "data_dir=null", "name=null"]) == 0
        assert (jobs.configs[0].data_dir, jobs.configs[0].name) == (None, None)

    @pytest.mark.parametrize("key", ["data_dir", "name", "paths.runs", "paths.cache", "backbone.path"])
    def test_paths_are_taken_literally(self, jobs: Jobs, key: str) -> None:
        assert main(["train", "backbone=folder", "backbone.path=x", f"{key}=a,b [c] ${{d}}"]) == 0
        assert operator.attrgetter(key)(jobs.configs[0]) == "a,b [c] ${d}"


def test_the_options_of_a_sweep_are_composed_once_each(monkeypatch: pytest.MonkeyPatch) -> None:
    compose, composed = diagnosis.compose, list[tuple[str, ...]]()
    monkeypatch.setattr(
        diagnosis, "compose", lambda command, words: composed.append(tuple(words)) or compose(command, words)
    )
    words = ["model=mate,tapas", "seed=0,1,two,3", "epochs=1,-1"]
    seed, epochs = diagnosis.diagnose("train", words, multirun=True, complete=True).mistakes
    assert seed.startswith("seed=two: must be a whole number")
    assert epochs == "epochs=-1.0: must be above 0"
    assert composed == [("model=mate",), ("model=tapas",)]


def test_a_job_receives_the_dataclass(jobs: Jobs) -> None:
    assert main(["train", "task=hybridqa", "backbone=minilm", "seed=3"]) == 0
    assert isinstance(jobs.configs[0], TrainConfig)
    assert (jobs.configs[0].task.name, jobs.configs[0].backbone.name, jobs.configs[0].seed) == (
        "hybridqa",
        "minilm",
        3,
    )


@pytest.mark.parametrize(
    "words",
    [
        ["task=wtq", "model=tapas", "backbone=tiny", "lr=0.1", "task.sentences=2", "data_dir=a b, c", "++seed=4"],
        ["ablation=linformer_k512", "task=hybridqa", "schedule=released", "hardware=cpu", "hardware.workers=1"],
        ["experiment=hybridqa_laptop", "data_dir=${x}", "seed=2", "hardware=tpu_v3"],
    ],
)
def test_a_single_job_gets_the_configuration_that_hydra_makes(words: list[str], jobs: Jobs) -> None:
    assert main(["train", *words]) == 0
    assert main(["train", "-m", *words]) == 0  # through Hydra
    alone, swept = jobs.configs
    assert alone == swept
    assert jobs.argv[0] == jobs.argv[1]


def test_a_single_job_is_composed_once(jobs: Jobs, monkeypatch: pytest.MonkeyPatch) -> None:
    made, compose = [], Hydra.compose_config
    monkeypatch.setattr(Hydra, "compose_config", lambda *args, **named: made.append(args) or compose(*args, **named))
    assert main(["train", "task=wtq", "seed=3"]) == 0
    assert len(made) == 1


def test_all_mistakes_are_told_at_once(jobs: Jobs, errors: Callable[[], list[str]]) -> None:
    words = [
        "task=hybridqaa",
        "hardware=gpuu",
        "model.attenton.backend=x",
        "seed=two",
        "model.attention.backend=fast",
    ]
    assert main(["train", *words, "task.sentences=-1", "prune=hem", "paths=3", "tapas", "+foo=1", "~seed"]) == 2
    assert set(errors()) == {
        f"error: unknown task 'hybridqaa': did you mean hybridqa? choose from {TASKS}",
        f"error: unknown hardware 'gpuu': did you mean gpu? choose from {HARDWARE}",
        "error: unknown key 'model.attenton.backend': did you mean model.attention.backend?",
        "error: seed=two: must be a whole number",
        f"error: unknown model.attention.backend 'fast': choose from {', '.join(BACKENDS)}",
        "error: task.sentences=-1: must be at least 0",
        "error: unknown key 'prune': did you mean task.schedules.laptop.prune?",
        "error: paths is a group of keys",
        "error: cannot read 'tapas': write KEY=VALUE, like task=sample",
        "error: cannot add '+foo=1': only existing keys can be set, without the +",
        "error: cannot remove '~seed': keys have defaults, set another value",
    }
    assert jobs.configs == []


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["seed=1,2"], "seed=1,2 lists several values: add -m to run them all"),
        (["-m", "seed=0,two"], "seed=two: must be a whole number"),
        (
            ["-m", "seed=0,1", "model=mate,mat"],
            f"unknown model 'mat': did you mean mate? choose from {', '.join(o.name for o in options('model'))}",
        ),
        (
            ["-m", "seed=interval(0,1)"],
            "cannot sweep over 'seed=interval(0,1)': list the values, like seed=0,1,2",
        ),
        (["task=sample", "task=hybridqa"], "task is given twice"),
        (["task=null"], f"unknown task 'null': choose from {TASKS}"),
        (["seed=null"], "seed=null: must be a whole number"),
        (["seed=1.5"], "seed=1.5: must be a whole number"),
        (["resume=maybe"], "resume=maybe: must be true or false"),
        (["task.schedules.laptop.lr=fast"], "task.schedules.laptop.lr=fast: must be a number"),
        (
            ["task.schedules.mine.lr=1"],
            "unknown key 'task.schedules.mine.lr': did you mean task.schedules.smoke.lr?",
        ),
        (
            ["task.schedules.laptop={lrr: 1}"],
            "unknown key 'task.schedules.laptop.lrr': did you mean task.schedules.laptop.lr?",
        ),
        (
            ["model._target_=os.system"],
            "cannot set 'model._target_=os.system': the key '_target_' names code to run; leave it out",
        ),
        (
            ["schedule=laptop", "task=hybridqa", "warmup=1"],
            "unknown key 'warmup': did you mean task.schedules.laptop.warmup?",
        ),
        (["batch_size=3"], "unknown key 'batch_size': did you mean batch?"),
        (["task.lr=1"], "unknown key 'task.lr': did you mean lr?"),
        (["task.learning_rate=1"], "unknown key 'task.learning_rate': did you mean lr?"),
        (["lr=0"], "lr=0.0: must be above 0"),
        (["steps=2.5"], "steps=2.5: must be a whole number or null"),
        (["steps=2", "epochs=3"], "steps and epochs: set at most one of them"),
        (
            ["seed=[1"],
            f"cannot read 'seed=[1': {diagnosis.UNCLOSED}",
        ),
        (["seed=${nowhere}"], "seed: Interpolation key 'nowhere' not found"),
        (
            ["--devices"],
            "unknown option '--devices': choose from --help, --cfg, --config-dir, --package, --resolve, -m, --debug",
        ),
        (["--cfg"], "--cfg needs a value (one of job, hydra, all)"),
        (["--cfg=jobs"], "unknown value of --cfg 'jobs': did you mean job? choose from job, hydra, all"),
        (["--resolve"], "--resolve says how --cfg shows the configuration: write --cfg job --resolve"),
        (
            ["hydra/launcher=rai"],
            "unknown hydra/launcher 'rai': did you mean ray? choose from basic, local, ray, serial, submitit",
        ),
    ],
)
def test_a_mistake_is_one_line(jobs: Jobs, errors: Callable[[], list[str]], words: list[str], line: str) -> None:
    assert main(["train", *words]) == 2
    assert errors() == [f"error: {line}"]
    assert jobs.configs == []


def test_blanks_around_the_sign_are_told_beside_other_mistakes(jobs: Jobs, errors: Callable[[], list[str]]) -> None:
    assert main(["train", "seed", "=", "two", "batch=", "3", "lr", "=1e-4", "nam=x"]) == 2
    assert errors() == [
        "error: cannot read 'seed = two': write seed=two, without blanks around =",
        "error: cannot read 'batch= 3': write batch=3, without blanks around =",
        "error: cannot read 'lr =1e-4': write lr=1e-4, without blanks around =",
        "error: seed=two: must be a whole number",
        "error: unknown key 'nam': did you mean name?",
    ]
    assert main(["train", "name=", "resume=true"]) == 2  # an empty value, and another word
    assert errors() == ["error: name is empty"]
    assert main(["predict", "run=a", "table=b", "question=what is 2 + 2 =", "top=1"]) == 0
    assert jobs.configs[-1].question == "what is 2 + 2 ="


@pytest.mark.parametrize(
    "words", [["t.csv", "run=x"], ["run=x", "t.csv"], ["run=x", "t.csv", "top=3"], ["run=x", "table=t.csv"]]
)
def test_the_file_that_is_asked_needs_no_key_in_any_place(jobs: Jobs, words: list[str]) -> None:
    assert main(["ask", *words]) == 0
    assert (jobs.configs[0].table, jobs.configs[0].run) == ("t.csv", "x")


@pytest.mark.parametrize("command", ["ask", "predict"])
def test_a_second_word_without_a_key_is_the_question(command: str, jobs: Jobs) -> None:
    for words in (["t.csv", "run=x", "Who, [there]?"], ["Who, [there]?", "table=t.csv", "run=x"]):
        assert main([command, *words]) == 0
        assert (jobs.configs[-1].table, jobs.configs[-1].question) == ("t.csv", "Who, [there]?")


def test_no_more_words_without_a_key_are_read(jobs: Jobs, errors: Callable[[], list[str]]) -> None:
    hint = "only one table and one question, in quotes, need no KEY="
    for words in (["run=x", "t.csv", "Who", "is", "there?"], ["is", "there?", "question=Who", "table=t.csv"]):
        assert main(["ask", *words]) == 2
        assert errors() == [f"error: cannot read 'is there?': {hint}"]
    assert main(["predict", "t.csv", "Who?", "questions=q.txt", "top=0"]) == 2
    assert errors()[0] == f"error: cannot read 'Who?': {hint}"
    assert not jobs.configs
    assert main(["ask", "table", "=", "t.csv"]) == 2
    assert errors() == ["error: cannot read 'table = t.csv': write table=t.csv, without blanks around ="]


def test_what_has_no_default_is_asked_for(
    jobs: Jobs, errors: Callable[[], list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mate_cli.config.inference.RELEASED", "no_such_package_of_weights")
    assert main(["predict", "top=0"]) == 2
    assert errors() == [
        "error: table is missing: write table=..., or tables=...",
        "error: question is missing: write question=..., or questions=..., or statement=...",
        "error: run is missing: write run=..., or selector=... and reader=...",
        "error: top=0: must be at least 1",
    ]


@pytest.mark.parametrize("words", [["seed=1"], ["-m", "seed=0,1"], ["--cfg", "job"], ["seed=two"]])
def test_nothing_is_left_behind(jobs: Jobs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: list[str]) -> None:
    monkeypatch.chdir(tmp_path)
    environment = dict(os.environ)
    main(["train", *words])
    assert list(tmp_path.iterdir()) == []
    assert {k: v for k, v in os.environ.items() if k != "PYTEST_CURRENT_TEST"} == {
        k: v for k, v in environment.items() if k != "PYTEST_CURRENT_TEST"
    }


def test_cfg_shows_the_configuration_and_runs_nothing(jobs: Jobs, capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["predict", "--cfg", "job", "top=7"]) == 0
    shown = OmegaConf.create(capfd.readouterr().out)
    assert shown.top == 7
    assert shown.table is None
    assert jobs.configs == []


def test_flags_are_told_from_overrides() -> None:
    arguments = split(["a=1", "-m", "--cfg=job", "b=--x", "-p", "task"])
    assert arguments.flags == ["--multirun", "--cfg", "job", "--package", "task"]
    assert arguments.overrides == ["a=1", "b=--x"]
    assert arguments.multirun
    assert arguments.only_shows
