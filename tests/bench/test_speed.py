"""Turns, ratios and budgets, on clocks that tick as told."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest

from mate_cli.bench.contenders import contender
from mate_cli.bench.point import Point
from mate_cli.bench.speed import interleave, paired_ratio, summary, timed
from mate_cli.bench.work import Budget, Work, make_work


@dataclass
class Machine:
    """A clock, and calls that let it run on: each as long as it says, times how slow the machine is at the moment."""

    now: float = 0.0
    order: list[str] = field(default_factory=list)
    slow: list[float] = field(default_factory=lambda: [1.0])

    def clock(self) -> float:
        return self.now

    def call(self, name: str, seconds: float) -> FakeCall:
        return FakeCall(self, name, seconds)


@dataclass
class FakeCall:
    machine: Machine
    name: str
    seconds: float

    def reset(self) -> None:
        self.machine.now += 100.0  # not to be counted

    def __call__(self) -> None:
        turn = len(self.machine.order) // 2
        self.machine.order.append(self.name)
        self.machine.now += self.seconds * self.machine.slow[turn % len(self.machine.slow)]


def test_a_reset_is_not_timed() -> None:
    machine = Machine()
    assert timed(machine.call("a", 2.0), machine.clock) == 2.0


def test_all_take_turns_and_who_begins_changes() -> None:
    machine = Machine()
    calls = {name: machine.call(name, 1.0) for name in "abc"}
    times = interleave(calls, 3, 1e9, machine.clock)
    assert "".join(machine.order) == "abcbcacab"
    assert times == {name: [1.0] * 3 for name in "abc"}


def test_after_three_rounds_time_may_be_up() -> None:
    machine = Machine()
    assert len(interleave({"a": machine.call("a", 9.0)}, 50, 1.0, machine.clock)["a"]) == 3
    assert len(interleave({"a": machine.call("a", 9.0)}, 5, 1e9, machine.clock)["a"]) == 5
    assert interleave({}, 5, 1e9, machine.clock) == {}


def test_a_slow_round_changes_the_times_but_not_the_ratio() -> None:
    machine = Machine(slow=[1.0, 7.0, 3.0])
    times = interleave({"a": machine.call("a", 2.0), "b": machine.call("b", 1.0)}, 3, 1e9, machine.clock)
    assert sorted(times["b"]) == [1.0, 3.0, 7.0]
    assert paired_ratio(times["a"], times["b"]) == {"median": 2.0, "q1": 2.0, "q3": 2.0, "rounds": 3}


def test_the_summary_is_median_and_quartiles() -> None:
    assert summary([5.0, 1.0, 3.0, 2.0, 4.0]) == {"median": 3.0, "q1": 2.0, "q3": 4.0, "rounds": 5}


def work(name: str, length: int, size: str = "tiny") -> Work:
    return make_work(contender(name), Point(size, 2, "grid", length, 1, "forward", "fp32", "cpu"))


def test_what_would_take_too_long_is_refused_before_it_is_tried() -> None:
    budget, short, long = Budget(10.0, 100.0, "cpu"), work("hf_tapas", 128), work("hf_tapas", 4096)
    assert budget.refusal(long) is None  # nothing is known yet
    assert budget.record(short, 0.1) is None
    assert budget.refusal(short) is None
    reason = budget.refusal(long)
    assert reason is not None
    assert "a call would take about " in reason
    assert reason.endswith(" s, over call_seconds=10")
    assert budget.record(short, 11.0) == "a call took 11 s, over call_seconds=10"


def test_what_would_take_too_much_memory_is_refused() -> None:
    budget = Budget(10.0, 0.5, "cpu")
    assert budget.refusal(work("mate", 4096)) is None
    reason = budget.refusal(work("hf_tapas", 4096))
    assert reason is not None
    assert reason.startswith("would take about ")
    assert reason.endswith("GiB, and 0.5 are available")


def test_the_free_memory_is_the_budget_where_none_is_given() -> None:
    assert Budget(1.0, None, "cpu").memory > 0.1


@pytest.mark.parametrize("name", ["limit", "mate", "mate_dense", "hf_tapas"])
def test_estimated_memory_grows_with_the_length_as_the_attention_does(name: str) -> None:
    short, long = (work(name, length).estimated_bytes() for length in (512, 2048))
    quadratic = name in ("mate_dense", "hf_tapas")
    assert (long / short > 6) == quadratic
    assert long / short >= 4
