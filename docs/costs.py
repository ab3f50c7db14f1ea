"""Write the tables of docs/hardware.md: `make costs`.

FLOPs of the paper's runs by the formula of `mate bench`, and the time they take on each profile of conf/hardware at
a share of the peak that data sheets state. Nothing here is measured.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import yaml
from hydra import compose, initialize_config_dir

from mate_cli.bench.flops import PEAKS
from mate_cli.cli.diagnosis import register_schemas, typed
from mate_cli.config.hardware import HardwareConfig
from mate_cli.config.paths import conf_folder
from mate_cli.config.task import active_schedule
from mate_cli.config.train import TrainConfig
from mate_cli.reproduction.price import SHARE_OF_PEAK, device_peaks, example_flops
from mate_cli.training.starting_model import encoding_model


@dataclass(frozen=True)
class Run:
    """A training of the paper: BERT-large, with inputs as long as its schedule allows.

    Attributes:
        days: what the paper says it took on 32 cores of TPU v3; None where it says nothing.
    """

    title: str
    words: tuple[str, ...]
    days: float | None = None


RUNS = (
    Run("pre-training", ("task=mlm",), 2),
    Run("pre-training, Linformer", ("task=mlm", "model=linformer", "schedule=paper_linformer"), 12),
    Run("HybridQA, selector", ("task=hybridqa",), 1),
    Run("HybridQA, reader", ("task=hybridqa_reader",), 0.25),
    Run("SQA", ("task=sqa",)),
    Run("WTQ", ("task=wtq",)),
    Run("TabFact", ("task=tabfact",)),
)


def main(guide: Path) -> None:
    """Replace the tables between the marks of the guide by the current ones."""
    text = guide.read_text(encoding="utf-8")
    for name, lines in (("runs", run_table()), ("profiles", profile_table())):
        table = "\n".join(lines)
        text, found = re.subn(rf"(<!-- {name} -->\n).*?(<!-- end -->)", rf"\g<1>{table}\n\g<2>", text, flags=re.DOTALL)
        assert found == 1, name
    guide.write_text(text, encoding="utf-8")


def run_table() -> Iterator[str]:
    """Yield each run's FLOPs, the extra work of full attention, the paper's time and its share of the peak."""
    yield "| run | `mate train` | steps x batch x tokens | PFLOP | with full attention | paper | of the peak |"
    yield "|---|---|---|---|---|---|---|"
    for run in RUNS:
        config = composed(*run.words)
        schedule = active_schedule(config)
        flops, full = training_flops(config), training_flops(config, full=True)
        size = f"{schedule.steps:,} x {schedule.batch} x {schedule.max_tokens}"
        told = ("–", "–")
        if run.days is not None:
            told = duration(run.days * 86400), f"{100 * flops / (run.days * 86400 * 32 * PEAKS['TPU v3', 'bf16']):.0f}%"
        cells = (run.title, f"`{' '.join(run.words)}`", size, f"{flops / 1e15:,.0f}", f"{full / flops - 1:+.0%}", *told)
        yield f"| {' | '.join(cells)} |"


def profile_table() -> Iterator[str]:
    """Yield the time of each run at ``SHARE_OF_PEAK`` of the peak of each profile whose devices have a data sheet."""
    yield f"| `hardware=` | devices | {' | '.join(run.title for run in RUNS)} |"
    yield "|---|---|" + "---|" * len(RUNS)
    flops = [training_flops(composed(*run.words)) for run in RUNS]
    for file in sorted((conf_folder() / "hardware").glob("*.yaml")):
        hardware = HardwareConfig(**yaml.safe_load(file.read_text(encoding="utf-8")))
        for name, number, peak in device_peaks(hardware):
            times = [duration(work / (SHARE_OF_PEAK * peak)) for work in flops]
            yield f"| `{hardware.name}` | {number} {name} | {' | '.join(times)} |"


def training_flops(config: TrainConfig, full: bool = False) -> float:
    """Return the FLOPs of a run, with ``full`` attention or the model's."""
    schedule = active_schedule(config)
    _, encoder = encoding_model(config.backbone, config.model, schedule.max_tokens)
    example = example_flops(encoder, config.model, schedule.max_tokens, full)
    return example * (schedule.steps or 0) * schedule.batch


def duration(seconds: float) -> str:
    hours = seconds / 3600
    return f"{hours:.1f} h" if hours < 48 else f"{hours / 24:,.0f} days"


@cache
def composed(*words: str) -> TrainConfig:
    register_schemas()
    with initialize_config_dir(str(conf_folder()), version_base="1.3"):
        config: Any = typed(compose("train", list(words)))
    assert isinstance(config, TrainConfig)
    return config


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent / "hardware.md")
