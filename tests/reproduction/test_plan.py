"""The plan of a table: its steps with their prices, and commands to run elsewhere."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from mate_cli.config.hardware import HardwareConfig
from mate_cli.config.reproduce import ReproduceConfig
from mate_cli.reproduction.estimate import _questions
from mate_cli.reproduction.ledger import Ledger
from mate_cli.reproduction.plan import commands, plan, plan_summary, wanted_steps
from mate_cli.reproduction.price import device_peaks
from tests.reproduction.test_reproduce import MATE, SELECTOR, experiment, ledger_of


def test_a_plan_of_nothing_done(config: ReproduceConfig) -> None:
    ledger = ledger_of(config)
    planned = plan(wanted_steps([experiment("table6")], config), ledger)
    assert [(own.step.title, own.state, own.hindrance) for own in planned] == [
        (f"{MATE}, seed 0", "to do", None),
        (f"{SELECTOR}, seed 0", "to do", None),
    ]
    # 420 batches of 16 examples of at most 128 tokens. 6 FLOPs a weight of two layers of width 64; and, at most, all
    # pairs of tokens: 2 products of 2 FLOPs a unit forward, 2.5 times that backward.
    linear, pairs = 6 * 128 * 2 * (4 * 64**2 + 2 * 64 * 256), 3.5 * 4 * 2 * 64 * 128**2
    flops = (planned[0].estimate.flops or 0) / (420 * 16)
    assert linear < flops < linear + pairs
    assert planned[0].estimate.at_most
    assert (planned[0].estimate.seconds or 0) > 0
    assert planned[1].estimate.flops is None  # its epochs are of a file that is not there


@pytest.mark.slow
def test_a_plan_for_machines_elsewhere_has_prices_and_commands_to_paste(config: ReproduceConfig) -> None:
    config = replace(config, schedule="paper", words="hardware=tpu_v3_32", dry_run=True)
    ledger = Ledger(config)  # the task's own backbone: BERT-large, whose weights are not here
    planned = plan(wanted_steps([experiment("table6")], config), ledger)
    selector = planned[1].estimate
    assert (selector.device, selector.devices) == ("TPU v3", 32)
    # Docs/hardware.md has the same by another way: 39,683 PFLOP and 18.7 hours.
    assert (selector.flops or 0) / 1e15 == pytest.approx(39683, rel=0.01)
    assert (selector.seconds or 0) / 3600 == pytest.approx(18.7, rel=0.01)
    assert any(
        line.startswith("cost: at most 2,4") and "hours of one TPU v3" in line for line in plan_summary(planned, ledger)
    )
    first, second = (line.split() for line in commands(planned, ledger))
    assert {"task=mlm", "schedule=paper", "hardware=tpu_v3_32"} <= {*first}
    name = next(word.removeprefix("name=") for word in first if word.startswith("name="))
    assert f"backbone.path={config.paths.runs}/mlm/{name}" in second


@pytest.mark.parametrize(("data_format", "name", "lines"), [("queries", "train.jsonl", 10), ("own", "train.csv", 11)])
def test_only_a_file_with_a_head_has_a_line_more_than_questions(
    tmp_path: Path, data_format: str, name: str, lines: int
) -> None:
    (tmp_path / name).write_text("line\n" * lines)
    assert _questions(data_format, str(tmp_path)) == 10


@pytest.mark.parametrize("name", ["tpu_v5p", "mine"])
def test_a_chip_without_a_data_sheet_has_no_price(name: str) -> None:
    assert device_peaks(HardwareConfig(name=name, accelerator="tpu")) == []
    ((chip, number, peak),) = device_peaks(HardwareConfig(name="tpu_v4_16", accelerator="tpu", devices=4, nodes=2))
    assert (chip, number) == ("TPU v4", 8)
    assert peak == 8 * 275e12
