"""The configuration: every shipped YAML, the limits, and the round trip through a run folder."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from hydra import compose, initialize_config_dir
from hypothesis import given, settings
from hypothesis import strategies as st
from omegaconf import OmegaConf

from mate_cli.cli.diagnosis import register_schemas, typed
from mate_cli.config import paths, schema
from mate_cli.config.catalogue import options
from mate_cli.config.commands import ROOTS
from mate_cli.config.model import BENCH_HEADS, AttentionConfig
from mate_cli.config.paths import PathsConfig, cache_folder, conf_folder
from mate_cli.config.plain import to_plain
from mate_cli.config.rules import problems, unknown_name
from mate_cli.config.sweep import LAUNCHERS
from mate_cli.config.task import TaskConfig, active_schedule
from mate_cli.config.train import LoggerConfig, TrainConfig
from mate_cli.runs.folder import load_run_config
from mate_cli.runs.identity import config_hash
from mate_cli.system.errors import UserError

SHIPPED = {"model": 13, "ablation": 11, "backbone": 19, "task": 14, "hardware": 12, "logger": 3, "analysis": 9}
COUNT = sum(SHIPPED.values())
OPTIONS = [(group, option.name) for group in SHIPPED for option in options(group)]
FROM_A_RUN = ("with_statements", "without_sparse_pretraining")  # ablations that start from another run


@pytest.fixture
def conf() -> Iterator[None]:
    register_schemas()
    with initialize_config_dir(str(conf_folder()), version_base="1.3"):
        yield


def config_of(command: str, *overrides: str) -> Any:
    register_schemas()
    with initialize_config_dir(str(conf_folder()), version_base="1.3"):
        return typed(compose(command, list(overrides)))


def train_config(*overrides: str) -> TrainConfig:
    return config_of("train", *overrides)


@pytest.fixture(scope="module")
def default() -> TrainConfig:
    return train_config()


def test_every_shipped_file_is_composed_below() -> None:
    files = {file.relative_to(conf_folder()) for file in conf_folder().rglob("*.yaml")}
    roots = {Path(f"{command}.yaml") for command in ROOTS}
    composed = {Path(group) / f"{name}.yaml" for group, name in OPTIONS}
    suites = {Path("suite") / f"{option.name}.yaml" for option in options("suite")}  # in tests/bench/test_suites.py
    launchers = {Path("hydra/launcher") / f"{name}.yaml" for name in LAUNCHERS}  # in tests/cli/sweep/test_starters.py
    # In tests/training/test_experiments.py; quiet is part of every root.
    experiments = {Path("experiment") / f"{option.name}.yaml" for option in options("experiment")}
    assert files == roots | composed | suites | launchers | experiments | {Path("quiet.yaml")}
    assert {group: len(options(group)) for group in SHIPPED} == SHIPPED
    assert len(OPTIONS) == COUNT == 81


@pytest.mark.parametrize(("group", "name"), OPTIONS)
def test_every_option_composes_to_a_valid_configuration(group: str, name: str) -> None:
    needed = ["backbone.path=somewhere"] if name in ("folder", "run", *FROM_A_RUN) else []
    command = "train" if group in schema.groups(TrainConfig) else "analyze"
    composed = config_of(command, f"{group}={name}", *needed)
    assert getattr(composed, group).name == name
    assert problems(composed) == (bench_only(name) if name in BENCH_HEADS else [])


def bench_only(model: str) -> list[str]:
    others = "linformer, mate, mate_bucketed, mate_columns, mate_dense, mate_rows, sat, table_etc, tapas"
    return [f"model={model} is for mate bench only; models to train: {others}"]


def test_a_task_is_the_choice_of_an_analysis() -> None:
    assert config_of("analyze").task is None
    chosen = config_of("analyze", "task=hybridqa")
    assert isinstance(chosen.task, TaskConfig)
    assert (chosen.task.name, chosen.backbone.name) == ("hybridqa", "bert_large")
    assert active_schedule(chosen).max_tokens == 2048
    alone = config_of("analyze", "data_dir=somewhere", "analysis.radii=[42,0]", "analysis.global_sizes=[]")
    assert problems(alone) == [
        "data_dir says how to read a task: add task=NAME",
        "analysis.global_sizes is empty",
        "analysis.radii=0: must be at least 1",
    ]


@pytest.mark.parametrize("option", [option for group in SHIPPED for option in options(group)], ids=str)
def test_every_option_starts_with_a_line_for_ls(option: Any) -> None:
    assert len(option.line) > 20
    assert option.line.endswith((".", "?"))


@pytest.mark.usefixtures("conf")
@pytest.mark.parametrize("command", ROOTS)
def test_every_root_composes_to_its_dataclass(command: str) -> None:
    required = [f"{key.name}=x" for key in schema.keys(ROOTS[command]) if key.required and "." not in key.name]
    composed = typed(compose(command, required))
    assert type(composed) is ROOTS[command]
    assert problems(composed) == []


def test_every_key_says_what_it_means_and_is_found_by_its_name() -> None:
    keys = [(root, key) for root in ROOTS.values() for key in schema.keys(root)]
    assert len(keys) > 60
    for root, key in keys:
        assert len(key.meaning["doc"]) > 4, key.name
        assert schema.find(root, key.name) == key
    assert schema.find(TrainConfig, "task.schedules.laptop.lr").type is float
    assert schema.find(TrainConfig, "task.schedules.lr") is None


@pytest.mark.parametrize(
    ("overrides", "line"),
    [
        (["task.schedules.laptop.batch=0"], "task.schedules.laptop.batch=0: must be at least 1"),
        (["model.table_etc.global_size=5"], "model.table_etc.global_size=5: must be even"),
        (["task.schedules.laptop.lr=0"], "task.schedules.laptop.lr=0.0: must be above 0"),
        (["task.schedules.laptop.lr=inf"], "task.schedules.laptop.lr=inf: must be finite"),
        (["task.schedules.laptop.warmup=1.5"], "task.schedules.laptop.warmup=1.5: must be at most 1"),
        (["task.schedules.laptop.dropout=1"], "task.schedules.laptop.dropout=1.0: must be below 1"),
        (["task.sentences=-1"], "task.sentences=-1: must be at least 0"),
        (["seed=-1"], "seed=-1: must be at least 0"),
        (["task.input=text"], "unknown task.input 'text': choose from both, table, passages"),
        (
            ["schedule=lap"],
            "unknown schedule 'lap': did you mean laptop? choose from paper, small, laptop, smoke",
        ),
        (["resume=true", "overwrite=true"], "resume and overwrite: set at most one of them to true"),
        (["backbone=folder"], "backbone.path is missing: source=folder needs it"),
        (["backbone=tiny", "backbone.heads=7"], "backbone.hidden=64 cannot be divided among heads=7"),
        (["name=''"], "name is empty"),
        (["task.span.max_span=0"], "task.span.max_span=0: must be at least 1"),
        (["task.span.head=deep"], "unknown task.span.head 'deep': choose from mlp, linear"),
        (
            ["task.span.noisy_cells=full"],
            "task.span.noisy_cells=full needs together=true: a cell without the answer teaches nothing alone",
        ),
        (["task.qa.temperature=0"], "task.qa.temperature=0.0: must be above 0"),
        (["task.qa.cell_select_pref=1.1"], "task.qa.cell_select_pref=1.1: must be at most 1"),
        (
            ["task=sqa", "ablation=without_ambiguous"],
            "task.ambiguous=false belongs to kind=cell_selection and kind=span_reading, and this is kind=table_qa",
        ),
        (["model.linformer.k=0"], "model.linformer.k=0: must be at least 1"),
        (
            ["model=sat", "model.attention.backend=ragged"],
            "model.attention.backend=ragged cannot do heads=row_or_column: "
            "choose from auto, autotune, eager, dense, native, flex",
        ),
        (
            ["model=linformer", "model.attention.backend=dense"],
            "model.attention.backend=dense cannot do heads=linformer: choose from auto",
        ),
        (
            ["task.schedules.smoke.epochs=1"],
            "task.schedules.smoke.steps and epochs: set exactly one of them, the other to null",
        ),
        (
            ["task.schedules.smoke.steps=null"],
            "task.schedules.smoke.steps and epochs: set exactly one of them, the other to null",
        ),
    ],
)
def test_a_value_out_of_range_is_one_line(overrides: list[str], line: str) -> None:
    assert problems(train_config(*overrides)) == [line]


def test_not_a_number_is_out_of_every_range() -> None:
    assert problems(train_config("task.schedules.laptop.lr=nan"))


def test_the_nearest_name_is_offered_and_a_far_one_is_not() -> None:
    assert unknown_name("task", "hybridqaa", ["sample", "hybridqa"]) == (
        "unknown task 'hybridqaa': did you mean hybridqa? choose from sample, hybridqa"
    )
    assert unknown_name("task", "zzz", ["sample"]) == "unknown task 'zzz': choose from sample"


UNHASHED = {"name": "other", "resume": True, "overwrite": True, "paths": PathsConfig(runs="elsewhere")}


@pytest.mark.parametrize("name", [*UNHASHED, "logger"])
def test_the_hash_ignores_where_and_how_a_run_is_told(default: TrainConfig, name: str) -> None:
    value = UNHASHED.get(name, LoggerConfig(name="wandb"))
    assert config_hash(to_plain(replace(default, **{name: value}))) == config_hash(to_plain(default))


def test_the_hash_sees_everything_else(default: TrainConfig) -> None:
    others = [
        replace(default, seed=1),
        replace(default, schedule="small"),
        replace(default, task=replace(default.task, sentences=4)),
        replace(default, model=replace(default.model, attention=AttentionConfig(backend="eager"))),
        train_config("task.schedules.laptop.lr=1e-3"),
        train_config("backbone=tiny"),
    ]
    hashes = {config_hash(to_plain(other)) for other in [default, *others]}
    assert len(hashes) == len(others) + 1
    assert all(len(value) == 64 for value in hashes)


def write(folder: Path, plain: Any) -> Path:
    (folder / "config.yaml").write_text(yaml.safe_dump(plain), encoding="utf-8")
    return folder


def test_a_run_folder_gives_its_configuration_back(tmp_path: Path, default: TrainConfig) -> None:
    assert load_run_config(write(tmp_path, to_plain(default))) == default


@settings(max_examples=20)
@given(text=st.text(st.characters(exclude_categories=("Cs", "Cc"))).filter(bool))
def test_text_in_a_run_folder_is_never_interpolated(
    text: str, default: TrainConfig, tmp_path_factory: pytest.TempPathFactory
) -> None:
    for value in (text, "${" + text + "}", "\\${seed}" + text):
        folder = write(tmp_path_factory.mktemp("run"), to_plain(replace(default, data_dir=value)))
        assert load_run_config(folder).data_dir == value


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"sed": 3}, "Key 'sed' not in 'TrainConfig'"),
        ({"seed": "two"}, "could not be converted to Integer"),
        ({"seed": -1}, "seed=-1: must be at least 0"),
        ({"task": {"_target_": "os.system"}}, "Key '_target_' not in 'TaskConfig'"),
    ],
)
def test_a_spoilt_run_configuration_is_one_clear_line(
    tmp_path: Path, default: TrainConfig, change: dict[str, Any], words: str
) -> None:
    with pytest.raises(UserError) as caught:
        load_run_config(write(tmp_path, to_plain(default) | change))
    assert words in str(caught.value)
    assert str(tmp_path / "config.yaml") in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("content", [b"a: [", b"\xff\xfe\xfa", b"- 1", b"just words", b""])
def test_a_file_that_is_no_configuration_is_one_clear_line(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "config.yaml").write_bytes(content)
    with pytest.raises(UserError, match="is not a configuration of mate train") as caught:
        load_run_config(tmp_path)
    assert "\n" not in str(caught.value)


def test_a_folder_without_a_configuration_is_no_run(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="is not a run folder"):
        load_run_config(tmp_path / "nothing")


def test_the_plain_configuration_has_only_plain_containers(default: TrainConfig) -> None:
    assert yaml.safe_load(yaml.safe_dump(to_plain(default))) == to_plain(default)
    assert OmegaConf.to_object(OmegaConf.merge(OmegaConf.structured(TrainConfig), to_plain(default))) == default


def test_the_cache_folder_is_the_key_then_the_variable_then_home(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MATE_CACHE", "/from/variable")
    assert cache_folder(PathsConfig(cache="/from/key")) == Path("/from/key")
    assert cache_folder(PathsConfig()) == Path("/from/variable")
    monkeypatch.delenv("MATE_CACHE")
    assert cache_folder(PathsConfig()) == Path.home() / ".cache" / "mate"


def test_conf_is_found_in_a_wheel_and_in_a_checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "mate_cli").mkdir()
    monkeypatch.setattr(paths, "__file__", str(tmp_path / "mate_cli" / "config" / "paths.py"))
    assert conf_folder() == tmp_path / "conf"
    (tmp_path / "mate_cli" / "conf").mkdir()
    assert conf_folder() == tmp_path / "mate_cli" / "conf"


@pytest.mark.parametrize("size", ["tiny", "mini", "small", "medium", "base", "large"])
def test_there_is_a_tapas_of_each_size_with_and_without_statements(size: str) -> None:
    assert train_config(f"backbone=tapas_{size}").backbone.hub_id == f"google/tapas-{size}"
    assert train_config(f"backbone=tapas_{size}_masklm").backbone.hub_id == f"google/tapas-{size}-masklm"
