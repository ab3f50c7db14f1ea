"""A graph for ONNX Runtime as a run: the commands give what they give of the run that it was made of."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

ON_CPU = ("hardware=cpu", "hardware.precision='32'")


@pytest.mark.slow
def test_a_graph_is_evaluated_and_asked_as_its_run(
    mate: Callable[..., int], runs: Path, data: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = runs / "hybridqa" / "selector"
    assert mate("export", f"run={run}", "to=graph", "format=onnx") == 0
    Path("towns.csv").write_text("city,mayor\nAlder,Ann Lee\nBirch,Bob Moe\n")
    scores, answers = [], []
    for folder in (run, Path("graph")):
        assert mate("evaluate", f"run={folder}", f"data_dir={data}", *ON_CPU) == 0
        scores.append(json.loads((folder / "metrics.json").read_text())["dev"])
        capsys.readouterr()
        asked = ("table=towns.csv", "question=Who is the mayor of Birch?", "output=json")
        assert mate("predict", f"run={folder}", *asked, *ON_CPU) == 0
        answers.append(json.loads(capsys.readouterr().out)["answer"])
    assert scores[0] == scores[1]
    assert scores[0]["questions"] > 0
    assert answers[0] == answers[1]
