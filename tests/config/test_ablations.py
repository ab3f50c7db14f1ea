"""Ablations: what each changes, and the runs that it starts from."""

from __future__ import annotations

from pathlib import Path

import pytest

from mate_cli.config.plain import to_plain
from mate_cli.config.rules import problems
from mate_cli.runs.folder import load_run_config
from tests.config.test_config import FROM_A_RUN, train_config, write


@pytest.mark.parametrize(
    ("name", "heads", "ratio", "k", "ambiguous"),
    [
        ("none", "mate", 0.5, 256, True),
        ("without_row_heads", "mate", 0.0, 256, True),
        ("row_heads_25", "mate", 0.25, 256, True),
        ("row_heads_75", "mate", 0.75, 256, True),
        ("without_column_heads", "mate", 1.0, 256, True),
        ("without_ambiguous", "mate", 0.5, 256, False),
        ("linformer_k128", "linformer", 0.5, 128, True),
        ("linformer_k256", "linformer", 0.5, 256, True),
        ("linformer_k512", "linformer", 0.5, 512, True),
    ],
)
def test_what_an_ablation_changes(name: str, heads: str, ratio: float, k: int, ambiguous: bool) -> None:
    """Ablations of table 6 and sections 3 and 5.1; whatever the order of the words, and nothing else."""
    plain = to_plain(train_config(f"model={'mate' if heads == 'mate' else heads}"))
    plain["model"] |= {"row_ratio": ratio, "linformer": {"k": k}}
    plain["task"]["ambiguous"] = ambiguous
    plain["ablation"] |= {"name": name, "heads": None if name in ("none", "without_ambiguous") else heads}
    assert to_plain(train_config(f"ablation={name}")) == plain
    assert train_config("task=hybridqa", f"ablation={name}").task.ambiguous == ambiguous
    assert train_config(f"ablation={name}", "task=hybridqa").model.row_ratio == ratio


@pytest.mark.parametrize(
    ("name", "heads", "kind"), [(FROM_A_RUN[0], None, "entailment"), (FROM_A_RUN[1], "full", None)]
)
def test_an_ablation_of_pre_training_starts_from_a_run(name: str, heads: str | None, kind: str | None) -> None:
    """Tables 4 and 6: the task's own backbone gives way, whatever the order of the words."""
    for words in (["task=sqa", f"ablation={name}"], [f"ablation={name}", "task=sqa"]):
        found = train_config(*words, "backbone.path=somewhere")
        assert (found.backbone.source, found.backbone.path) == ("run", "somewhere")
        assert (found.ablation.parent_heads, found.ablation.parent_kind) == (heads, kind)
        assert problems(found) == []
        assert problems(train_config(*words)) == ["backbone.path is missing: source=run needs it"]
    other = train_config(f"ablation={name}", "backbone=tiny")
    assert problems(other) == [f"ablation={name} starts from a run: leave out backbone=tiny"]


def test_an_ablation_of_other_heads_is_refused() -> None:
    assert problems(train_config("model=tapas", "ablation=linformer_k256")) == [
        "ablation=linformer_k256 is about heads=linformer, and model=tapas has heads=full"
    ]
    assert problems(train_config("model=tapas", "ablation=without_ambiguous")) == []


def test_a_run_from_before_there_were_ablations_still_loads(tmp_path: Path) -> None:
    config = train_config()
    plain = to_plain(config)
    del plain["ablation"], plain["task"]["ambiguous"], plain["task"]["expansion"]
    assert load_run_config(write(tmp_path, plain)) == config
