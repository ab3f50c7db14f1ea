"""What `mate train` and `mate evaluate` leave behind, without a training: for tests of what asks for them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

from mate_cli.config.catalogue import reproduce_folder
from mate_cli.config.plain import to_plain
from mate_cli.config.reproduce import ReproduceConfig
from mate_cli.config.train import TrainConfig
from mate_cli.reproduction.carry_out import carry_out
from mate_cli.reproduction.experiment import Experiment, read_experiment
from mate_cli.reproduction.ledger import Ledger
from mate_cli.reproduction.outcome import Outcome, median_steps, outcome
from mate_cli.reproduction.plan import wanted_steps
from mate_cli.runs.folder import RunFolder
from mate_cli.runs.place import current_identity, run_path
from mate_cli.system.files import content_hash, write_json
from tests.config.test_config import train_config
from tests.reporting.run_folders import hits, write_run

Score = Callable[[TrainConfig], float]


@dataclass
class FakeMate:
    """Runs command lines by writing their folders.

    Attributes:
        seen: the command lines, in order; score: of the run with this configuration; fails: those it fails on;
            stops_after: commands after which Ctrl-C comes.
    """

    score: Score = lambda config: 0.5
    fails: Callable[[Sequence[str]], bool] = lambda words: False
    stops_after: int = 10**6
    seen: list[Sequence[str]] = field(default_factory=list)

    def __call__(self, words: Sequence[str], log: Path) -> int:
        if len(self.seen) == self.stops_after:
            raise KeyboardInterrupt
        self.seen.append(words)
        log.parent.mkdir(parents=True, exist_ok=True)
        log.write_text("step 1\nerror: the disk is full\n")
        if self.fails(words):
            return 1
        {"train": self._train, "evaluate": self._evaluate}[words[0]](words[1:])
        return 0

    def _train(self, words: Sequence[str]) -> None:
        config = config_of(words)
        identity = current_identity(config)
        folder = run_path(config, identity)
        if config.resume:
            RunFolder(folder).set_status("done")
            return
        parent = Path(str(config.backbone.path)) if config.backbone.source == "run" else None
        origin = None if parent is None else {"run": str(parent), "weights": content_hash([parent / WEIGHTS])}
        write_run(folder, to_plain(config), {"dev": hits(self.score(config))}, origin=origin, data=identity.data)
        (folder / WEIGHTS).parent.mkdir()
        (folder / WEIGHTS).write_text(str(folder))
        RunFolder(folder).finish()

    def _evaluate(self, words: Sequence[str]) -> None:
        given = dict(word.split("=", 1) for word in words)
        if "run" in given:
            RunFolder(Path(given["run"])).write_metrics(given["split"], hits(0.125))
            return
        folder = RunFolder(Path(given["to"]))
        folder.path.mkdir(parents=True, exist_ok=True)
        stages = {name: Path(given[name]) / WEIGHTS for name in ("selector", "reader")}
        write_json(folder.path / "pipeline.json", {f"{k}_weights": content_hash([v]) for k, v in stages.items()})
        seed = int(given["selector"].rsplit("-s", 1)[1].split("-")[0])
        folder.write_metrics(given["split"], {"scores": {"top 1": {"Total": _answers(given["split"], seed)}}})


WEIGHTS = Path("best") / "model.safetensors"
DEV = {0: 0.5, 1: 0.9, 2: 0.7}


def _answers(split: str, seed: int) -> dict[str, Any]:
    exact = DEV[seed] if split == "dev" else seed / 10
    return {"exact": {"mean": exact}, "f1": {"mean": exact / 2}}


def config_of(words: Sequence[str]) -> TrainConfig:
    """The configuration of a command line of `mate train`; only what chooses options is composed."""
    given = dict(word.split("=", 1) for word in words)
    chosen = [f"{k}={v}" for k, v in given.items() if k in ("task", "model", "ablation", "backbone", "task.input")]
    config = _composed(*chosen)
    return replace(
        config,
        seed=int(given["seed"]),
        schedule=given["schedule"],
        data_dir=given["data_dir"],
        name=given.get("name"),
        resume=given.get("resume") == "true",
        paths=replace(config.paths, runs=given["paths.runs"]),
        backbone=replace(config.backbone, path=given.get("backbone.path")),
    )


@cache
def _composed(*words: str) -> TrainConfig:
    return train_config(*words)


def result_of(folder: Path) -> Mapping[str, Any]:
    return RunFolder(folder).status()


def experiment(name: str) -> Experiment:
    return read_experiment(reproduce_folder() / f"{name}.yaml")


def ledger_of(config: ReproduceConfig) -> Ledger:
    return Ledger(config, ["backbone=tiny"])


def reproduced(
    config: ReproduceConfig, mate: FakeMate, said: list[str] | None = None
) -> tuple[Outcome, dict[str, str]]:
    """All of `mate reproduce` but what it prints; the failures by the title of the step."""
    ledger, tell = ledger_of(config), (said if said is not None else []).append
    found = experiment(config.what)
    failures = carry_out(wanted_steps([found], config), ledger, tell, mate)
    failures |= carry_out(median_steps([found], ledger), ledger, tell, mate)
    return outcome(found, ledger), {step.title: reason for step, reason in failures.items()}
