"""The rule for "the same run": keys that count and those that do not, missing keys, data, weights."""

from __future__ import annotations

import copy
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mate_cli.config.paths import PathsConfig
from mate_cli.config.plain import leaves, to_plain
from mate_cli.config.train import TrainConfig
from mate_cli.runs.identity import Identity, default_settings, differences, identity_of, recorded_identity
from mate_cli.runs.place import current_identity, run_path
from tests.config.test_config import train_config

NEVER = (
    *("name", "resume", "overwrite", "dry_run", "paths", "logger", "hardware", "ablation", "data_dir", "schedule"),
    *("task.mixed.data_dir", "task.qa.history"),
    *("task.name", "task.report_split", "task.default_schedule", "model.name", "backbone.name"),
)
"""Keys, or groups of them, that never count: those of a schedule are looked at by its name."""

MODELS = ("model.bucketed", "model.linformer", "model.table_etc", "model.etc")
WEIGHTS = ("backbone.package", "backbone.path", "backbone.hub_id", "backbone.vocabulary")
SIZES = tuple(f"backbone.{name}" for name in ("hidden", "layers", "heads", "intermediate", "max_positions"))
OTHER_TASKS = ("task.span", "task.qa", "task.masking", "task.mixed")

UNUSED = {
    "task=sample backbone=tiny": (
        *(*MODELS, "backbone.path", "backbone.hub_id", "backbone.pooling", *OTHER_TASKS),
        *("schedule.temperature", "schedule.contrast", "schedule.mentions"),
    ),
    "task=sample backbone=tiny model=linformer task.expansion=all": (
        *("model.row_ratio", "model.bucketed", "model.table_etc", "model.etc", "task.sentences", *OTHER_TASKS),
        *("backbone.path", "backbone.hub_id", "backbone.pooling"),
        *("schedule.temperature", "schedule.contrast", "schedule.mentions"),
    ),
    "task=sample_reader backbone=minilm": (
        *(*MODELS, "model.row_ratio", "backbone.path", "backbone.hub_id", "backbone.vocabulary", *SIZES),
        *("backbone.pooling", "task.expansion", "task.sentences", "task.objective", "task.qa", "task.masking"),
        *("task.mixed", "schedule.temperature", "schedule.contrast", "schedule.mentions"),
    ),
    "task=sqa backbone=bert_large model=mate_bucketed schedule=laptop": (
        *("model.linformer", "model.table_etc", "model.etc", *SIZES, "task.objective", "task.ambiguous"),
        *("backbone.package", "backbone.path", "backbone.vocabulary", "task.span", "task.masking", "task.mixed.share"),
        *("task.qa.cell_select_pref", "task.qa.huber_delta", "task.qa.answer_loss_cutoff", "schedule.mentions"),
    ),
    "task=wtq backbone=minilm model=table_etc schedule=laptop": (
        *("model.row_ratio", "model.bucketed", "model.linformer", "model.etc", *SIZES, "task.objective"),
        *("backbone.path", "backbone.hub_id", "backbone.vocabulary", "task.ambiguous", "task.span", "task.masking"),
        *("task.mixed.share", "schedule.mentions"),
    ),
    "task=queries backbone=minilm schedule=laptop": (
        *(*MODELS, *SIZES, "task.objective", "task.ambiguous", "task.span", "task.masking", "schedule.mentions"),
        *("backbone.path", "backbone.hub_id", "backbone.vocabulary", "task.mixed.share"),
    ),
    "task=tabfact backbone=folder backbone.path=weights model=tapas schedule=laptop": (
        *(*MODELS, "model.row_ratio", *SIZES, "backbone.package", "backbone.hub_id", "backbone.vocabulary"),
        *("task.objective", "task.ambiguous", "task.span", "task.qa", "task.masking", "task.mixed.share"),
        *("schedule.temperature", "schedule.contrast"),
    ),
    "task=tabfact backbone=tiny task.mixed.format=cs": (
        *(*MODELS, "backbone.path", "backbone.hub_id", "task.objective", "task.ambiguous", "task.span", "task.qa"),
        *("task.masking", "schedule.temperature", "schedule.contrast"),
    ),
    "task=mlm backbone=run backbone.path=parent schedule=laptop": (
        *(*MODELS, *SIZES, "backbone.package", "backbone.hub_id", "backbone.vocabulary", "task.span", "task.qa"),
        *("task.input", "task.expansion", "task.sentences", "task.objective", "task.ambiguous", "task.mixed"),
        *("schedule.temperature", "schedule.contrast", "schedule.mentions", "schedule.held_out"),
    ),
}
"""Composition -> keys whose variant it does not choose."""


@cache
def composed(words: str) -> TrainConfig:
    return train_config(*words.split())


def counts(name: str, words: str) -> bool:
    """Say whether a key counts in a composition, by the tables above."""
    config = composed(words)
    if name == "backbone.path":
        return config.backbone.source in ("run", "folder")
    if name.startswith("task.schedules."):
        followed = f"task.schedules.{config.schedule or config.task.default_schedule}."
        name = name.replace(followed, "schedule.")
        return name.startswith("schedule.") and name not in ("schedule.save_every", *UNUSED[words])
    generated = () if "task=queries" in words else ("task.queries",)
    return not any(name == key or name.startswith(f"{key}.") for key in (*NEVER, *generated, *UNUSED[words]))


def changed(value: Any) -> Any:
    if isinstance(value, bool):
        return not value
    return value + 1 if isinstance(value, int | float) else f"{value}_other"


def with_value(plain: dict[str, Any], name: str, value: Any) -> dict[str, Any]:
    """Return a copy of a configuration in which a key has another value."""
    new = copy.deepcopy(plain)
    *groups, last = name.split(".")
    group = new
    for part in groups:
        group = group[part]
    group[last] = value
    return new


def without(plain: dict[str, Any], name: str) -> dict[str, Any]:
    """Return a copy of a configuration that lacks a key."""
    new = copy.deepcopy(plain)
    *groups, last = name.split(".")
    group = new
    for part in groups:
        group = group[part]
    del group[last]
    return new


def identity(plain: dict[str, Any]) -> Identity:
    return identity_of(plain, None, None)


@pytest.mark.parametrize("words", UNUSED)
def test_each_key_counts_where_it_is_in_use_and_only_there(words: str) -> None:
    plain = to_plain(composed(words))
    before, wrong = identity(plain), []
    for name, value in leaves(plain).items():
        if name in ("schedule", "task.default_schedule", "hardware.precision", "data_dir"):  # have tests of their own
            continue
        after = identity(with_value(plain, name, changed(value)))
        differ = bool(differences(before, after))
        assert differ == (before.digest() != after.digest())
        if differ != counts(name, words):
            wrong.append(name)
    assert wrong == []


@given(st.data())
@settings(max_examples=100)
def test_no_number_of_unused_keys_hides_one_in_use(data: st.DataObject) -> None:
    words = data.draw(st.sampled_from([*UNUSED]))
    plain = to_plain(composed(words))
    values = leaves(plain)
    skipped = ("schedule", "task.default_schedule", "hardware.precision", "data_dir")
    idle = [name for name in values if name not in skipped and not counts(name, words)]
    used = [name for name in values if name not in skipped and counts(name, words)]
    moved = plain
    for name in data.draw(st.lists(st.sampled_from(idle), unique=True)):
        moved = with_value(moved, name, changed(values[name]))
    assert differences(identity(plain), identity(moved)) == {}
    assert identity(plain).digest() == identity(moved).digest()
    name = data.draw(st.sampled_from(used))
    other = identity(with_value(moved, name, changed(values[name])))
    assert differences(identity(plain), other)
    assert identity(plain).digest() != other.digest()


@given(st.data())
def test_a_missing_key_equals_its_default(data: st.DataObject) -> None:
    words = data.draw(st.sampled_from([*UNUSED]))
    plain = to_plain(composed(words))
    default = default_settings()
    followed = f"task.schedules.{plain['schedule'] or plain['task']['default_schedule']}."
    meant = {name: default.get(name.replace(followed, "schedule.")) for name in leaves(plain)}
    absent = [name for name, value in leaves(plain).items() if value == meant[name] and value != "???"]
    old = plain
    for name in data.draw(st.lists(st.sampled_from(absent), unique=True)):
        old = without(old, name)
    assert differences(identity(old), identity(plain)) == {}
    assert identity(old).digest() == identity(plain).digest()


def test_a_group_that_a_record_lacks_is_at_its_defaults() -> None:
    plain = to_plain(composed("task=sample backbone=tiny"))
    old = without(without(without(plain, "ablation"), "model.bucketed"), "hardware")
    assert differences(identity(old), identity(plain)) == {}


def test_the_schedule_counts_by_its_content_and_not_by_its_name() -> None:
    plain = to_plain(composed("task=sample backbone=tiny"))
    named = with_value(plain, "schedule", plain["task"]["default_schedule"])
    renamed = with_value(plain, "schedule", "mine")
    renamed["task"]["schedules"] = {"mine": plain["task"]["schedules"][plain["task"]["default_schedule"]]}
    assert differences(identity(plain), identity(named)) == differences(identity(plain), identity(renamed)) == {}
    assert "schedule.steps" in differences(identity(plain), identity(with_value(plain, "schedule", "smoke")))


@pytest.mark.parametrize(
    ("one", "other", "is_same"),
    [("auto", "bf16-mixed", True), ("32", "32", True), ("auto", "32", False), ("bf16-mixed", "32", False)],
)
def test_full_precision_is_another_training(one: str, other: str, is_same: bool) -> None:
    plain = to_plain(composed("task=sample backbone=tiny"))
    found = differences(*(identity(with_value(plain, "hardware.precision", value)) for value in (one, other)))
    assert found == ({} if is_same else {"hardware.precision": (one.replace("bf16-mixed", "auto"), other)})


@pytest.mark.parametrize("hardware", ["auto", "cpu", "cpu_bf16", "gpu", "gpu_ddp", "gpu_fsdp", "tpu_v3", "tpu_v3_32"])
def test_hardware_profiles_are_the_same_run_under_the_same_name(hardware: str) -> None:
    one, other = composed("task=sample backbone=tiny"), composed(f"task=sample backbone=tiny hardware={hardware}")
    assert run_path(one, current_identity(one)) == run_path(other, current_identity(other))


@pytest.mark.parametrize(
    ("one", "other", "is_same"),
    [
        (Identity({}, "a", "/x"), Identity({}, "a", "/y"), True),  # moved
        (Identity({}, "a", "/x"), Identity({}, "b", "/x"), False),  # changed where it lies
        (Identity({}, None, "/x"), Identity({}, "a", "/y"), True),  # an old record whose data is gone
        (Identity({}, None, "/x"), Identity({}, None, "/x"), True),
        (Identity({}, None, "/x"), Identity({}, None, "/y"), False),
        (Identity({}, weights="a", start="/x"), Identity({}, weights="a", start="/y"), True),
        (Identity({}, weights="a", start="/x"), Identity({}, weights="b", start="/x"), False),  # trained again
        (Identity({}, weights=None, start="/x"), Identity({}, weights="b", start="/x"), True),
        (Identity({}, weights=None, start="/x"), Identity({}, weights="b", start="/y"), False),
    ],
)
def test_hashes_win_over_paths(one: Identity, other: Identity, is_same: bool) -> None:
    assert (differences(one, other) == {}) == (differences(other, one) == {}) == is_same


def test_an_old_record_has_the_data_that_lies_at_its_path_now(tmp_path: Path) -> None:
    config = replace(composed("task=mlm backbone=tiny"), data_dir=str(tmp_path / "tables"))
    (tmp_path / "tables").mkdir()
    (tmp_path / "tables" / "t.csv").write_text("a,b\n1,2\n")
    old, now = recorded_identity(to_plain(config), {}), current_identity(config)
    assert old.data == now.data is not None
    (tmp_path / "tables" / "t.csv").write_text("a,b\n1,2\n3,4\n")
    assert list(differences(now, recorded_identity(to_plain(config), {}))) == ["data"]
    assert recorded_identity(to_plain(config), {"data": "kept"}).data == "kept"


def test_the_hash_of_an_old_records_data_is_kept_in_the_cache_of_the_run(tmp_path: Path) -> None:
    config = replace(
        composed("task=mlm backbone=tiny"),
        data_dir=str(tmp_path / "tables"),
        paths=PathsConfig(cache=str(tmp_path / "cache")),
    )
    (tmp_path / "tables").mkdir()
    (tmp_path / "tables" / "t.csv").write_text("a,b\n1,2\n")
    data = recorded_identity(to_plain(config), {}).data
    assert [file.read_text() for file in (tmp_path / "cache" / "contents").iterdir()] == [data]
