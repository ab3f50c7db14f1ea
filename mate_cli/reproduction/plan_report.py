"""The plan as a table, and what it comes to."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from rich.table import Table as RichTable
from rich.text import Text

from mate_cli.reporting.runs import count, duration
from mate_cli.reproduction.estimate import Estimate
from mate_cli.reproduction.ledger import Ledger
from mate_cli.reproduction.plan import Planned

_NOTHING = "–"


def plan_table(planned: Sequence[Planned]) -> RichTable:
    """A line for each step, in the order in which they are taken."""
    table = RichTable(title="plan")
    for name in ("step", "state"):
        table.add_column(name, overflow="fold")
    for name in ("time here", "FLOPs"):
        table.add_column(name, justify="right")
    for own in planned:
        table.add_row(*map(Text, [own.step.title, _state(own), *_cost(own)]))
    return table


def plan_summary(planned: Sequence[Planned], ledger: Ledger) -> list[str]:
    """How many steps are in which state, what is left out and why, and what the rest costs."""
    left_out = Counter(own.hindrance for own in planned if own.hindrance)
    lines = [f"left out: {number} of {len(planned)} steps, for {reason}" for reason, number in left_out.items()]
    states = Counter(own.state for own in planned if not own.hindrance)
    if states:
        lines.append(", ".join(f"{number} {state}" for state, number in states.items()))
    open_steps = [own.estimate for own in planned if own.state != "done" and not own.hindrance]
    known = [own for own in open_steps if own.seconds is not None]
    if known:
        unknown = len(open_steps) - len(known)
        others = f", and what nothing is known of: {unknown}" if unknown else ""
        lines.append(f"to do: {_amount(_total(known))}{others}")
    if ledger.uses_sample:
        lines.append("data: the generated sample in place of what data.NAME=FOLDER does not name")
    return lines


def circumstances(ledger: Ledger) -> str:
    """What tells our runs from the paper's."""
    config = ledger.config
    backbone = "the tasks' own backbones" if config.backbone is None else f"backbone={config.backbone.name}"
    parts = [f"schedule={config.schedule}", backbone]
    if not config.pretrain:
        parts.append("no pre-training on tables")
    if ledger.uses_sample:
        parts.append("the generated sample in place of data that is not named")
    if config.words:
        parts.append(config.words)
    return ", ".join(parts)


def _state(own: Planned) -> str:
    return f"left out: {own.hindrance}" if own.hindrance else own.state


def _cost(own: Planned) -> tuple[str, str]:
    if own.state == "done" or own.estimate.flops is None:
        return ("", "") if own.state == "done" else (_NOTHING, _NOTHING)
    most = "≤ " if own.estimate.at_most else "≈ "
    seconds = _NOTHING if own.estimate.seconds is None else most + duration(own.estimate.seconds)
    return seconds, most + count(own.estimate.flops)


def _total(estimates: Sequence[Estimate]) -> Estimate:
    return Estimate(
        sum(own.seconds or 0 for own in estimates),
        sum(own.flops or 0 for own in estimates),
        any(own.at_most for own in estimates),
    )


def _amount(total: Estimate) -> str:
    most = "at most" if total.at_most else "about"
    return f"{most} {duration(total.seconds)}, {count(total.flops)}FLOP"
