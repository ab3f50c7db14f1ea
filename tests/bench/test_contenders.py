"""What can be compared, by which names."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from mate_cli.bench import contenders as contenders_module
from mate_cli.bench.contenders import REFERENCES, Model, contender, contenders
from mate_cli.bench.point import Point, suite_points
from mate_cli.bench.run import resolve_device, with_names
from mate_cli.bench.work import make_work
from mate_cli.config.bench import BenchConfig, GridConfig, SuiteConfig
from mate_cli.config.catalogue import options
from mate_cli.models import variants
from mate_cli.system.errors import UserError

POINT = Point("tiny", 2, "mixed", 128, 2, "training", "fp32", "cpu")


def config(*grids: GridConfig, **changes: object) -> BenchConfig:
    suite = SuiteConfig("own", grids={str(number): grid for number, grid in enumerate(grids)})
    return BenchConfig(suite, **changes)  # type: ignore[arg-type]


def test_every_model_of_conf_can_be_compared() -> None:
    assert set(contenders()) >= {option.name for option in options("model")} | set(REFERENCES)


def test_a_variant_without_an_option_is_there_by_its_own_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(variants.VARIANTS, "reformer", variants.VARIANTS["mate"])
    found = contenders()["reformer"]
    assert isinstance(found, Model)
    assert found.config.heads == "reformer"


def test_a_model_can_be_computed_by_another_backend() -> None:
    found = contender("mate@dense")
    assert make_work(found, POINT).inputs.argument.backend == "dense"


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("mat", "unknown model 'mat': did you mean mate? choose from all, limit, hf_tapas, dense_sdpa, "),
        ("mate@dens", "models: mate@dens: unknown backend 'dens': did you mean dense? choose from eager, "),
        ("limit@dense", "models: limit@dense: unknown backend 'dense': "),
    ],
)
def test_a_wrong_name_is_one_line(name: str, line: str) -> None:
    with pytest.raises(UserError) as caught:
        contender(name)
    assert str(caught.value).startswith(line)


@pytest.mark.parametrize("name", ["limit", "hf_tapas", "dense_sdpa", "mate", "mate_bucketed"])
@pytest.mark.parametrize("dtype", ["fp32", "bf16"])
def test_a_training_call_gives_every_parameter_and_the_states_a_gradient(name: str, dtype: str) -> None:
    work = make_work(contender(name), Point("tiny", 2, "mixed", 128, 2, "training", dtype, "cpu"))
    work()
    gradients = [work.inputs.states.grad, *(parameter.grad for parameter in work.encoder.parameters())]
    assert all(gradient is not None and torch.isfinite(gradient).all() for gradient in gradients)
    work.reset()
    assert work.inputs.states.grad is None


@pytest.mark.parametrize("name", ["hf_tapas", "mate", "mate@ragged", "mate@dense", "linformer"])
@pytest.mark.parametrize("dropout", [0.0, 0.5])
def test_attention_dropout_changes_each_pass_and_nothing_else_does(name: str, dropout: float) -> None:
    work = make_work(contender(name), replace(POINT, dropout=dropout))
    passes = [work.encoder(work.inputs.states, work.inputs.argument) for _ in range(2)]
    assert torch.equal(*passes) == (dropout == 0)


@pytest.mark.parametrize("dtype", ["fp32", "bf16"])
@pytest.mark.parametrize("dropout", [0.0, 0.1])
def test_the_planner_is_told_precision_and_dropout(dtype: str, dropout: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """They decide the backend on a GPU, as in training."""
    told = []
    real = contenders_module.make_planner
    monkeypatch.setattr(contenders_module, "make_planner", lambda *words: told.append(words) or real(*words))
    make_work(contender("mate"), replace(POINT, dtype=dtype, dropout=dropout))
    assert [words[-2:] for words in told] == [(dtype == "bf16", dropout > 0)]


def test_hugging_face_is_given_the_padding_that_others_drop() -> None:
    padded, packed = (make_work(contender(name), POINT) for name in ("hf_tapas", "dense_sdpa"))
    assert padded.tokens == 2 * 128
    assert packed.tokens == 128 + round(0.8 * 128)
    assert (padded.inputs.argument[1, 0, 0] < 0).sum() == 128 - round(0.8 * 128)


def test_all_stands_for_every_contender() -> None:
    wanted = with_names(suite_points(config(GridConfig(models=["mate", "all"], measures=["speed"])), "cpu"))
    ((models,),) = [list(measures.values()) for measures in wanted.values()]
    assert models[0] == "mate"
    assert sorted(models) == sorted(contenders())


def test_a_point_of_two_grids_is_measured_once() -> None:
    first = GridConfig(models=["limit", "mate"], lengths=[4096, 2048], measures=["speed"])
    second = GridConfig(models=["mate", "tapas"], lengths=[2048], measures=["speed", "memory"])
    wanted = suite_points(config(first, second), "cpu")
    assert [point.length for point in wanted] == [2048, 4096]
    assert wanted[next(iter(wanted))] == {"speed": ["limit", "mate", "tapas"], "memory": ["mate", "tapas"]}


def test_the_command_line_replaces_the_lists_of_the_grids() -> None:
    grid = GridConfig(lengths=[2048], sizes=["base"])
    wanted = suite_points(config(grid, lengths=[512, 256], models=["limit"], layers=3, seed=5), "cpu")
    assert [(p.length, p.size, p.layers, p.seed) for p in wanted] == [(256, "base", 3, 5), (512, "base", 3, 5)]
    assert {name for measures in wanted.values() for names in measures.values() for name in names} == {"limit"}


def test_a_gpu_that_is_not_there_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert resolve_device("auto") == resolve_device("cpu") == "cpu"
    with pytest.raises(UserError, match="PyTorch finds no GPU"):
        resolve_device("cuda")
