"""Every mistake in a command's overrides at once, before anything runs.

Hydra stops at the first mistake. Here each override is read, named and typed by itself, and the values of
every job of a sweep are checked, so that one look at the screen is enough.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from hydra import compose, initialize_config_dir
from hydra._internal.config_loader_impl import ConfigLoaderImpl
from hydra.core.config_store import ConfigStore
from hydra.core.global_hydra import GlobalHydra
from hydra.core.object_type import ObjectType
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Override, QuotedString
from hydra.errors import HydraException
from omegaconf import MISSING, DictConfig, OmegaConf
from omegaconf.errors import ConfigKeyError, OmegaConfBaseException

from mate_cli.cli.harmless import HYDRA_GROUPS, code_problem
from mate_cli.cli.inputs import missing_inputs
from mate_cli.config import schema
from mate_cli.config.catalogue import default_options
from mate_cli.config.commands import ROOTS
from mate_cli.config.plain import leaves
from mate_cli.config.rules import problems, unknown_name
from mate_cli.config.shipped import conf_folder
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


def diagnose(command: str, overrides: Sequence[str], multirun: bool, complete: bool) -> list[str]:
    """Lines for all mistakes in overrides (text already quoted); empty where Hydra can run them.

    ``complete`` asks also for the keys that have no default (not wanted where the configuration is only
    shown).
    """
    with composing():
        parsed, found = _parse(command, overrides)
        found += _repeated_groups(parsed)
        if not multirun:
            several = [item for item in parsed if item.is_sweep_override()]
            found += [_several_values(command, item) for item in several]
            parsed = [item for item in parsed if item not in several or not _is_list(command, item)]
        for settings in _variants(parsed):
            found += _setting_problems(command, settings, complete)
    return list(dict.fromkeys(found))


def typed(config: DictConfig) -> Any:
    """The dataclass of a composed configuration, its short keys settled; assumes that ``diagnose`` found no mistake."""
    return settle_schedule(OmegaConf.to_object(config))


def _parse(command: str, overrides: Sequence[str]) -> tuple[list[Override], list[str]]:
    parser = OverridesParser.create(GlobalHydra.instance().config_loader())
    parsed, found = [], []
    for text in overrides:
        try:
            (override,) = parser.parse_overrides([text])  # unlike parse_override, this lets glob(*) find the options
        except HydraException:
            found.append(f"cannot read '{text}': {UNCLOSED if '=' in text else NO_VALUE}")
            continue
        if override.is_delete():
            found.append(f"cannot remove '{text}': keys have defaults, set another value")
        elif override.is_add() and not override.is_force_add():
            found.append(f"cannot add '{text}': only existing keys can be set, without the +")
        elif override.is_interval_sweep():
            found.append(f"cannot sweep over '{text}': list the values, like seed=0,1,2")
        elif problem := code_problem(command, override):
            found.append(problem)
        elif override.key_or_group in HYDRA_GROUPS:
            found += _group_problems(override.key_or_group, override.value())
        elif not override.key_or_group.startswith("hydra"):
            parsed.append(override)
    return parsed, found


def _group_problems(group: str, name: Any) -> list[str]:
    known = GlobalHydra.instance().config_loader().get_group_options(group)
    return [] if name in known else [unknown_name(group, name, known)]


def _is_list(command: str, item: Override) -> bool:
    key = schema.find(ROOTS[command], item.get_key_element())
    return key is not None and key.is_list


def _several_values(command: str, item: Override) -> str:
    if _is_list(command, item):
        name, _, value = str(item.input_line).partition("=")
        return f"{item.input_line}: write the list in brackets, {name}=[{value}]"
    return f"{item.input_line} lists several values: add -m to run them all"


def _repeated_groups(parsed: list[Override]) -> list[str]:
    names = [item.key_or_group for item in parsed if _options(item.key_or_group)]
    return [f"{name} is given twice" for name in dict.fromkeys(names) if names.count(name) > 1]


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
    plain = (item.text if isinstance(item, QuotedString) else item for item in override.sweep_iterator())
    return list(plain) or [None]


def _options(group: str) -> list[str]:
    if "." in group:
        return []
    loader = GlobalHydra.instance().config_loader()
    assert isinstance(loader, ConfigLoaderImpl)  # whose own question copies all that Hydra knows, each time
    return loader.repository.get_group_options(group, ObjectType.CONFIG)


def _setting_problems(command: str, settings: list[Setting], complete: bool) -> list[str]:
    groups = default_options(command)
    chosen = {name: choice for name, choice in settings if name in groups}
    found = [
        unknown_name(name, "null" if choice is None else choice, _options(name))
        for name, choice in chosen.items()
        if choice not in _options(name)
    ]
    valid = [f"{name}={choice}" for name, choice in chosen.items() if choice in _options(name)]
    try:
        config = compose(command, valid)
    except HydraException as error:
        return [*found, f"{' '.join(valid)}: {' '.join(str(error).split())}"]
    for name, value in settings:
        if name not in chosen:
            found += _set(command, config, name, value)
    return found + _value_problems(command, config, complete)


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
            yield (_unknown_key(command, config, name) if not _exists(config, name) else f"{name} is a group of keys")
        else:
            given = "null" if value is None else value
            yield f"{name}={given}: must be {key.words}"


def _full_name(name: str, error: OmegaConfBaseException) -> str:
    full_name = str(error.full_key or "").partition("[")[0]  # without the place in a list
    return full_name if full_name.startswith(name) else name


def _exists(config: DictConfig, name: str) -> bool:
    return OmegaConf.select(config, name, throw_on_missing=False) is not None


def _unknown_key(command: str, config: DictConfig, name: str) -> str:
    known = _leaves(config)
    last = name.rpartition(".")[2]
    if (short := SYNONYMS.get(last, last)) in known and ".schedules." not in name:
        return f"unknown key '{name}': did you mean {short}?"
    same_end = sorted((key for key in known if key.endswith(f".{name}")), key=lambda key: not _active(config, key))
    near = same_end or difflib.get_close_matches(
        name, [*known, *schema.groups(ROOTS[command]), *default_options(command)], n=1, cutoff=0.6
    )
    hint = f"did you mean {near[0]}?" if near else f"mate {command} --help lists them"
    return f"unknown key '{name}': {hint}"


def _active(config: DictConfig, key: str) -> bool:
    """Whether a key of a schedule is one of the schedule that the configuration asks for."""
    name = OmegaConf.select(config, "schedule") or OmegaConf.select(config, "task.default_schedule")
    return key.startswith(f"task.schedules.{name}.")


def _leaves(config: DictConfig) -> dict[str, Any]:
    """Full name and raw value (``???`` where missing) of every key, in order."""
    return leaves(OmegaConf.to_container(config))


def _value_problems(command: str, config: DictConfig, complete: bool) -> list[str]:
    missing = [name for name, value in _leaves(config).items() if value == MISSING]
    for name in missing:  # so that the other values can be looked at
        OmegaConf.update(config, name, "missing")
    found = [f"{name} is missing: write {name}=..." for name in missing] if complete else []
    try:
        values: Any = OmegaConf.to_object(config)
        if complete and hasattr(values, "missing"):
            found += values.missing()
        if complete:
            found += missing_inputs(values, missing)
        return found + problems(values)
    except OmegaConfBaseException as error:
        return [*found, f"{error.full_key}: {str(error).splitlines()[0]}"]
