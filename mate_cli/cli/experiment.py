"""The sweep of an experiment: ``hydra.sweeper.params`` of its file, as if the words stood on the command line."""

from __future__ import annotations

from hydra import compose
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.errors import HydraException
from hydra.types import RunMode

from mate_cli.cli.diagnosis import composing
from mate_cli.cli.overrides import Arguments, quote
from mate_cli.config.catalogue import options
from mate_cli.config.commands import ROOTS

GROUP = "experiment"


def add_sweep(command: str, arguments: Arguments) -> None:
    """Add the words that an experiment sweeps over, but for the keys that the command line sets.

    With ``hydra.mode: MULTIRUN`` the experiment needs no ``-m``. Where the command line sets every key that is swept
    over, as that of each job does, there is one job.
    """
    chosen = [word for word in arguments.overrides if word.partition("=")[0] == GROUP]
    known = [f"{GROUP}={option.name}" for option in options(GROUP)]
    if command != "train" or arguments.only_shows or len(chosen) != 1 or chosen[0] not in known:
        return
    try:
        with composing():
            settings = compose(command, chosen, return_hydra_config=True).hydra
    except HydraException:
        return  # diagnose() says what is wrong
    if not arguments.multirun and settings.mode != RunMode.MULTIRUN:
        return
    given = {word.partition("=")[0] for word in arguments.overrides}
    swept = {name: value for name, value in (settings.sweeper.params or {}).items() if name not in given}
    arguments.overrides += [quote(ROOTS[command], f"{name}={value}") for name, value in swept.items()]
    if not arguments.multirun and any(map(has_several_values, arguments.overrides)):
        arguments.flags.append("--multirun")


def has_several_values(word: str) -> bool:
    """Return whether an override is one to sweep over."""
    try:
        return OverridesParser.create().parse_override(word).is_sweep_override()
    except HydraException:
        return False
