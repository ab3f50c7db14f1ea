"""Every mistake in a command's overrides at once, before anything runs.

Hydra stops at the first mistake. Here each override is read, named and typed by itself, and the values of
every job of a sweep are checked, so that one look at the screen is enough.
"""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from copy import deepcopy
from functools import cache
from typing import Any, NamedTuple

from hydra import compose, initialize_config_dir
from hydra._internal.config_loader_impl import ConfigLoaderImpl
from hydra.core.config_store import ConfigStore
from hydra.core.global_hydra import GlobalHydra
from hydra.core.object_type import ObjectType
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Override
from hydra.errors import HydraException
from omegaconf import MISSING, DictConfig, OmegaConf
from omegaconf.errors import ConfigKeyError, OmegaConfBaseException

from mate_cli.cli.harmless import word_problems
from mate_cli.cli.inputs import missing_inputs
from mate_cli.cli.outputs import blocked_outputs
from mate_cli.config import schema
from mate_cli.config.catalogue import default_options
from mate_cli.config.commands import ROOTS
from mate_cli.config.paths import conf_folder, expand_home
from mate_cli.config.plain import leaves
from mate_cli.config.rules import problems, unknown_name
from mate_cli.config.task import settle_schedule

Setting = tuple[str, Any]

NO_VALUE = "write KEY=VALUE, like task=sample"
# Names of other libraries for our keys.
SYNONYMS = {
    "batch_size": "batch",
    "learning_rate": "lr",
    "max_length": "max_tokens",
    "max_seq_length": "max_tokens",
    "max_steps": "steps",
    "num_epochs": "epochs",
}
UNCLOSED = "a value with brackets, commas or quotes must close them, or stand in quotes of its own"


@cache  # half of the time of a composition
def register_schemas() -> None:
    """Make each command's dataclass known to Hydra, where its root YAML asks for it."""
    for command, root in ROOTS.items():
        ConfigStore.instance().store(name=f"{command}_schema", node=root)


@contextmanager
def composing() -> Iterator[None]:
    """Let Hydra compose from the shipped files, inside of a job too."""
    register_schemas()
    if GlobalHydra.instance().is_initialized():
        yield
        return
    with initialize_config_dir(str(conf_folder()), version_base="1.3"):
        yield


class Diagnosis(NamedTuple):
    """
    Attributes:
        mistakes: a line for each; empty where Hydra can run the jobs.
        config: of the first job; None where the options of its groups do not go together.
    """

    mistakes: list[str]
    config: DictConfig | None


def diagnose(command: str, overrides: Sequence[str], multirun: bool, complete: bool) -> Diagnosis:
    """Find all mistakes in overrides (text already quoted).

    ``complete`` asks also for the keys that have no default (not wanted where the configuration is only
    shown).
    """
    with composing():
        parsed, lines = _parse(overrides)
        groups = Counter(item.key_or_group for item in parsed if _options(item.key_or_group))
        lines += [f"{name} is given twice" for name, times in groups.items() if times > 1]
        if not multirun:
            several = [item for item in parsed if item.is_sweep_override()]
            lines += [_several_values(command, item) for item in several]
            parsed = [item for item in parsed if item not in several or not _is_list(command, item)]
        composed = cache(lambda options: compose(command, list(options)))  # most jobs of a sweep have the same options
        jobs = [_diagnose_job(command, settings, complete, composed) for settings in _variants(parsed)]
    return Diagnosis(list(dict.fromkeys([*lines, *(line for job in jobs for line in job.mistakes)])), jobs[0].config)


def typed(config: DictConfig) -> Any:
    """The dataclass of a composed configuration, its short keys settled and ``~`` in its paths expanded.

    Assumes that ``diagnose`` found no mistake.
    """
    return settle_schedule(expand_home(OmegaConf.to_object(config)))


def _parse(overrides: Sequence[str]) -> tuple[list[Override], list[str]]:
    loader = GlobalHydra.instance().config_loader()
    parser = OverridesParser.create(loader)
    parsed, lines = [], []
    for text in overrides:
        try:
            (override,) = parser.parse_overrides([text])  # unlike parse_override, this lets glob(*) find the options
        except HydraException:
            lines.append(f"cannot read '{text}': {UNCLOSED if '=' in text else NO_VALUE}")
            continue
        if override.is_delete():
            lines.append(f"cannot remove '{text}': keys have defaults, set another value")
        elif override.is_add() and not override.is_force_add():
            lines.append(f"cannot add '{text}': only existing keys can be set, without the +")
        elif override.is_interval_sweep():
            lines.append(f"cannot sweep over '{text}': list the values, like seed=0,1,2")
        elif refused := word_problems(text, override.get_key_element().lstrip("+"), _values(override)):
            lines += [f"cannot set '{text}': {reason}" for reason in refused]
        elif (group := override.key_or_group).startswith("hydra/"):
            if override.value() not in (known := loader.get_group_options(group)):
                lines.append(unknown_name(group, override.value(), known))
        elif not group.startswith("hydra."):
            parsed.append(override)
    return parsed, lines


def _is_list(command: str, item: Override) -> bool:
    key = schema.find(ROOTS[command], item.get_key_element())
    return key is not None and key.is_list


def _several_values(command: str, item: Override) -> str:
    if _is_list(command, item):
        name, _, value = str(item.input_line).partition("=")
        return f"{item.input_line}: write the list in brackets, {name}=[{value}]"
    return f"{item.input_line} lists several values: add -m to run them all"


def _variants(parsed: list[Override]) -> Iterator[list[Setting]]:
    """Settings in which every value of every sweep occurs, the other sweeps at their first value."""
    values = [(item.get_key_element().lstrip("+"), _values(item)) for item in parsed]
    first = [(name, choices[0]) for name, choices in values]
    yield first
    for index, (name, choices) in enumerate(values):
        for choice in choices[1:]:
            yield [*first[:index], (name, choice), *first[index + 1 :]]


def _values(override: Override) -> list[Any]:
    if not override.is_sweep_override():
        return [override.value()]
    return [Override._convert_value(value) for value in override.sweep_iterator()] or [None]


def _options(group: str) -> list[str]:
    if "." in group:
        return []
    loader = GlobalHydra.instance().config_loader()
    assert isinstance(loader, ConfigLoaderImpl)  # whose own question copies all that Hydra knows, each time
    return loader.repository.get_group_options(group, ObjectType.CONFIG)


def _diagnose_job(
    command: str, settings: list[Setting], complete: bool, composed: Callable[[tuple[str, ...]], DictConfig]
) -> Diagnosis:
    """
    Args:
        composed: returns the configuration with these options of groups, which is not to be changed.
    """
    groups = default_options(command)
    chosen = {name: choice for name, choice in settings if name in groups}
    lines = [
        unknown_name(name, "null" if choice is None else choice, _options(name))
        for name, choice in chosen.items()
        if choice not in _options(name)
    ]
    valid = [f"{name}={choice}" for name, choice in chosen.items() if choice in _options(name)]
    try:
        config = deepcopy(composed(tuple(valid)))
    except HydraException as error:
        return Diagnosis([*lines, f"{' '.join(valid)}: {' '.join(str(error).split())}"], None)
    for name, value in settings:
        if name not in chosen:
            lines += _set(command, config, name, value)
    return Diagnosis(lines + _value_problems(config, complete), config)


def _set(command: str, config: DictConfig, name: str, value: Any) -> Iterator[str]:
    """Set a key; a line where it does not exist or takes no such value."""
    group, dot, _ = name.partition(".")
    if dot and group in schema.groups(ROOTS[command]) and config[group] is None:
        yield f"{name} is a key of {group}, and there is none: add {group}=NAME"
        return
    try:
        OmegaConf.update(config, name, value, force_add=False)
    except ConfigKeyError as error:
        yield _unknown_key(command, config, _full_name(name, error))
    except OmegaConfBaseException as error:
        full_name = _full_name(name, error)
        key = schema.find(ROOTS[command], full_name)
        if key is None:
            exists = OmegaConf.select(config, name, throw_on_missing=False) is not None
            yield f"{name} is a group of keys" if exists else _unknown_key(command, config, name)
        else:
            given = "null" if value is None else value
            yield f"{name}={given}: must be {key.words}"


def _full_name(name: str, error: OmegaConfBaseException) -> str:
    full_name = str(error.full_key or "").partition("[")[0]  # without the place in a list
    return full_name if full_name.startswith(name) else name


def _unknown_key(command: str, config: DictConfig, name: str) -> str:
    known = leaves(OmegaConf.to_container(config))
    last = name.rpartition(".")[2]
    if (short := SYNONYMS.get(last, last)) in known and ".schedules." not in name:
        return f"unknown key '{name}': did you mean {short}?"
    schedule = OmegaConf.select(config, "schedule") or OmegaConf.select(config, "task.default_schedule")
    same_end = [key for key in known if key.endswith(f".{name}")]
    same_end.sort(key=lambda key: not key.startswith(f"task.schedules.{schedule}."))  # of the schedule in use first
    near = same_end or difflib.get_close_matches(
        name, [*known, *schema.groups(ROOTS[command]), *default_options(command)], n=1, cutoff=0.6
    )
    hint = f"did you mean {near[0]}?" if near else f"mate {command} --help lists them"
    return f"unknown key '{name}': {hint}"


def _value_problems(config: DictConfig, complete: bool) -> list[str]:
    missing = [name for name, value in leaves(OmegaConf.to_container(config)).items() if value == MISSING]
    if missing:  # fill them in a copy, so that the other values can be looked at
        config = deepcopy(config)
    for name in missing:
        OmegaConf.update(config, name, "missing")
    lines = [f"{name} is missing: write {name}=..." for name in missing] if complete else []
    try:
        values = expand_home(OmegaConf.to_object(config))
        if complete and hasattr(values, "missing"):
            lines += values.missing()
        if complete:
            lines += missing_inputs(values, missing) + blocked_outputs(values, missing)
        return lines + problems(values)
    except OmegaConfBaseException as error:
        return [*lines, f"{error.full_key}: {str(error).splitlines()[0]}"]
