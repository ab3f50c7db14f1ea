"""The words after ``mate COMMAND``: flags of Hydra's and overrides, free text quoted for Hydra's grammar.

``question=What's "x", and ${y}?`` must reach the command as it is, so the values of text keys are never
parsed: they are quoted here, and taken back from the configuration where a command line is rebuilt.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import islice

from hydra.core.override_parser.types import Quote, QuotedString
from omegaconf import OmegaConf

from mate_cli.config import schema
from mate_cli.config.plain import escape
from mate_cli.config.rules import unknown_name
from mate_cli.system.errors import UserError

SWITCHES = {"-m": "--multirun", "--multirun": "--multirun", "--resolve": "--resolve"}
VALUED = {"-c": "--cfg", "--cfg": "--cfg", "-p": "--package", "--package": "--package"}
FLAGS = ("--help", "--cfg", "--config-dir", "--package", "--resolve", "-m", "--debug")
CFG_CHOICES = ("job", "hydra", "all")


@dataclass
class Arguments:
    """``flags``: Hydra's, in its own spelling, values included; ``overrides``: as the user wrote them."""

    flags: list[str] = field(default_factory=list)
    overrides: list[str] = field(default_factory=list)

    @property
    def multirun(self) -> bool:
        """True if several jobs are asked for."""
        return "--multirun" in self.flags

    @property
    def only_shows(self) -> bool:
        """True if the configuration is printed instead of run."""
        return "--cfg" in self.flags


def split(words: list[str]) -> Arguments:
    """Separate flags from overrides, wherever they stand (Hydra 1.3 wants flags first).

    Raises:
        UserError: an unknown flag, or one without its value.
    """
    result = Arguments()
    rest = iter(words)
    for word in rest:
        name, _, value = word.partition("=")
        if not word.startswith("-"):
            result.overrides.append(word)
        elif word in SWITCHES:
            result.flags.append(SWITCHES[word])
        elif name in VALUED:
            result.flags += [VALUED[name], _flag_value(name, value or next(rest, None))]
        else:
            raise UserError(unknown_name("option", word, FLAGS))
    if "--resolve" in result.flags and not result.only_shows:
        raise UserError("--resolve says how --cfg shows the configuration: write --cfg job --resolve")
    return result


def read(root: type, words: list[str], unnamed: Sequence[Sequence[str]]) -> tuple[Arguments, list[str]]:
    """Read the words after a command: their overrides in Hydra's grammar, and a line for each mistake.

    Mistakes are blanks around "=", and more words without a key than ``unnamed`` takes, if it takes any.

    Args:
        root: configuration of the command; unnamed: as of ``named``.

    Raises:
        UserError: as ``split``.
    """
    arguments = split(words)
    whole, mistakes = joined(arguments.overrides)
    words = named(whole, unnamed)
    spare = [word for word in words if "=" not in word] if unnamed else []
    if spare:
        mistakes.append(f"cannot read '{' '.join(spare)}': only one table and one question, in quotes, need no KEY=")
    arguments.overrides = [quote(root, word) for word in words if word not in spare]
    return arguments, mistakes


def joined(words: list[str]) -> tuple[list[str], list[str]]:
    """Join words that have blanks around their "=", as ``seed = 1``; return all words, and a line for each of those."""
    whole: list[str] = []
    mistakes = []
    rest = list(words)
    while rest:
        parts = [rest.pop(0)]
        if rest and "=" not in parts[0] and rest[0].startswith("="):
            parts.append(rest.pop(0))
        _, equals, value = "".join(parts).partition("=")
        if rest and equals and not value and "=" not in rest[0]:
            parts.append(rest.pop(0))
        whole.append("".join(parts))
        if len(parts) > 1:
            mistakes.append(f"cannot read '{' '.join(parts)}': write {whole[-1]}, without blanks around =")
    return whole, mistakes


def named(words: list[str], unnamed: Sequence[Sequence[str]]) -> list[str]:
    """Give words without a key the first key of each of these in turn, but for those of which a word sets one.

    The file and the question in ``mate ask FILE QUESTION``.
    """
    given = {word.partition("=")[0] for word in words if "=" in word}
    left = iter([keys[0] for keys in unnamed if given.isdisjoint(keys)])
    return [word if "=" in word else "=".join([*islice(left, 1), word]) for word in words]


def _flag_value(flag: str, value: str | None) -> str:
    choices = CFG_CHOICES if VALUED[flag] == "--cfg" else ()
    if value is None:
        raise UserError(f"{flag} needs a value" + (f" (one of {', '.join(choices)})" if choices else ""))
    if choices and value not in choices:
        raise UserError(unknown_name(f"value of {flag}", value, choices))
    return value


def quote(root: type, override: str) -> str:
    """An override in Hydra's grammar: the value of a text key becomes a quoted string that means itself.

    ``null`` stays null where the key may be null.
    """
    name, equals, value = override.partition("=")
    key = schema.find(root, name.lstrip("+"))
    if not equals or key is None or not key.text or (key.optional and value == "null"):
        return override
    return f"{name}={QuotedString(escape(value), Quote.single).with_quotes()}"


def unquote(root: type, override: str, config: object) -> str:
    """The inverse of ``quote`` for an override that Hydra composed into ``config``."""
    name = override.partition("=")[0]
    key = schema.find(root, name.lstrip("+"))
    if key is None or not key.text:
        return override
    value = OmegaConf.select(config, key.name)  # type: ignore[arg-type]
    return f"{name}={'null' if value is None else value}"
