"""What `mate --help` and `mate COMMAND --help` print. Stdlib at the top, so that help is quick."""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

COMMANDS = (
    "prepare",
    "train",
    "evaluate",
    "predict",
    "ask",
    "bench",
    "analyze",
    "reproduce",
    "runs",
    "report",
    "export",
    "ls",
    "doctor",
    "completion",
)

EXAMPLES = {
    "prepare": (
        ("mate prepare task=hybridqa data_dir=data/hybridqa", "check and encode the HybridQA release"),
        ("mate prepare task=sample", "generate and encode the sample task"),
        (
            "mate prepare task=hybridqa data_dir=data/hybridqa task.expansion=all schedule=small",
            "tables with all of their passages: how many fit the schedule's max_tokens",
        ),
        ("mate prepare task=mlm data_dir=tables to=shards", "shards of a folder of tables, to pre-train on"),
    ),
    "train": (
        ("mate train", "train on the sample task from MiniLM's weights: 2 to 10 minutes on two cores"),
        (
            "mate train task=hybridqa backbone=minilm schedule=laptop data_dir=data/hybridqa",
            "0.7 epochs on short inputs, on a CPU",
        ),
        ("mate train task=hybridqa hardware=tpu_v3 data_dir=data/hybridqa", "the paper's run"),
        ("mate train task=mlm backbone=minilm schedule=laptop data_dir=tables", "pre-train on a folder of tables"),
        (
            "mate train experiment=hybridqa_laptop data_dir=data/hybridqa lr=1e-4",
            "a whole training from one file (mate ls experiments), with another learning rate",
        ),
        ("mate train -m model=mate,tapas seed=0,1,2", "six runs, one after the other"),
        (
            "mate train -m ablation=none,without_row_heads,without_column_heads,without_ambiguous",
            "what each part of the model is worth; analysis=compare puts the runs side by side",
        ),
        (
            "mate train task=tabfact backbone=run backbone.path=runs/my-run",
            "start from another run's best model; ablation=with_statements names it so",
        ),
        ("mate train resume=true name=my-run", "go on from the last checkpoint"),
    ),
    "evaluate": (
        ("mate evaluate run=runs/my-run split=dev", "score a run, write its predictions"),
        ("mate evaluate selector=runs/my-selector reader=runs/my-reader", "both stages: exact match and F1"),
        (
            "mate evaluate selector=runs/my-selector reader=runs/my-reader top=5 split=train limit=1000",
            "fit the weight that joins the stages; the same command with split=dev uses it",
        ),
        ("mate evaluate selector=oracle reader=runs/my-reader", "the reader behind a perfect selector"),
        ("mate evaluate predictions=answers.json reference=dev_reference.json", "score a submission file"),
    ),
    "predict": (
        (
            'mate predict run=runs/my-run table=cities.csv question="Which city has the oldest mosque?"',
            "mark the likely cells of a CSV file; quotes and commas in the question are fine",
        ),
        ("mate predict run=runs/my-run table=cities.csv question=... output=json", "for other programs"),
        (
            "mate predict table=cities.csv questions=asked.txt to=answers.jsonl",
            "a file of questions, by the released model; the same command goes on after an interruption",
        ),
        ("mate predict tables=DIR question=...", "the table of a folder that the question is about, with its name"),
        (
            "mate predict selector=DIR reader=DIR table=cities.csv passages=texts.json question=...",
            "a span as the answer; a cell links to texts.json, {key: text}, by [[key]] or [[key|words shown]]",
        ),
    ),
    "ask": (
        ("mate ask cities.csv", "one question after the other, by the released model; :help lists what else it takes"),
        ('mate ask cities.csv "Which city is the largest?"', "one question, answered in one line"),
        ("mate ask cities.csv run=runs/my-run threshold=0.6", "by a run of yours, which says where it is unsure"),
    ),
    "bench": (
        ("mate bench suite=quick", "speed, FLOPs and memory of MATE, TAPAS and the limit, in minutes"),
        ("mate bench suite=acceptance threads=2 to=bench/acceptance", "the points at which MATE has goals to meet"),
        ("mate bench suite=quick models=[limit,mate,mate@dense] lengths=[512,8192]", "a selection, other backends"),
    ),
    "analyze": (
        ("mate analyze analysis=coverage", "what bucketed attention sees of generated tables of 512 to 16384 tokens"),
        ("mate analyze task=hybridqa data_dir=data/hybridqa analysis.radii=[42,128]", "of the tables of HybridQA"),
        ("mate analyze analysis=errors run=runs/my-run", "wrong answers: how near, whose fault; a page, a sheet"),
        ("mate analyze analysis=flow run=runs/my-run", "where the attention of tables goes; a heat map"),
        ("mate analyze analysis=retrieval task=wtq data_dir=DATA", "how often questions find their tables"),
        ("mate analyze analysis=compare runs=[runs/a,runs/b,runs/c]", "each run against the first, with intervals"),
        ("mate analyze analysis=claims claims=results/claims.yaml", "several comparisons, corrected for their number"),
    ),
    "reproduce": (
        (
            "mate reproduce what=table6 schedule=laptop backbone=minilm data.hybridqa=data/hybridqa data.tables=tables",
            "what is missing of table 6, then ours beside the paper's",
        ),
        ("mate reproduce what=table5 dry_run=true", "the plan: done, to do, failed, time and FLOPs; nothing runs"),
        ('mate reproduce what=table6 only="MATE (- row heads)" seeds=5', "one row, with five seeds"),
        ("mate reproduce what=all schedule=smoke backbone=tiny", "all of it by runs of two steps, on generated data"),
    ),
    "runs": (
        ("mate runs", "what has been trained: task, model, state, score"),
        ("mate runs where=task=hybridqa,model=mate*,state=done", "some of them; output=json gives all that is known"),
        ("mate runs compare=[runs/sample/a,runs/sample/b]", "what differs in their settings and in their scores"),
        ("mate runs remove=[runs/sample/a] confirm=true", "delete a run"),
    ),
    "report": (
        ("mate report", "report.html: every run of ./runs, and the tables that mate reproduce wrote"),
        (
            "mate report where=task=hybridqa tables=[reproduced,bench,analysis] to=hybridqa.html",
            "some runs, more tables",
        ),
    ),
    "export": (
        ("mate export run=runs/my-run to=my-model", "config, weights, tokeniser, model card: a folder to share"),
        ("mate export run=runs/s0 average=[runs/s1,runs/s2] to=my-model", "the mean of three trainings, as one model"),
        ("mate train task=tabfact backbone=run backbone.path=my-model", "start from it, as from any run"),
    ),
    "ls": (
        ("mate ls", "all of them"),
        (
            "mate ls models",
            "or ablations, tasks, backbones, hardware, schedules, experiments, loggers, launchers, analyses, suites",
        ),
    ),
    "doctor": (("mate doctor", "look for what is missing, and say which command mends it"),),
    "completion": (
        ("mate completion bash", "or zsh, fish: load it by source <(mate completion bash) in ~/.bashrc or ~/.zshrc"),
        ("mate completion fish > ~/.config/fish/completions/mate.fish", "where fish looks for it"),
    ),
}

ARGUMENTS = {
    "ask": " FILE [QUESTION] [KEY=VALUE ...]",
    "predict": " [FILE] [QUESTION] [KEY=VALUE ...]",
    "ls": " [WHAT]",
    "doctor": "",
    "completion": " SHELL",
}
"""What follows the commands that take other words than keys."""

FLAGS = """\
  --help        this text
  --cfg job     print the configuration instead of running
  --config-dir DIR  add options of your own, DIR/task/NAME.yaml and so on; also MATE_CONFIG_DIR=DIR
  -m            run every combination of comma-separated values; hydra/launcher=NAME says how (mate ls launchers)
  --debug       show the traceback of an error"""


def overview() -> str:
    """Text of ``mate --help``."""
    lines = ["usage: mate COMMAND [KEY=VALUE ...]", "", "Transformers that read large tables.", "", "commands:"]
    lines += [f"  {command:<11}{one_line(command)}" for command in COMMANDS]
    lines += ["", "examples:", *_examples([EXAMPLES[command][0] for command in COMMANDS])]
    lines += ["", "options of every command:", FLAGS, "", "mate COMMAND --help explains the keys of a command."]
    return "\n".join(lines)


def command_help(command: str, words: Sequence[str] = ()) -> str:
    """Text of ``mate COMMAND --help``: groups and keys with their meaning, examples.

    Args:
        words: as ``task=hybridqa``; the defaults shown are then those of the composed configuration.

    Raises:
        UserError: mistakes in the words, all at once.
    """
    from mate_cli.config.commands import ROOTS

    values = _composed(command, words) if words and command in ROOTS else None
    lines = [f"usage: mate {command}{ARGUMENTS.get(command, ' [KEY=VALUE ...]')}", "", one_line(command)]
    if command in ROOTS:
        given = f" with {' '.join(words)}" if words else ""
        lines += ["", f"groups (GROUP=NAME){given}:", *_groups(command, values)]
        lines += ["", f"keys (KEY=VALUE){given}:", *_keys(command, values)]
        lines += ["", "options:", FLAGS]
    return "\n".join([*lines, "", "examples:", *_examples(EXAMPLES[command])])


def one_line(command: str) -> str:
    """The help line of a command: the first line of its module's docstring, read without importing it."""
    source = (Path(__file__).parents[1] / "commands" / f"{command}.py").read_text(encoding="utf-8")
    return (ast.get_docstring(ast.parse(source)) or "").split("\n")[0]


def _examples(examples: list[tuple[str, str]] | tuple[tuple[str, str], ...]) -> Iterator[str]:
    for line, meaning in examples:
        yield f"  {line}"
        yield f"      {meaning}"


def _composed(command: str, words: Sequence[str]) -> dict[str, Any]:
    """The value of every key by its full name, as composed with these words."""
    from hydra import compose
    from omegaconf import OmegaConf

    from mate_cli.cli.diagnosis import composing, diagnose
    from mate_cli.cli.experiment import has_several_values
    from mate_cli.cli.overrides import read
    from mate_cli.config.commands import ROOTS, UNNAMED
    from mate_cli.config.plain import leaves
    from mate_cli.system.errors import UserError

    arguments, mistakes = read(ROOTS[command], list(words), UNNAMED.get(command, ()))
    overrides = arguments.overrides
    diagnosis = diagnose(command, overrides, arguments.multirun, complete=False)
    if mistakes := [*mistakes, *diagnosis.mistakes]:
        raise UserError("\n".join(mistakes))
    if not arguments.multirun:
        return leaves(OmegaConf.to_container(diagnosis.config))
    kept = [word for word in overrides if not has_several_values(word)]  # what is swept has no one default
    with composing():
        return leaves(OmegaConf.to_container(compose(command, kept)))


def _groups(command: str, values: Mapping[str, Any] | None) -> Iterator[str]:
    from mate_cli.config.catalogue import default_options, options

    for group, default in default_options(command).items():
        if values is not None:
            default = values.get(f"{group}.name", default)
        yield f"  {group:<12}{', '.join(option.name for option in options(group))} (default: {default})"


def _keys(command: str, values: Mapping[str, Any] | None) -> Iterator[str]:
    from mate_cli.config.commands import ROOTS
    from mate_cli.config.schema import keys

    for key in keys(ROOTS[command]):
        if key.name.endswith(".name"):  # set by the option itself
            continue
        if values is None:
            default = "" if key.required else f"; default: {as_typed(key.default)}"
        else:
            default = _default(key.name, values)
        yield f"  {key.name}"
        yield textwrap.indent(textwrap.fill(f"{key.meaning['doc']} ({key.words}{default})", 96), " " * 6)


def _default(name: str, values: Mapping[str, Any]) -> str:
    """The value of a key, or of the same key in each schedule."""
    start, of_schedules, end = name.partition("*")
    if not of_schedules:
        return f"; default: {as_typed(values[name])}" if values.get(name, "???") != "???" else ""
    shown = {key: as_typed(value) for key, value in values.items() if key.startswith(start) and key.endswith(end)}
    if len(set(shown.values())) == 1:
        return f"; default: {next(iter(shown.values()))}"
    listed = [f"{key.removeprefix(start).removesuffix(end)} {value}" for key, value in shown.items()]
    return f"; default: {', '.join(listed)}" if listed else ""


def as_typed(default: object) -> str:
    """A default as it is typed."""
    if default is None:
        return "null"
    if isinstance(default, bool):
        return str(default).lower()
    return f"[{','.join(map(str, default))}]" if isinstance(default, list | tuple) else str(default)
