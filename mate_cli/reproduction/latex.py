"""A table in LaTeX, for the packages booktabs and graphicx."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import groupby

from tabulate import tabulate

_COLUMN = 60  # letters; a table of more is as wide as the page
_LATEX = str.maketrans(
    {
        "\\": r"\textbackslash{}",
        "^": r"\^{}",
        "~": r"\~{}",
        "²": r"\textsuperscript{2}",
        "|": r"\textbar{}",
        **{sign: rf"\ensuremath{{{sign}}}" for sign in "<>"},
        **{letter: rf"\{letter}" for letter in "&%$#_{}"},
    }
)


def latex_table(head: Sequence[str], rows: Sequence[Sequence[str]], caption: str, name: str) -> str:
    """Write a table environment: of one column of text where it fits, else of the whole page.

    Columns side by side whose names begin with the same word share a head.

    Args:
        head: names of the columns; text is aligned left in the first two, right in the others.
        name: of the label, after ``tab:``.
    """
    paths = _paths([tuple(column.split(" ")) for column in head])
    alignment = ["left", "left", *["right"] * (len(head) - 2)]
    body = tabulate(
        rows, [path[-1] for path in paths], tablefmt="latex_booktabs", disable_numparse=True, colalign=alignment
    )
    body = re.sub(r"^(\s*)\[", r"\1{[}", body, flags=re.MULTILINE)  # else an argument of the line break
    body = body.replace("\\toprule\n", "\n".join(["\\toprule", *_shared_heads(paths), ""]), 1)
    widths = [max(map(len, column)) + 2 for column in zip([path[-1] for path in paths], *rows, strict=True)]
    environment = "table*" if sum(widths) > _COLUMN else "table"
    lines = [
        rf"\begin{{{environment}}}",
        r"\centering",
        r"\resizebox{\ifdim\width>\linewidth\linewidth\else\width\fi}{!}{%",
        f"{_with_minus_signs(body)}}}",
        rf"\caption{{{in_latex(caption)}}}",
        rf"\label{{tab:{name}}}",
        rf"\end{{{environment}}}",
    ]
    return "\n".join(lines) + "\n"


def in_latex(text: str) -> str:
    """Escape what LaTeX would not print as it is; open and close straight quotes in pairs."""
    return _with_minus_signs(re.sub(r'"([^"]*)"', r"``\1''", text.translate(_LATEX)))


def _with_minus_signs(text: str) -> str:
    """A hyphen before a number or a blank that continues no word is a minus."""
    return re.sub(r"(?<=[\s(])-(?=[\d ])", "$-$", text)


def _paths(names: Sequence[tuple[str, ...]]) -> list[tuple[str, ...]]:
    """The heads above each column, from the top: names with the same first word are grouped by it."""
    paths: list[tuple[str, ...]] = []
    for first, group in groupby(names, key=lambda name: name[0]):
        together = list(group)
        if len(together) > 1 and all(len(name) > 1 for name in together):
            paths += [(first, *path) for path in _paths([name[1:] for name in together])]
        else:
            paths += [(" ".join(name),) for name in together]
    return paths


def _shared_heads(paths: Sequence[tuple[str, ...]]) -> Iterator[str]:
    """Yield a line for each level of shared heads, and one of rules below them."""
    for level in range(max(map(len, paths)) - 1):
        cells, rules, place = [], [], 1
        for shared, group in groupby(paths, key=lambda path: path[: level + 1] if len(path) > level + 1 else ()):
            width = len(list(group))
            if shared:
                cells.append(rf"\multicolumn{{{width}}}{{c}}{{{in_latex(shared[-1])}}}")
                rules.append(rf"\cmidrule(lr){{{place}-{place + width - 1}}}")
            else:
                cells += [""] * width
            place += width
        yield " & ".join(cells) + r" \\"
        yield " ".join(rules)
